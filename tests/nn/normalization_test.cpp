// SPDX-License-Identifier: Apache-2.0
// rms_norm and layer_norm against long double, within the stated bounds, over rows that overflow,
// vanish or cancel in careless code. On every backend they also have the bits of the same steps in
// plain floats. So have the statistics of rows.
#include <gtest/gtest.h>
#include <lowp/nn.hpp>
#include <lowp/value.hpp>

#include <algorithm>
#include <array>
#include <cfenv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/nearly_equal_rows.hpp"
#include "support/refusals.hpp"
#include "support/strided.hpp"
#include "train/update/support.hpp"

namespace {

using namespace lowp_test;

constexpr std::array<std::size_t, 14> column_counts{1,   2,   3,   7,    16,   17,   100,
                                                    255, 256, 257, 1000, 4096, 8192, 10007};

// Rows that are hard, by name.
struct hard_row {
  char const* name;
  std::vector<float> x;
};

std::vector<hard_row> hard_rows(std::size_t columns) {
  std::mt19937_64 random(columns);
  std::normal_distribution<float> normal;
  auto const made = [&](char const* name, auto const& element) {
    hard_row row{name, std::vector<float>(columns)};
    for (std::size_t i = 0; i < columns; ++i) row.x[i] = element(i);
    return row;
  };
  return {made("normal", [&](std::size_t) { return normal(random); }),
          made("squares overflow float16", [&](std::size_t) { return 1e4f * normal(random); }),
          made("all 1e4", [](std::size_t) { return 1e4f; }),
          made("all 0.1", [](std::size_t) { return 0.1f; }),
          made("1e4 and its neighbours in float16",
               [&](std::size_t) { return 1e4f + 8.0f * static_cast<float>(random() % 3); }),
          made("1e6 and a little", [&](std::size_t) { return 1e6f + 0.0625f * normal(random); }),
          made("1000 and much less", [&](std::size_t) { return 1e3f + 0.01f * normal(random); }),
          made("squares overflow float", [&](std::size_t) { return 1e30f * normal(random); }),
          made("the largest floats",
               [&](std::size_t) {
                 return random() % 2 == 0 ? std::numeric_limits<float>::max()
                                          : -std::numeric_limits<float>::max();
               }),
          made("squares vanish in float", [&](std::size_t) { return 1e-25f * normal(random); }),
          made("subnormal", [&](std::size_t) { return 1e-40f * normal(random); }),
          made("zeros", [](std::size_t) { return 0.0f; }),
          made("one huge", [&](std::size_t i) { return i == columns / 2 ? 3e4f : normal(random); }),
          made("binades apart", [&](std::size_t i) { return i % 2 == 0 ? 3e38f : 1e-10f; }),
          made("spread", [&](std::size_t) { return std::exp(12 * normal(random)); })};
}

// In the steps and the order that the headers state, one float operation after another.
float sum_of(std::vector<float> const& x) {
  std::array<float, 256> sums{};
  for (std::size_t i = 0; i < x.size(); ++i) sums[i % 256] += x[i];
  for (std::size_t half = 128; half != 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
  return sums[0];
}
template <class Fn>
std::vector<float> mapped(std::vector<float> x, Fn const& fn) {
  for (float& each : x) each = fn(each);
  return x;
}
float sum_of_squares(std::vector<float> const& x) {
  return sum_of(mapped(x, [](float each) { return each * each; }));
}
float variance_of(float squares, std::size_t columns, float scale, float eps) {
  float const scaled_eps = eps * scale * scale;
  float const mean = squares / static_cast<float>(columns);
  return mean + scaled_eps;
}
// The scale of a row, which its sums choose. It is 1 at first. In a second turn it is 2^96 if
// squares may have vanished, and 2^-96 if they overflowed. Then it makes the variance about 1. If
// there are no squares, it is 1 again.
class row_scale {
 public:
  float value = 1;

  // Returns true if the row takes another turn.
  bool overflows(float sum) { return !std::isfinite(sum) && turn_ == 0 && next(-96, 1); }
  bool changes(float variance, float squares, float eps, bool may_vanish = true) {
    if (!std::isfinite(variance)) return overflows(variance);
    if (turn_ == 1) {
      if (squares == 0) return next(0, 2);
      int const exponent = variance < 0x1p-126f ? -127 : std::ilogb(variance);
      int const half = static_cast<int>(std::floor(static_cast<double>(exponent) / 2));
      return next(std::clamp(std::ilogb(value) - half, -126, 126), 2);
    }
    return turn_ == 0 && may_vanish && squares < 0x1p-80f && eps < 0x1p-100f && next(96, 2);
  }

 private:
  bool next(int exponent, int turn) {
    value = std::ldexp(1.0f, exponent);
    turn_ = turn;
    return true;
  }
  int turn_ = 0;
};
struct row_in_floats {
  std::vector<float> y;
  float mean, reciprocal;
};
row_in_floats rms_in_floats(std::vector<float> const& x, std::vector<float> const& weight,
                            float eps) {
  std::vector<float> y;
  float variance = 0;
  float squares = 0;
  row_scale scale;
  do {
    y = mapped(x, [&](float each) { return each * scale.value; });
    squares = sum_of_squares(y);
    variance = variance_of(squares, y.size(), scale.value, eps);
  } while (scale.changes(variance, squares, eps));
  float const factor = 1 / std::sqrt(variance);
  for (std::size_t i = 0; i < y.size(); ++i) {
    float const normalized = y[i] * factor;
    y[i] = normalized * weight[i];
  }
  return {y, 0, factor * scale.value};
}
row_in_floats layer_in_floats(std::vector<float> const& x, std::vector<float> const& weight,
                              std::vector<float> const& bias, float eps) {
  auto const count = static_cast<float>(x.size());
  row_scale scale;
  auto const scaled = [&] { return mapped(x, [&](float each) { return each * scale.value; }); };
  float sum = 0;
  do sum = sum_of(scaled());
  while (scale.overflows(sum));
  float mean = sum / count;
  std::vector<float> y;
  float rest = 0;
  float variance = 0;
  float squares = 0;
  int corrections = 0;
  for (float before = scale.value;; mean *= scale.value / before, before = scale.value) {
    y = mapped(scaled(), [&](float each) { return each - mean; });
    sum = sum_of(y);
    rest = sum / count;
    squares = sum_of_squares(y);
    float const corrected = std::fma(-rest, sum, squares);
    if (std::isfinite(corrected) && 2 * corrected < squares && corrections++ < 2) {
      mean += rest;
      continue;
    }
    variance = variance_of(corrected < 0 ? 0 : corrected, y.size(), scale.value, eps);
    if (!scale.changes(variance, squares, eps, std::fabs(mean) <= 1)) break;
  }
  float const factor = 1 / std::sqrt(variance);
  for (std::size_t i = 0; i < y.size(); ++i)
    y[i] = std::fma((y[i] - rest) * factor, weight[i], bias[i]);
  return {y, (mean + rest) / scale.value, factor * scale.value};
}

struct moments {
  long double mean = 0, deviation = 0, root = 0;  // of the mean square, or of the variance, and eps
};
moments exact_of(std::vector<float> const& x, bool centered, float eps) {
  auto const count = static_cast<long double>(x.size());
  moments row;
  if (centered) {
    for (float const each : x) row.mean += each;
    row.mean /= count;
    long double rest = 0;
    for (float const each : x) rest += each - row.mean;
    row.mean += rest / count;
  }
  long double squares = 0;
  for (float const each : x) squares += (each - row.mean) * (each - row.mean);
  row.deviation = std::sqrt(squares / count);
  row.root = std::sqrt(squares / count + eps);
  return row;
}

// The bounds of rms_norm, of the magnitude of a result.
struct rms_bounds {
  long double columns;

  [[nodiscard]] long double reciprocal() const { return 0x1p-24L * (columns / 512 + 9); }
  [[nodiscard]] long double result(long double exact, long double weight) const {
    return reciprocal() * std::fabs(exact) +
           0x1p-149L * (1 + std::sqrt(columns) * std::fabs(weight));
  }
};

// The bounds of layer_norm for a row that is not constant, or has an eps.
struct layer_bounds {
  long double columns, largest, root;
  long double c = 0x1p-24L * (columns / 256 + 12), q = std::min(1.0L, c* largest / root);

  [[nodiscard]] long double mean(long double exact, long double deviation) const {
    return 0x1p-24L * std::fabs(exact) + c * deviation + c * c * largest + 0x1p-149L;
  }
  [[nodiscard]] long double reciprocal() const { return c * (1 + 2 * q); }
  [[nodiscard]] long double result(long double y, long double weight, long double bias) const {
    long double const of_weight = (columns / 256 + 16) * (1 + std::fabs(y)) * (1 + 2 * q);
    return 0x1p-24L * (of_weight * std::fabs(weight) + std::fabs(bias)) + 0x1p-150L;
  }
};

// A relative bound of 1 / root, which may be subnormal, or beyond the floats if eps is 0.
void expect_reciprocal(float got, long double root, long double bound) {
  if (root == 0) {
    ASSERT_EQ(got, HUGE_VALF);
  } else if (1 / root < 0x1.fffp127L) {
    ASSERT_LE(std::fabs(got - 1 / root), bound / root + 0x1p-150L) << static_cast<double>(root);
  }
}

bool is_a_float(long double x) { return std::fabs(x) < 0x1.fffp127L; }

// Everything about one row of one format.
template <lowp::element T>
void expect_row(hard_row const& hard, float eps, float weight_scale) {
  std::size_t const columns = hard.x.size();
  std::vector<T> x(columns);
  std::vector<float> in(columns);
  lowp::cast(hard.x, x, lowp::nearest_even{}, lowp::overflow::saturate);
  lowp::cast(x, in);
  std::mt19937_64 random(3);
  std::normal_distribution<float> normal(1, 0.25f);
  std::vector<T> weight(columns);
  std::vector<T> bias(columns);
  for (std::size_t i = 0; i < columns; ++i) {
    weight[i] = T(weight_scale * normal(random));
    bias[i] = T(normal(random) - 1);
  }
  std::vector<float> w(columns);
  std::vector<float> b(columns);
  lowp::cast(weight, w);
  lowp::cast(bias, b);
  auto const n = static_cast<long double>(columns);
  long double largest = 0;
  for (float const each : in)
    largest = std::max(largest, std::fabs(static_cast<long double>(each)));

  std::vector<float> rms(columns);
  std::array<float, 1> mean{};
  std::array<float, 1> reciprocal{};
  lowp::rms_norm(x, weight, rms, columns, eps, reciprocal);
  row_in_floats const same_rms = rms_in_floats(in, w, eps);
  moments const square = exact_of(in, false, eps);
  rms_bounds const of_rms{n};
  ASSERT_TRUE(has_bits(reciprocal[0], float_bits(same_rms.reciprocal)));
  expect_reciprocal(reciprocal[0], square.root, of_rms.reciprocal());
  std::vector<float> layer(columns);
  lowp::layer_norm(x, weight, bias, layer, columns, eps, mean, reciprocal);
  row_in_floats const same_layer = layer_in_floats(in, w, b, eps);
  moments const centered = exact_of(in, true, eps);
  layer_bounds const of_layer{n, largest, centered.root};
  ASSERT_TRUE(has_bits(mean[0], float_bits(same_layer.mean)));
  ASSERT_LE(std::fabs(mean[0] - centered.mean), of_layer.mean(centered.mean, centered.deviation));
  ASSERT_TRUE(has_bits(reciprocal[0], float_bits(same_layer.reciprocal)));
  expect_reciprocal(reciprocal[0], centered.root, of_layer.reciprocal());
  for (std::size_t i = 0; i < columns; ++i) {
    if (square.root == 0) {
      ASSERT_TRUE(has_bits(rms[i], 0x7fc00000));
    } else {
      ASSERT_TRUE(has_bits(rms[i], float_bits(same_rms.y[i]), in[i]));
      long double const exact = in[i] / square.root * w[i];
      if (is_a_float(exact)) {
        ASSERT_LE(std::fabs(rms[i] - exact), of_rms.result(exact, w[i])) << in[i];
      }
    }
    if (centered.root == 0) {
      ASSERT_TRUE(has_bits(layer[i], 0x7fc00000));
      continue;
    }
    ASSERT_TRUE(has_bits(layer[i], float_bits(same_layer.y[i]), in[i]));
    long double const y = (in[i] - centered.mean) / centered.root;
    long double const exact = y * w[i] + b[i];
    if (is_a_float(exact)) {
      ASSERT_LE(std::fabs(layer[i] - exact), of_layer.result(y, w[i], b[i])) << in[i];
    }
  }

  // Another format is one more rounding.
  std::vector<T> narrow(columns);
  std::vector<T> rounded(columns);
  lowp::rms_norm(x, weight, narrow, columns, eps);
  lowp::cast(rms, rounded);
  for (std::size_t i = 0; i < columns; ++i) ASSERT_EQ(shown(narrow[i]), shown(rounded[i]));
  lowp::layer_norm(x, weight, bias, narrow, columns, eps);
  lowp::cast(layer, rounded);
  for (std::size_t i = 0; i < columns; ++i) ASSERT_EQ(shown(narrow[i]), shown(rounded[i]));
}

template <lowp::element T>
void expect_rows(float weight_scale = 1) {
  for (std::size_t const columns : column_counts)
    for (hard_row const& row : hard_rows(columns))
      for (float const eps : {1e-5f, 1e-12f, 0.0f}) {
        SCOPED_TRACE(std::string(row.name) + ", " + std::to_string(columns) + " columns, eps " +
                     std::to_string(eps));
        expect_row<T>(row, eps, weight_scale);
        if (testing::Test::HasFatalFailure()) return;
      }
}

TEST(normalization, of_floats) { expect_rows<float>(); }
TEST(normalization, of_floats_times_large_weights) { expect_rows<float>(1e38f); }
TEST(normalization, of_floats_times_small_weights) { expect_rows<float>(1e-40f); }
TEST(normalization, of_float16) { expect_rows<lowp::float16>(); }
TEST(normalization, of_bfloat16) { expect_rows<lowp::bfloat16>(); }

template <lowp::element T>
void expect_nearly_equal_row(nearly_equal_row<T> const& row, float eps) {
  constexpr float w = -3;
  constexpr float b = 0.5f;
  std::size_t const columns = row.x.size();
  std::vector<T> const weight(columns, T(w));
  std::vector<T> const bias(columns, T(b));
  std::vector<float> rms(columns);
  std::vector<float> layer(columns);
  std::array<float, 1> mean{};
  std::array<float, 1> reciprocal{};
  long double const rms_root = std::sqrt(row.mean_square() + eps);
  rms_bounds const of_rms{row.columns()};
  lowp::rms_norm(row.x, weight, rms, columns, eps, reciprocal);
  expect_reciprocal(reciprocal[0], rms_root, of_rms.reciprocal());
  long double const deviation = row.deviation();
  long double const root = std::sqrt(deviation * deviation + eps);
  layer_bounds const of_layer{row.columns(), row.largest(), root};
  lowp::layer_norm(row.x, weight, bias, layer, columns, eps, mean, reciprocal);
  expect_reciprocal(reciprocal[0], root, of_layer.reciprocal());
  ASSERT_LE(std::fabs(mean[0] - row.mean()), of_layer.mean(row.mean(), deviation));

  struct expectation {
    long double rms, rms_bound, layer, layer_bound;
  };
  std::vector<expectation> of_ulps;
  for (int k = -row.most_ulps; k <= row.most_ulps; ++k) {
    long double const of_square = (row.base + k * row.unit) / rms_root * w;
    long double const y = row.centered(k) / root;
    of_ulps.push_back({of_square, of_rms.result(of_square, w), y * w + b,
                       deviation == 0 ? 0 : of_layer.result(y, w, b)});
  }
  for (std::size_t i = 0; i < columns; ++i) {
    expectation const& want = of_ulps.at(static_cast<std::size_t>(row.ulps[i] + row.most_ulps));
    if (rms_root == 0) {
      ASSERT_TRUE(has_bits(rms[i], 0x7fc00000));
    } else {
      ASSERT_LE(std::fabs(rms[i] - want.rms), want.rms_bound) << i;
    }
    if (root == 0) {
      ASSERT_TRUE(has_bits(layer[i], 0x7fc00000));
    } else {
      ASSERT_LE(std::fabs(layer[i] - want.layer), want.layer_bound) << i;
    }
  }
}

template <lowp::element T>
void expect_nearly_equal_rows() {
  over_nearly_equal_rows<T>([](nearly_equal_row<T> const& row, float eps) {
    if (testing::Test::HasFatalFailure()) return;
    SCOPED_TRACE(testing::Message() << row.x.size() << " columns about " << row.base << ", eps "
                                    << eps << ", deviation " << row.deviation());
    expect_nearly_equal_row(row, eps);
  });
}

TEST(normalization, of_nearly_equal_floats) { expect_nearly_equal_rows<float>(); }
TEST(normalization, of_nearly_equal_float16) { expect_nearly_equal_rows<lowp::float16>(); }
TEST(normalization, of_nearly_equal_bfloat16) { expect_nearly_equal_rows<lowp::bfloat16>(); }

// The mean of 1.6 is far off after the sum, and still off after one correction.
TEST(normalization, of_many_columns_that_need_two_corrections) {
  std::vector<float> const ones(1U << 23, 1.0f);
  std::vector<float> x(ones.size(), 1.6f);
  x[5] = std::nextafter(1.6f, 0.0f);
  lowp::layer_norm(x, ones, ones, x, x.size(), 0);
  EXPECT_NEAR(x[5], 1 - std::sqrt(0x1p23 - 1), 0.01);
  EXPECT_NEAR(x[6], 1 + std::sqrt(0x1p-23), 1e-6);
}

// Every row is its own: the same bits as by itself, and in place.
TEST(normalization, of_many_rows) {
  constexpr std::size_t rows = 5;
  for (std::size_t const columns : {1U, 37U, 300U}) {
    tensor const in = random_tensor<lowp::float16>(rows * columns, columns, values::training, 3);
    guarded<lowp::float16> x(in, 3);
    std::vector<lowp::bfloat16> const weight(columns, lowp::bfloat16(2));
    std::vector<float> const bias(columns, 0.5f);
    std::vector<lowp::float16> rms(rows * columns);
    std::vector<lowp::float16> layer(rows * columns);
    lowp::rms_norm(x.span(), weight, rms, columns, 1e-6f);
    lowp::layer_norm(x.span(), weight, bias, layer, columns, 1e-6f);
    std::vector<lowp::float16> one(columns);
    for (std::size_t row = 0; row < rows; ++row) {
      lowp::rms_norm(x.span().subspan(row * columns, columns), weight, one, columns, 1e-6f);
      EXPECT_TRUE(std::equal(one.begin(), one.end(),
                             rms.begin() + static_cast<std::ptrdiff_t>(row * columns)));
      lowp::layer_norm(x.span().subspan(row * columns, columns), weight, bias, one, columns, 1e-6f);
      EXPECT_TRUE(std::equal(one.begin(), one.end(),
                             layer.begin() + static_cast<std::ptrdiff_t>(row * columns)));
    }
    ASSERT_TRUE(x.holds(in, "in"));
    // The same with something between rows.
    std::vector<lowp::float16> const packed(x.span().begin(), x.span().end());
    lowp::float16 const poison = std::numeric_limits<lowp::float16>::quiet_NaN();
    std::vector<lowp::float16> const spaced = spread(packed, columns, 3, poison);
    std::vector<lowp::float16> out = spread(rms, columns, 5, poison);
    lowp::strided_rows const to{out, columns + 5};
    std::array<float, rows> mean{};
    std::array<float, rows> reciprocal{};
    lowp::layer_norm(lowp::strided_rows{spaced, columns + 3}, weight, bias, to, columns, 1e-6f,
                     mean, reciprocal);
    EXPECT_EQ(gathered(out, columns, 5, poison), layer);
    for (std::size_t row = 0; row < rows; ++row) {
      std::array<float, 1> mean_of_one{};
      std::array<float, 1> reciprocal_of_one{};
      lowp::layer_norm(x.span().subspan(row * columns, columns), weight, bias, one, columns, 1e-6f,
                       mean_of_one, reciprocal_of_one);
      EXPECT_TRUE(has_bits(mean[row], float_bits(mean_of_one[0])));
      EXPECT_TRUE(has_bits(reciprocal[row], float_bits(reciprocal_of_one[0])));
    }
    lowp::rms_norm(lowp::strided_rows{spaced, columns + 3}, weight, to, columns, 1e-6f);
    EXPECT_EQ(gathered(out, columns, 5, poison), rms);

    std::vector<lowp::float16> in_place(x.span().begin(), x.span().end());
    lowp::layer_norm(in_place, weight, bias, in_place, columns, 1e-6f);
    EXPECT_EQ(in_place, layer);
  }
}

// Every long row is written while the next one is summed. Hard rows follow others, in place too.
TEST(normalization, of_long_rows_in_turns) {
  for (std::size_t const columns : {512U, 700U, 1024U, 2048U}) {
    SCOPED_TRACE(columns);
    std::vector<float> x;
    for (int turn = 0; turn < 2; ++turn)
      for (hard_row const& row : hard_rows(columns)) x.insert(x.end(), row.x.begin(), row.x.end());
    std::size_t const rows = x.size() / columns;
    std::vector<float> const weight(columns, 1.5f), bias(columns, 0.5f);
    std::vector<float> rms(x.size()), layer(x.size()), mean(rows), deviation(rows);
    for (std::size_t row = 0; row < rows; ++row) {
      auto const part = [&](auto& all) { return std::span(all).subspan(row * columns, columns); };
      lowp::rms_norm(part(x), weight, part(rms), columns, 1e-6f);
      lowp::layer_norm(part(x), weight, bias, part(layer), columns, 1e-6f,
                       std::span(mean).subspan(row, 1), std::span(deviation).subspan(row, 1));
    }
    std::vector<float> out(x.size()), other(rows), another(rows);
    auto const same = [](std::vector<float> const& a, std::vector<float> const& b) {
      return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
    };
    lowp::rms_norm(x, weight, out, columns, 1e-6f);
    EXPECT_TRUE(same(out, rms));
    lowp::layer_norm(x, weight, bias, out, columns, 1e-6f, other, another);
    EXPECT_TRUE(same(out, layer) && same(other, mean) && same(another, deviation));
    out = x;
    lowp::rms_norm(out, weight, out, columns, 1e-6f);
    EXPECT_TRUE(same(out, rms));
    out = spread(x, columns, 5, 1.0f);
    lowp::strided_rows const in_place{out, columns + 5};
    lowp::layer_norm(in_place, weight, bias, in_place, columns, 1e-6f);
    EXPECT_TRUE(same(gathered(out, columns, 5, 1.0f), layer));
  }
}

// x = round(x + u), then its norm: the bits of two calls. Blocks of several rows, and of a part.
template <class R>
void expect_norms_of_sums(std::size_t columns, R const& rounding) {
  SCOPED_TRACE(columns);
  std::size_t const rows = (std::size_t{1} << 14) / columns + 3;
  std::mt19937 random(static_cast<unsigned>(columns));
  std::normal_distribution<float> normal;
  auto const numbers = [&](std::size_t count) {
    std::vector<lowp::float16> x;
    for (std::size_t i = 0; i < count; ++i) x.emplace_back(normal(random));
    return x;
  };
  std::vector<lowp::float16> const x = numbers(rows * columns), u = numbers(rows * columns);
  std::vector<lowp::bfloat16> const weight(columns, lowp::bfloat16(2));
  std::vector<float> const bias(columns, 0.5f);
  std::vector<lowp::float16> sum = x, rms(x.size()), layer(x.size());
  std::vector<float> of_rms(rows), mean(rows), deviation(rows);
  lowp::fused_add(sum, 1, u, rounding);
  lowp::rms_norm(sum, weight, rms, columns, 1e-6f, of_rms);
  lowp::layer_norm(sum, weight, bias, layer, columns, 1e-6f, mean, deviation);

  std::vector<lowp::float16> stream = x, out(x.size());
  std::vector<float> first(rows), second(rows);
  lowp::add_rms_norm(stream, u, weight, out, columns, 1e-6f, first, rounding);
  EXPECT_EQ(stream, sum);
  EXPECT_EQ(out, rms);
  EXPECT_EQ(first, of_rms);
  stream = x;
  out = u;
  lowp::add_layer_norm(stream, out, weight, bias, out, columns, 1e-6f, first, second, rounding);
  EXPECT_EQ(stream, sum);
  EXPECT_EQ(out, layer);
  EXPECT_EQ(first, mean);
  EXPECT_EQ(second, deviation);

  // With something between rows, in which neither results nor random bits change.
  lowp::float16 const poison = std::numeric_limits<lowp::float16>::quiet_NaN();
  stream = spread(x, columns, 3, poison);
  std::vector<lowp::float16> const spaced = spread(u, columns, 2, poison);
  out = spread(rms, columns, 5, poison);
  lowp::add_layer_norm(lowp::strided_rows{stream, columns + 3},
                       lowp::strided_rows{spaced, columns + 2}, weight, bias,
                       lowp::strided_rows{out, columns + 5}, columns, 1e-6f, rounding);
  EXPECT_EQ(gathered(stream, columns, 3, poison), sum);
  EXPECT_EQ(gathered(out, columns, 5, poison), layer);
  stream = x;
  out.resize(x.size());
  lowp::add_rms_norm(stream, lowp::strided_rows{spaced, columns + 2}, weight, out, columns, 1e-6f,
                     rounding);
  EXPECT_EQ(stream, sum);
  EXPECT_EQ(out, rms);
}
TEST(normalization, behind_a_residual_sum) {
  for (std::size_t const columns : {1U, 37U, 300U, 17000U}) {
    expect_norms_of_sums(columns, lowp::nearest_even{});
    expect_norms_of_sums(columns, lowp::stochastic{.seed = 3, .stream = 4, .offset = 5});
  }
}

// The stream, the sum's other term and the result as columns of one matrix.
TEST(normalization, of_sums_of_rows_side_by_side) {
  std::vector<lowp::float16> matrix;
  for (int i = 0; i < 4 * 9; ++i) matrix.emplace_back(static_cast<float>(i % 7 - 3));
  std::vector<lowp::bfloat16> const weight(3, lowp::bfloat16(2));
  auto const part = [&](std::size_t first) {
    return lowp::strided_rows{std::span(matrix).subspan(first), 9};
  };
  std::vector<lowp::float16> want;
  for (std::size_t r = 0; r < 4; ++r) {
    std::vector<lowp::float16> x(matrix.begin() + static_cast<std::ptrdiff_t>(9 * r),
                                 matrix.begin() + static_cast<std::ptrdiff_t>(9 * r + 3));
    for (std::size_t i = 0; i < 3; ++i) x[i] += matrix[9 * r + 3 + i];
    std::vector<lowp::float16> out(3);
    lowp::rms_norm(x, weight, out, 3, 1e-6f);
    want.insert(want.end(), out.begin(), out.end());
  }
  lowp::add_rms_norm(part(0), part(3), weight, part(6), 3, 1e-6f);
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_EQ(matrix[i / 3 * 9 + 6 + i % 3], want[i]);
}

// The number of columns lies between two floats, and so does eps.
TEST(normalization, is_the_same_in_any_rounding_mode) {
  std::vector<lowp::bfloat16> const ones((1U << 24) + 1, lowp::bfloat16(1.0f));
  std::vector<lowp::bfloat16> y(ones.size());
  std::vector<float> reciprocal(1);
  std::vector<lowp::bfloat16> const zero(1);
  double const volatile eps = 1e-60;  // upward the smallest float, and not 0
  for (int const mode : {FE_TONEAREST, FE_UPWARD}) {
    std::fesetround(mode);
    lowp::rms_norm(zero, zero, std::span(y).first(1), 1, eps, reciprocal);
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(reciprocal[0], HUGE_VALF);
    std::fesetround(mode);
    lowp::rms_norm(ones, ones, y, y.size(), 0, reciprocal);
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(reciprocal[0], 1.0f);
  }
}

// A square in the narrow type overflows from 256 on; this norm takes anything.
TEST(normalization, of_rows_whose_squares_overflow_float16) {
  std::vector<lowp::float16> const x{lowp::float16(300), lowp::float16(-300), lowp::float16(300),
                                     lowp::float16(-300)};
  EXPECT_TRUE(isinf(x[0] * x[0]));
  std::vector<float> const ones(4, 1.0f);
  std::vector<lowp::float16> y(4);
  lowp::rms_norm(x, ones, y, 4, 1e-6f);
  EXPECT_EQ(y, (std::vector<lowp::float16>{lowp::float16(1), lowp::float16(-1), lowp::float16(1),
                                           lowp::float16(-1)}));
}

TEST(normalization, of_special_elements) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  float const nan = float_of(0xffc12345);  // results are the canonical one
  std::vector<float> const ones(4, 1.0f);
  std::vector<float> const x{1, inf, 2, 3, 1, nan, 2, 3, 1, 1, 1, 1};
  std::vector<float> y(12);
  lowp::rms_norm(x, ones, y, 4, 1e-6f);
  EXPECT_EQ(y[0], 0.0f);
  EXPECT_TRUE(has_bits(y[1], 0x7fc00000));
  EXPECT_EQ(y[3], 0.0f);
  for (std::size_t i = 4; i < 8; ++i) EXPECT_TRUE(has_bits(y[i], 0x7fc00000));
  EXPECT_NEAR(y[8], 1.0f, 1e-6f);
  lowp::layer_norm(x, ones, ones, y, 4, 1e-6f);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_TRUE(has_bits(y[i], 0x7fc00000));
  for (std::size_t i = 8; i < 12; ++i) EXPECT_EQ(y[i], 1.0f);  // the bias

  std::vector<float> mean(3);
  std::vector<float> reciprocal(3);
  lowp::rms_norm(x, ones, y, 4, 1e-6f, reciprocal);
  EXPECT_EQ(reciprocal[0], 0.0f);
  EXPECT_TRUE(has_bits(reciprocal[1], 0x7fc00000));
  lowp::layer_norm(x, ones, ones, y, 4, 1e-6f, mean, reciprocal);
  for (std::size_t row = 0; row < 2; ++row) {
    EXPECT_TRUE(has_bits(mean[row], 0x7fc00000));
    EXPECT_TRUE(has_bits(reciprocal[row], 0x7fc00000));
  }
  EXPECT_EQ(mean[2], 1.0f);
}

// The squares of 1e-30 vanish without a scale.
TEST(normalization, takes_an_eps_of_negative_zero_for_0) {
  std::vector<float> const x{1e-30f, -2e-30f, 3e-30f, 0}, weight(4, 1.0f);
  std::vector<float> want(4), got(4);
  lowp::rms_norm(x, weight, want, 4, 0.0f);
  lowp::rms_norm(x, weight, got, 4, -0.0f);
  EXPECT_EQ(got, want);
  EXPECT_FLOAT_EQ(got[2], 3 / std::sqrt(14.0f / 4));
}

TEST(normalization, refuses) {
  std::vector<float> const x(12);
  std::vector<float> const weight(4);
  std::vector<float> const short_weight(3);
  std::vector<float> y(12, 7.0f);
  auto const expect_refusal = [&](auto const& call, char const* text) {
    lowp_test::expect_refusal(call, text);
    EXPECT_EQ(y, std::vector<float>(12, 7.0f));
  };
  expect_refusal([&] { lowp::rms_norm(x, weight, y, 0, 1e-6f); }, "lowp::rms_norm: columns is 0");
  expect_refusal([&] { lowp::rms_norm(x, weight, y, 5, 1e-6f); },
                 "lowp::rms_norm: in has 12 elements, which are not rows of 5");
  expect_refusal([&] { lowp::rms_norm(x, short_weight, y, 4, 1e-6f); },
                 "lowp::rms_norm: weight has 3 elements for 4 columns");
  expect_refusal([&] { lowp::layer_norm(x, weight, short_weight, y, 4, 1e-6f); },
                 "lowp::layer_norm: bias has 3 elements for 4 columns");
  expect_refusal([&] { lowp::layer_norm(weight, weight, weight, y, 4, 1e-6f); },
                 "lowp::layer_norm: sizes differ: in has 4, out has 12");
  for (float const eps : {-1e-6f, std::numeric_limits<float>::infinity()})
    EXPECT_THROW(lowp::layer_norm(x, weight, weight, y, 4, eps), std::invalid_argument);
  expect_refusal([&] { lowp::rms_norm(x, weight, y, 4, -1); },
                 "lowp::rms_norm: eps is -1, not finite and at least 0");
  expect_refusal([&] { lowp::rms_norm(x, weight, y, 4, 1e39); },
                 "lowp::rms_norm: eps is inf, not finite and at least 0");
  expect_refusal([&] { lowp::rms_norm(x, std::span(y).first(4), y, 4, 1e-6f); },
                 "lowp::rms_norm: weight (16 bytes) and out (48 bytes) overlap: weight starts 0 "
                 "bytes into out");

  std::vector<float> mean(3, 7.0f);
  std::vector<float> few(2);
  expect_refusal([&] { lowp::rms_norm(x, weight, y, 4, 1e-6f, few); },
                 "lowp::rms_norm: reciprocal_rms has 2 elements for 3 rows");
  expect_refusal([&] { lowp::layer_norm(x, weight, weight, y, 4, 1e-6f, few, mean); },
                 "lowp::layer_norm: mean has 2 elements for 3 rows");
  expect_refusal([&] { lowp::layer_norm(x, weight, weight, y, 4, 1e-6f, mean, few); },
                 "lowp::layer_norm: reciprocal_deviation has 2 elements for 3 rows");
  expect_refusal([&] { lowp::layer_norm(x, weight, weight, y, 4, 1e-6f, mean, mean); },
                 "lowp::layer_norm: mean (12 bytes) and reciprocal_deviation (12 bytes) overlap: "
                 "mean starts 0 bytes into reciprocal_deviation");
  expect_refusal([&] { lowp::rms_norm(x, weight, y, 4, 1e-6f, std::span(y).last(3)); },
                 "lowp::rms_norm: out (48 bytes) and reciprocal_rms (12 bytes) overlap: "
                 "reciprocal_rms starts 36 bytes into out");
  expect_refusal([&] { lowp::rms_norm(y, weight, y, 4, 1e-6f, std::span(y).last(3)); },
                 "lowp::rms_norm: in (48 bytes) and reciprocal_rms (12 bytes) overlap: "
                 "reciprocal_rms starts 36 bytes into in");
  std::vector<float> own(4, 7.0f);
  expect_refusal([&] { lowp::rms_norm(x, own, y, 4, 1e-6f, std::span(own).first(3)); },
                 "lowp::rms_norm: weight (16 bytes) and reciprocal_rms (12 bytes) overlap: "
                 "weight starts 0 bytes into reciprocal_rms");
  EXPECT_EQ(mean, std::vector<float>(3, 7.0f));
  expect_refusal([&] { lowp::add_rms_norm(y, std::span(x).first(8), weight, y, 4, 1e-6f); },
                 "lowp::add_rms_norm: sizes differ: x has 12, u has 8");
  std::vector<float> sum(12);
  expect_refusal([&] { lowp::add_rms_norm(sum, y, weight, sum, 4, 1e-6f); },
                 "lowp::add_rms_norm: x (48 bytes) and out (48 bytes) overlap: x starts 0 bytes "
                 "into out");
  expect_refusal([&] { lowp::add_rms_norm(sum, sum, weight, y, 4, 1e-6f); },
                 "lowp::add_rms_norm: x (48 bytes) and u (48 bytes) overlap: x starts 0 bytes into "
                 "u");
  expect_refusal([&] { lowp::add_layer_norm(own, weight, weight, weight, y, 4, 1e-6f); },
                 "lowp::add_layer_norm: sizes differ: x has 4, out has 12");
  EXPECT_EQ(sum, std::vector<float>(12));
  static_assert(!std::invocable<decltype(lowp::rms_norm), std::vector<float>&, std::vector<float>&,
                                std::vector<float>&, std::size_t, float, std::vector<double>&>);
  static_assert(!std::invocable<decltype(lowp::rms_norm), std::vector<float>&, std::vector<float>&,
                                std::vector<float>&, std::size_t, float, std::vector<float>>);
}

}  // namespace
