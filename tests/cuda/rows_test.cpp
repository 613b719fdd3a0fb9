// SPDX-License-Identifier: Apache-2.0
// The GPU's kernel over rows without a GPU, for every operation, mask, alignment and stride. It has
// the bits of the processor's loop, which softmax_test.cpp and simd/rows_test.cpp prove.
#include <gtest/gtest.h>
#include <lowp/lowp.hpp>
#include <lowp/nn.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "simulated_grid.hpp"
#include "support/row_support.hpp"
#include "support/strided.hpp"

namespace {

using namespace lowp_test;

constexpr std::array<std::size_t, 12> lengths{1, 7, 8, 9, 31, 64, 200, 255, 256, 264, 520, 1001};

template <class Pair>
class cuda_rows : public testing::Test {};
using pairs = first_or_all<
    1,
    testing::Types<in_and_out<lowp::bfloat16, lowp::bfloat16>, in_and_out<float, float>,
                   in_and_out<lowp::float16, lowp::float16>, in_and_out<lowp::float8_e5m2, float>>>;
TYPED_TEST_SUITE(cuda_rows, pairs);

// call(where, in, out, columns) on the processor and on a grid, from every alignment to elements.
// Aligned rows may have unaligned ends; this lies between them.
template <class Grid, class Pair, class Call>
void expect_same(std::size_t rows, std::size_t columns, Call const& call, unsigned threads = 32,
                 std::size_t shared_bytes = std::size_t{80} << 10) {
  using In = typename Pair::in;
  using Out = typename Pair::out;
  std::mt19937 random(static_cast<unsigned>(columns));
  std::vector<In> packed;
  for (std::size_t r = 0; r < rows; ++r) hard::append_row(packed, columns, r % hard::kinds, random);
  std::vector<Out> want(packed.size());
  ASSERT_EQ(call(lowp::simd::this_thread{}, std::span<In const>(packed), std::span(want)), "");
  std::size_t const to_16 = (16 - columns % 16) % 16;
  for (auto const& [lead, between] :
       {std::pair{std::size_t{0}, to_16}, {std::size_t{1}, std::size_t{0}}, {2, 2 * to_16 + 3}}) {
    std::vector<In> in = spread(packed, columns, between, In(7.0f));
    in.insert(in.begin(), lead, In(7.0f));
    std::vector<Out> all = spread(std::vector<Out>(packed.size()), columns, between, Out(-5.0f));
    std::vector<Out> got(lead, Out(-5.0f));
    got.insert(got.end(), all.begin(), all.end());
    got.resize(got.size() + 3, Out(-5.0f));
    Grid grid(threads, 3);
    grid.most_shared_bytes = shared_bytes;
    ASSERT_EQ(call(lowp::cuda::on_grid<Grid>{grid},
                   lowp::strided_rows{std::span<In const>(in).subspan(lead), columns + between},
                   lowp::strided_rows{std::span(got).subspan(lead, all.size()), columns + between}),
              "");
    all.assign(got.begin() + static_cast<std::ptrdiff_t>(lead), got.end() - 3);
    all = gathered(all, columns, between, Out(-5.0f));
    for (std::size_t i = 0; i < want.size(); ++i)
      ASSERT_TRUE(has_bits(all[i], code_of(want[i]), i / columns, i % columns, columns));
    for (std::size_t i = 0; i < lead; ++i) EXPECT_EQ(float(got[i]), -5.0f);
    for (std::size_t i = got.size() - 3; i < got.size(); ++i) EXPECT_EQ(float(got[i]), -5.0f);
    EXPECT_EQ(grid.launches, 1);
  }
}

TYPED_TEST(cuda_rows, softmax) {
  for (std::size_t const columns : lengths)
    expect_same<simulated_grid, TypeParam>(
        8, columns, [=](auto const& executor, auto const& in, auto const& out) {
          return refusal_of<lowp::detail::softmax_operation>(executor, in, out, columns);
        });
}

TYPED_TEST(cuda_rows, log_softmax) {
  for (std::size_t const columns : {5U, 256U, 300U})
    expect_same<simulated_grid_without_conversions, TypeParam>(
        8, columns, [=](auto const& executor, auto const& in, auto const& out) {
          return refusal_of<lowp::detail::log_softmax_operation>(executor, in, out, columns);
        });
}

struct columns_and_memory {
  std::size_t columns, shared_bytes;
};

TYPED_TEST(cuda_rows, derivatives) {
  for (std::size_t const columns : {7U, 256U, 300U, 1001U}) {
    expect_same<simulated_grid, TypeParam>(
        8, columns, [=](auto const& executor, auto const& y, auto const& out) {
          return refusal_of<lowp::detail::scale_mask_softmax_backward_operation>(
              executor, y, y, out, columns, 0.3f);
        });
    expect_same<simulated_grid_without_conversions, TypeParam>(
        8, columns, [=](auto const& executor, auto const& y, auto const& out) {
          return refusal_of<lowp::detail::log_softmax_backward_operation>(executor, y, y, out,
                                                                          columns);
        });
  }
  // Short rows; then those of 256 threads, which are kept as floats or in their own type, or not.
  for (auto const& [columns, shared_bytes] :
       std::initializer_list<columns_and_memory>{{7, 0},
                                                 {256, 0},
                                                 {300, 0},
                                                 {1001, 0},
                                                 {2101, 80 << 10},
                                                 {2500, 20 << 10},
                                                 {2500, 10 << 10},
                                                 {2500, 1}}) {
    std::vector<std::int64_t> labels(8, 3);
    labels[4] = static_cast<std::int64_t>(columns) - 1;
    labels[2] = -100;
    std::vector<float> const scales{1, -3, 1, 0, 2e4f, 0.1f, 1, NAN};
    std::vector<float> want;
    expect_same<simulated_grid, TypeParam>(
        8, columns,
        [&](auto const& executor, auto const& logits, auto const& out) {
          std::vector<float> losses(8);
          auto const wrong = refusal_of<lowp::detail::cross_entropy_operation>(
              executor, logits, labels, columns,
              lowp::cross_entropy_options{.label_smoothing = 0.1f,
                                          .reduction = lowp::loss_reduction::summed,
                                          .scale_at = scales.data()},
              losses, out);
          if (want.empty()) want = losses;
          for (std::size_t r = 0; r < 8; ++r)
            EXPECT_TRUE(has_bits(losses[r], code_of(want[r]), r, columns));
          return wrong;
        },
        columns > 1001 ? 256 : 32, shared_bytes);
  }
}

TYPED_TEST(cuda_rows, masked) {
  std::mt19937 random(4);
  for (std::size_t const columns : {3U, 8U, 40U, 301U, 512U}) {
    std::vector<std::uint8_t> flags(4 * columns);  // 2 sequences of 2 queries, 2 heads
    for (auto& each : flags) each = static_cast<std::uint8_t>(random() % 3 * 0x7f);
    std::vector<std::uint8_t> const spaced = spread(flags, columns, 5, 1);
    std::vector<lowp::bfloat16> bias(2 * columns);
    for (auto& each : bias) each = lowp::bfloat16(static_cast<float>(random() % 9) / -4);
    expect_same<simulated_grid, TypeParam>(
        8, columns, [&](auto const& executor, auto const& in, auto const& out) {
          bool const here = std::same_as<decltype(executor), lowp::simd::this_thread const&>;
          return refusal_of<lowp::detail::scale_mask_softmax_operation>(
              executor, in,
              here ? lowp::attention_mask<std::uint8_t>{flags, 2, 2}
                   : lowp::attention_mask<std::uint8_t>{spaced, 2, 2, columns + 5},
              out, columns, 0.3f);
        });
    expect_same<simulated_grid, TypeParam>(
        8, columns, [&](auto const& executor, auto const& in, auto const& out) {
          return refusal_of<lowp::detail::scale_mask_softmax_operation>(executor, in, bias, out,
                                                                        columns, 0.3f);
        });
    expect_same<simulated_grid, TypeParam>(
        8, columns, [&](auto const& executor, auto const& in, auto const& out) {
          return refusal_of<lowp::detail::scale_mask_softmax_operation>(
              executor, in, lowp::causal_mask{4}, out, columns, 0.3f);
        });
  }
}

TEST(cuda_pb_relax, in_float16) {
  expect_same<simulated_grid, in_and_out<lowp::float16, lowp::float16>>(
      8, 100, [](auto const& executor, auto const& in, auto const& out) {
        return refusal_of<lowp::detail::softmax_pb_relax_operation>(executor, in, out, 100, 32.0f);
      });
}

TEST(cuda_rows_special, nan_infinity_and_nothing_at_all) {
  std::vector<float> in(4 * 300, 1.0f);
  in[5] = float_of(0xffc00000U);
  in[600] = HUGE_VALF;
  for (std::size_t i = 900; i < 1200; ++i) in[i] = -HUGE_VALF;
  std::vector<float> want(in.size());
  std::vector<float> got(in.size());
  lowp::softmax(in, want, 300);
  simulated_grid grid(32);
  ASSERT_EQ(refusal_of<lowp::detail::softmax_operation>(lowp::cuda::on_grid<simulated_grid>{grid},
                                                        in, got, 300),
            "");
  for (std::size_t i = 0; i < want.size(); ++i) ASSERT_TRUE(has_bits(got[i], code_of(want[i]), i));
  EXPECT_TRUE(std::isnan(want[0]));
  EXPECT_TRUE(std::isnan(want[700]));
  EXPECT_EQ(want[1000], 0.0f);
}

TEST(cuda_rows_special, memory_out_of_reach_is_refused) {
  std::vector<float> x(8);
  simulated_grid grid(32);
  grid.out_of_reach = x.data();
  EXPECT_EQ(refusal_of<lowp::detail::softmax_operation>(lowp::cuda::on_grid<simulated_grid>{grid},
                                                        x, x, 4),
            "softmax: in is far away");
  std::vector<std::uint8_t> const mask(4);
  grid.out_of_reach = mask.data();
  EXPECT_EQ(refusal_of<lowp::detail::scale_mask_softmax_operation>(
                lowp::cuda::on_grid<simulated_grid>{grid}, x,
                lowp::attention_mask<std::uint8_t>{mask, 1, 2}, x, 4, 1.0f),
            "scale_mask_softmax: mask is far away");
  EXPECT_EQ(grid.launches, 0);
}

// The host cannot read the labels of a GPU.
TEST(cuda_rows_special, labels_are_not_read_on_the_host) {
  std::vector<float> x(3 * 300, 1.0f);
  std::vector<std::int64_t> const labels{300, -1, 7};
  std::vector<float> losses(3);
  simulated_grid grid(32);
  lowp::cuda::on_grid<simulated_grid> const executor{grid};
  ASSERT_EQ(refusal_of<lowp::detail::cross_entropy_operation>(
                executor, x, labels, 300, lowp::cross_entropy_options{}, losses, x),
            "");
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(std::isnan(x[i]), i < 600) << i;
  EXPECT_TRUE(std::isnan(losses[0]) && std::isnan(losses[1]) && std::isfinite(losses[2]));
  EXPECT_NEAR(x[600], 1 / 300.0 / 3, 1e-6);  // the three labels count
}

// Tiles of 512 labels, two blocks for some. Counts of all rows, and what a report had counted.
TEST(cuda_rows_special, labels_are_counted_in_the_memory_of_the_losses) {
  for (std::size_t const rows : {1U, 31U, 32U, 511U, 512U, 513U, 1024U, 1025U, 5000U}) {
    std::vector<std::int32_t> labels(rows);
    for (std::size_t r = 0; r < rows; ++r) labels[r] = r * r % 7 == 2 ? -5 : 1;
    auto const ignored = static_cast<std::size_t>(std::ranges::count(labels, -5));
    std::vector<float> counts(rows + 1, NAN);
    std::uint64_t seen = rows + 9;
    simulated_grid grid(32, 2);
    lowp::cuda::on_grid<simulated_grid>{grid}(
        lowp::simd::label_call<std::int32_t>{labels.data(), rows, -5, counts.data(), &seen});
    for (std::size_t r = 0; r < rows; ++r)
      ASSERT_EQ(counts[r], static_cast<float>(rows - ignored)) << r << " of " << rows;
    EXPECT_TRUE(std::isnan(counts[rows]));
    EXPECT_EQ(seen, rows - ignored + 9) << rows;
    EXPECT_EQ(grid.launches, rows > 512 ? 3 : 1);
    grid.out_of_reach = &seen;
    lowp::cuda::on_grid<simulated_grid>{grid}(
        lowp::simd::label_call<std::int32_t>{labels.data(), rows, -5, counts.data(), &seen});
    EXPECT_EQ(grid.refused, "the report is far away");
    EXPECT_EQ(grid.launches, rows > 512 ? 3 : 1);
  }
}

TEST(cuda_rows_special, no_rows_launch_nothing) {
  std::vector<float> none;
  simulated_grid grid(32);
  EXPECT_EQ(refusal_of<lowp::detail::softmax_operation>(lowp::cuda::on_grid<simulated_grid>{grid},
                                                        none, none, 4),
            "");
  EXPECT_EQ(grid.launches, 0);
}

}  // namespace
