// SPDX-License-Identifier: Apache-2.0
// A masked softmax is, to the bit, the softmax of scores scaled, rounded to float and masked with
// -inf. softmax_test.cpp checks that softmax's bounds.
#include <lowp/nn.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "oracle/softfloat.hpp"
#include "support/guarded_pages.hpp"
#include "support/row_support.hpp"
#include "support/strided.hpp"

namespace {

using namespace lowp_test;

constexpr float scale = 0.088388346f;  // 1 / sqrt(128)

struct shape {
  std::size_t batch, heads, queries, keys;
  [[nodiscard]] std::size_t rows() const { return batch * heads * queries; }
  [[nodiscard]] std::size_t query_of(std::size_t row) const { return row % queries; }
  [[nodiscard]] std::size_t sequence_of(std::size_t row) const { return row / (heads * queries); }
};
constexpr std::array shapes{shape{1, 1, 1, 1},   shape{2, 3, 5, 7},   shape{3, 2, 4, 33},
                            shape{2, 2, 40, 40}, shape{1, 2, 6, 300}, shape{1, 1, 3, 9000}};

template <class T>
std::vector<T> scores_of(shape const& s) {
  std::mt19937 random(7);
  std::vector<T> scores;
  for (std::size_t r = 0; r < s.rows(); ++r)
    hard::append_row(scores, s.keys, r % hard::kinds, random);
  return scores;
}

// hidden(row, column)
template <class Out, class T, class Hidden>
std::vector<Out> masked_before(std::vector<T> const& scores, shape const& s, Hidden hidden) {
  std::vector<float> scaled;
  for (std::size_t i = 0; i < scores.size(); ++i)
    scaled.push_back(
        hidden(i / s.keys, i % s.keys)
            ? -HUGE_VALF
            : float_of(oracle::f32_mul(float_bits(float(scores[i])), float_bits(scale))));
  std::vector<Out> out(scores.size());
  lowp::softmax(scaled, out, s.keys);
  return out;
}

template <class T>
testing::AssertionResult same(std::vector<T> const& got, std::vector<T> const& want) {
  for (std::size_t i = 0; i < want.size(); ++i)
    if (code_of(got[i]) != code_of(want[i])) return has_bits(got[i], code_of(want[i]), i);
  return testing::AssertionSuccess();
}

template <class Pair>
class masked : public testing::Test {};
using pairs = first_or_all<
    2, testing::Types<in_and_out<float, float>, in_and_out<lowp::bfloat16, lowp::bfloat16>,
                      in_and_out<lowp::float16, lowp::float16>>>;
TYPED_TEST_SUITE(masked, pairs);

TYPED_TEST(masked, by_flags_for_each_query_of_a_sequence) {
  using In = typename TypeParam::in;
  using Out = typename TypeParam::out;
  std::mt19937 random(8);
  for (shape const& s : shapes) {
    auto const scores = scores_of<In>(s);
    std::vector<std::uint8_t> mask(s.batch * s.queries * s.keys);
    for (auto& each : mask)
      each = random() % 3 == 0 ? static_cast<std::uint8_t>(1U << random() % 8) : 0;
    std::vector<Out> out(scores.size());
    lowp::scale_mask_softmax(scores, lowp::attention_mask{mask, s.queries, s.heads}, out, s.keys,
                             scale);
    EXPECT_TRUE(same(out, masked_before<Out>(scores, s, [&](std::size_t r, std::size_t c) {
                       return mask[(s.sequence_of(r) * s.queries + s.query_of(r)) * s.keys + c] !=
                              0;
                     })));
    // With something between rows of each range.
    std::vector<In> const spaced_scores = spread(scores, s.keys, 1, In(9.0f));
    std::vector<std::uint8_t> const spaced_mask = spread(mask, s.keys, 3, 1);
    std::vector<Out> spaced = spread(std::vector<Out>(out.size()), s.keys, 2, Out(-7.0f));
    lowp::scale_mask_softmax(lowp::strided_rows{spaced_scores, s.keys + 1},
                             lowp::attention_mask{spaced_mask, s.queries, s.heads, s.keys + 3},
                             lowp::strided_rows{spaced, s.keys + 2}, s.keys, scale);
    EXPECT_TRUE(same(gathered(spaced, s.keys, 2, Out(-7.0f)), out));
  }
}

TYPED_TEST(masked, by_padded_keys) {
  using In = typename TypeParam::in;
  using Out = typename TypeParam::out;
  for (shape const& s : shapes) {
    auto const scores = scores_of<In>(s);
    std::vector<std::uint8_t> mask(s.batch * s.keys);
    for (std::size_t i = 0; i < mask.size(); ++i) mask[i] = i % s.keys > s.keys / 2 ? 255 : 0;
    std::vector<Out> out(scores.size());
    lowp::scale_mask_softmax(scores, lowp::attention_mask{mask, 1, s.heads * s.queries}, out,
                             s.keys, scale);
    EXPECT_TRUE(same(out, masked_before<Out>(scores, s, [&](std::size_t /*r*/, std::size_t c) {
                       return c > s.keys / 2;
                     })));
  }
}

TYPED_TEST(masked, by_what_comes_later) {
  using In = typename TypeParam::in;
  using Out = typename TypeParam::out;
  for (shape const& s : shapes) {
    for (std::size_t const queries :
         {s.queries, s.heads * s.queries}) {  // more queries than keys too
      auto const scores = scores_of<In>(s);
      std::vector<Out> out(scores.size());
      lowp::scale_mask_softmax(scores, lowp::causal_mask{queries}, out, s.keys, scale);
      EXPECT_TRUE(same(out, masked_before<Out>(scores, s, [&](std::size_t r, std::size_t c) {
                         return c + queries > r % queries + s.keys;
                       })));
    }
  }
}

TYPED_TEST(masked, by_numbers_that_are_added) {
  using In = typename TypeParam::in;
  using Out = typename TypeParam::out;
  std::mt19937 random(9);
  for (shape const& s : shapes) {
    auto const scores = scores_of<In>(s);
    std::vector<In> mask(s.queries * s.keys);  // one for all heads and sequences: a plain range
    for (In& each : mask) each = random() % 3 == 0 ? In(-HUGE_VALF) : In(float(random() % 64) / -8);
    std::vector<float> sums;
    for (std::size_t i = 0; i < scores.size(); ++i)
      sums.push_back(float_of(
          oracle::f32_fma(float_bits(float(scores[i])), float_bits(scale),
                          float_bits(float(mask[s.query_of(i / s.keys) * s.keys + i % s.keys])))));
    std::vector<Out> want(scores.size());
    lowp::softmax(sums, want, s.keys);
    std::vector<Out> out(scores.size());
    lowp::scale_mask_softmax(scores, mask, out, s.keys, scale);
    EXPECT_TRUE(same(out, want));
  }
}

TEST(masked_rows, that_are_all_masked_are_zeros_whatever_their_scores) {
  for (std::size_t const columns : {1U, 5U, 64U, 500U, 9000U}) {
    std::vector<lowp::float16> scores(2 * columns, lowp::float16(1));
    for (std::size_t i = 0; i < columns; i += 3)
      scores[i] = lowp::float16::from_bits(0xfe00);  // NaN
    std::vector<std::uint8_t> const mask = [&] {
      std::vector<std::uint8_t> m(2 * columns, 1);
      m[columns] = 0;
      return m;
    }();
    std::vector<lowp::float16> out(2 * columns, lowp::float16(7));
    lowp::scale_mask_softmax(scores, mask, out, columns, 8.0f);
    for (std::size_t i = 0; i < 2 * columns; ++i)
      ASSERT_EQ(float(out[i]), i == columns ? 1.0f : 0.0f) << i << " of " << columns;
  }
}

// A mask may end where its page does.
TEST(masked_rows, read_nothing_beside_the_mask) {
  guarded_pages<lowp::float8_e5m2> pages;
  for (bool const at_end : {true, false})
    for (std::size_t columns = 1; columns <= 300; ++columns) {
      tensor const codes{oracle::float8_e5m2, std::vector<std::uint32_t>(columns, 0)};
      auto const flags = pages.put(codes, {.size = columns, .at_end = at_end});
      std::span const mask(reinterpret_cast<unsigned char const*>(flags.data()), columns);
      std::vector<float> const scores(columns, 1.0f);
      std::vector<float> out(columns);
      lowp::scale_mask_softmax(scores, mask, out, columns, 1.0f);
      ASSERT_EQ(out.back(), 1.0f / static_cast<float>(columns));
    }
}

TEST(masked_rows, take_nothing) {
  std::vector<float> none;
  std::vector<std::uint8_t> const mask;
  lowp::scale_mask_softmax(none, mask, none, 3, 1.0f);
  lowp::scale_mask_softmax(none, lowp::causal_mask{4}, none, 3, 1.0f);
}

TEST(masked_rows, take_bool) {
  std::array<bool, 3> const mask{false, true, false};
  std::array<float, 3> const scores{1, 1e30f, 1};
  std::array<float, 3> out{};
  lowp::scale_mask_softmax(scores, mask, out, 3, 1.0f);
  EXPECT_EQ(out, (std::array<float, 3>{0.5f, 0, 0.5f}));
}

TEST(masked_rows, of_wrong_sizes_are_refused) {
  std::vector<float> x(24, 1.0f);
  std::vector<float> out(24, 5.0f);
  std::vector<std::uint8_t> mask(20);
  expect_refusal([&] { lowp::scale_mask_softmax(x, mask, out, 5, 1.0f); },
                 "lowp::scale_mask_softmax: in has 24 elements, which are not rows of 5");
  expect_refusal([&] { lowp::scale_mask_softmax(x, lowp::causal_mask{2}, out, 0, 1.0f); },
                 "lowp::scale_mask_softmax: columns is 0");
  expect_refusal([&] { lowp::scale_mask_softmax(x, lowp::causal_mask{2}, out, 4, NAN); },
                 "lowp::scale_mask_softmax: scale is nan, not finite and other than 0");
  expect_refusal(
      [&] {
        lowp::scale_mask_softmax(x, std::span(mask).first(8), std::span(out).first(20), 4, 1.0f);
      },
      "lowp::scale_mask_softmax: sizes differ: in has 24, out has 20");
  auto const call = [&](auto const& m, std::size_t columns, float by = 1.0f) {
    return [&, columns, by] { lowp::scale_mask_softmax(x, m, out, columns, by); };
  };
  expect_refusal(
      call(mask, 4),
      "lowp::scale_mask_softmax: mask has 5 rows, in has 6, which is not a multiple: a "
      "mask has a row for each query, or is an attention_mask{elements, queries, heads}");
  expect_refusal(call(mask, 3),
                 "lowp::scale_mask_softmax: mask has 20 elements, which are not rows of 3");
  expect_refusal(call(lowp::attention_mask<std::uint8_t>{std::span(mask).first(8), 2, 2}, 4),
                 "lowp::scale_mask_softmax: mask has 2 rows, in has 6: not (batch, 2 heads, 2 "
                 "queries) over (batch, 2 queries)");
  expect_refusal(call(lowp::causal_mask{4}, 4),
                 "lowp::scale_mask_softmax: in has 6 rows, which are not sequences of 4 queries");
  expect_refusal(call(lowp::causal_mask{0}, 4),
                 "lowp::scale_mask_softmax: in has 6 rows, which are not sequences of 0 queries");
  mask.resize(24);
  expect_refusal(call(mask, 4, HUGE_VALF),
                 "lowp::scale_mask_softmax: scale is inf, not finite and other than 0");
  expect_refusal(call(mask, 4, 0),
                 "lowp::scale_mask_softmax: scale is 0, not finite and other than 0");
  expect_refusal([&] { lowp::scale_mask_softmax(x, mask, out, 4, 1e-60); },
                 "lowp::scale_mask_softmax: scale is 0, not finite and other than 0");
  expect_refusal(call(mask, 0), "lowp::scale_mask_softmax: columns is 0");
  expect_refusal(
      [&] { lowp::scale_mask_softmax(x, out, out, 4, 1.0f); },
      "lowp::scale_mask_softmax: mask (96 bytes) and out (96 bytes) overlap: mask starts 0 "
      "bytes into out");
  expect_refusal(call(lowp::attention_mask<std::uint8_t>{mask, 0, 0, 3}, 4),
                 "lowp::scale_mask_softmax: mask has 24 elements, which are not rows of 4 that "
                 "begin 3 apart");
  for (float const each : out) EXPECT_EQ(each, 5.0f);
}

}  // namespace
