// SPDX-License-Identifier: Apache-2.0
// The loop over rows on every backend, against a plain loop. It checks the elements of a fold, the
// order of its additions and each row's mask. It also checks the places of results and statistics.
// Poison lies between the rows.
#include <gtest/gtest.h>
#include <lowp/simd/dispatch.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <tuple>
#include <vector>

#include "support.hpp"
#include "support/strided.hpp"
#include "support/support.hpp"

namespace {

using namespace lowp_test;
namespace fold = lowp::fold;
namespace simd = lowp::simd;

// out = the row's fold + x + weight of the column; the scores are x and a byte that counts as 1.
template <class Fold>
struct folded_rows {
  using folds = std::tuple<Fold>;
  template <class F>
  struct state {
    F total;
  };
  std::size_t hidden = 0;  // columns, in odd rows

  template <class F>
  LOWP_FN F value(fold::number<0>, state<F> const& /*s*/, F const& x, F const& flag) const {
    auto const zero = lowp::lanes::broadcast<lowp::lanes::word<F>>(0);
    auto const is_set = lowp::lanes::mask_not(lowp::lanes::equal(lowp::lanes::bits(flag), zero));
    return lowp::lanes::select(is_set, lowp::lanes::add(x, lowp::lanes::broadcast<F>(1)), x);
  }
  template <class F>
  LOWP_FN F term(fold::number<0>, F const& value) const {
    return value;
  }
  template <class F>
  LOWP_FN void take_total(fold::number<0>, state<F>& s, F const& total) const {
    s.total = total;
  }
  template <class F>
  LOWP_FN F result(state<F> const& s, F const& value, F const& weight) const {
    return lowp::lanes::fma(value, weight, s.total);
  }
  template <class F>
  LOWP_FN F statistic(fold::number<0>, state<F> const& s) const {
    return s.total;
  }
  template <class F>
  LOWP_FN F statistic(fold::number<1>, state<F> const& s) const {
    return lowp::lanes::negative(s.total);
  }
  LOWP_FN std::size_t visible(std::size_t row, std::size_t columns) const {
    return row % 2 == 1 ? columns - std::min(hidden, columns) : columns;
  }
};

// Defined like fold::sum and fold::maximum.
float total_of(fold::sum /*fold*/, std::vector<float> const& row) {
  std::array<float, 256> sums{};
  for (std::size_t e = 0; e < row.size(); ++e) sums[e % 256] += row[e];
  for (std::size_t half = 128; half != 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
  return sums[0];
}
float total_of(fold::maximum /*fold*/, std::vector<float> const& row) {
  float largest = -HUGE_VALF;
  for (float const x : row)
    if (!std::isnan(x)) largest = std::max(largest, x);
  return largest;
}

struct results {
  std::vector<float> out, totals, negative_totals;
};

struct matrix {
  std::size_t rows, columns, period, repeats;
  std::vector<float> x, weights;
  std::vector<unsigned char> flags;
  struct {
    std::size_t x = 0, flags = 0, out = 0;
  } between;  // elements, rows of x and so on

  matrix(std::size_t r, std::size_t c, std::size_t p, std::size_t n)
      : rows(r), columns(c), period(p), repeats(n), x(r * c), weights(c), flags(r / n * c) {
    std::mt19937 random(static_cast<unsigned>(c));
    std::normal_distribution<float> normal;
    for (float& each : x) each = normal(random) * (random() % 8 == 0 ? 1e4f : 1.0f);
    for (float& each : weights) each = normal(random);
    for (unsigned char& each : flags) each = static_cast<unsigned char>(random() % 3 * 0x80 / 2);
    if (c % 3 != 0) between = {c % 5, c % 7, c % 4};
  }
  template <class Fold>
  [[nodiscard]] results expected(folded_rows<Fold> const& operation) const {
    std::vector<float> out(x.size());
    std::vector<float> totals(rows);
    std::vector<float> negative_totals(rows);
    for (std::size_t r = 0; r < rows; ++r) {
      std::size_t const mask_row = r / (period * repeats) * period + r % period;
      std::vector<float> row(x.data() + r * columns, x.data() + (r + 1) * columns);
      for (std::size_t e = 0; e < columns; ++e)
        row[e] += flags[mask_row * columns + e] != 0 ? 1.0f : 0.0f;
      row.resize(operation.visible(r, columns));
      float const total = total_of(Fold{}, row);
      totals[r] = total;
      negative_totals[r] = -total;
      row.resize(columns);  // with zeros
      for (std::size_t e = 0; e < columns; ++e)
        out[r * columns + e] = std::fma(row[e], weights[e], total);
    }
    return {out, totals, negative_totals};
  }
  template <class Isa, class Fold>
  [[nodiscard]] results computed(folded_rows<Fold> const& operation, std::size_t first,
                                 std::size_t count) const {
    using in = simd::row_operand<simd::operand<float, simd::access::read>>;
    using to = simd::row_operand<simd::operand<float, simd::access::write>>;
    using bytes = simd::row_operand<simd::byte_operand, simd::row_repetition>;
    std::vector<float> const scores = spread(x, columns, between.x, float_of(0x7fc12345U));
    std::vector<unsigned char> const bits = spread(flags, columns, between.flags, std::uint8_t{1});
    std::vector<float> out = spread(std::vector<float>(x.size(), -1.0f), columns, between.out, -9);
    std::vector<float> totals(rows, -1.0f);
    std::vector<float> negative_totals(rows, -1.0f);
    Isa::enter(simd::row_call<folded_rows<Fold>, to, simd::tuple<in, bytes>, simd::tuple<in>,
                              simd::tuple<to, to>>{
        operation,
        first,
        count,
        columns,
        to{{out.data()}, columns + between.out},
        {{in{{scores.data()}, columns + between.x}},
         {bytes{{bits.data()}, columns + between.flags, {period, repeats}}}},
        {{in{{weights.data()}, 0}}},
        {{to{{totals.data()}, 1}}, {to{{negative_totals.data()}, 1}}}});
    return {gathered(out, columns, between.out, -9.0f), totals, negative_totals};
  }
};

template <class Isa, class Fold>
void check(matrix const& m, folded_rows<Fold> const& operation) {
  auto const want = m.expected(operation);
  for (auto const& [first, count] : {std::pair{std::size_t{0}, m.rows}, {m.rows / 3, m.rows / 2}}) {
    auto const got = m.computed<Isa>(operation, first, count);
    auto const expect_all = [&, from = first, rows = count](auto const& all, auto const& wanted,
                                                            std::size_t columns) {
      for (std::size_t i = 0; i < all.size(); ++i) {
        bool const inside = i / columns >= from && i / columns < from + rows;
        float const expected = inside ? wanted[i] : -1.0f;
        if (std::isnan(expected) && std::isnan(all[i])) continue;
        ASSERT_TRUE(has_bits(all[i], float_bits(expected), i / columns, i % columns, m.columns));
      }
    };
    expect_all(got.out, want.out, m.columns);
    expect_all(got.totals, want.totals, 1);
    expect_all(got.negative_totals, want.negative_totals, 1);
  }
}

template <class Isa>
class rows : public on_backend<Isa> {};
TYPED_TEST_SUITE(rows, backends, by_backend);

constexpr std::array<std::size_t, 8> long_rows{1000, 4096, 8176, 8191, 8192, 8193, 10007, 16384};

TYPED_TEST(rows, are_folded_in_the_documented_order) {
  for (std::size_t columns = 1; columns <= 600; columns += columns < 70 ? 1 : 19)
    check<TypeParam>(matrix(40, columns, 4, 2), folded_rows<fold::sum>{});
  for (std::size_t const columns : long_rows)
    check<TypeParam>(matrix(4, columns, 1, 4), folded_rows<fold::sum>{});
}

TYPED_TEST(rows, know_their_maximum) {
  for (std::size_t columns = 1; columns <= 300; columns += columns < 70 ? 1 : 19)
    check<TypeParam>(matrix(20, columns, 20, 1), folded_rows<fold::maximum>{});
  matrix negative(40, 40, 1, 1);
  for (float& x : negative.x) x = -std::fabs(x) - 2;
  check<TypeParam>(negative, folded_rows<fold::maximum>{});
  for (std::size_t i = 0; i < 40; ++i) {  // a NaN of either sign anywhere, or an infinity
    negative.x[i * 40 + i] = float_of(i % 3 == 0   ? 0xffc00000U
                                      : i % 3 == 1 ? 0x7f800001U
                                                   : 0x7f800000U);
  }
  check<TypeParam>(negative, folded_rows<fold::maximum>{});
  for (std::size_t i = 0; i < 40; ++i)  // or nothing but NaN
    std::fill_n(negative.x.begin() + 40 * static_cast<std::ptrdiff_t>(i), 40,
                float_of(i % 2 == 0 ? 0xffc00000U : 0x7f800001U));
  check<TypeParam>(negative, folded_rows<fold::maximum>{});
  for (float& x : negative.x) x = -HUGE_VALF;
  check<TypeParam>(negative, folded_rows<fold::maximum>{});
}

TYPED_TEST(rows, have_zeros_where_they_are_not_visible) {
  for (std::size_t const columns : {1U, 15U, 16U, 17U, 100U, 300U, 8192U, 9000U})
    for (std::size_t const hidden : {1U, 16U, 99U, 8200U, 10000U}) {
      check<TypeParam>(matrix(4, columns, 1, 1), folded_rows<fold::sum>{hidden});
      check<TypeParam>(matrix(4, columns, 1, 1), folded_rows<fold::maximum>{hidden});
    }
}

}  // namespace
