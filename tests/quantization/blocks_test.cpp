// SPDX-License-Identifier: Apache-2.0
// The random Hadamard transform beside Transformer Engine and beside exact sums.
#include <gtest/gtest.h>
#include <lowp/openmp.hpp>
#include <lowp/quantize.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "support/refusals.hpp"
#include "support/support.hpp"

namespace {

using namespace lowp_test;
using lowp::bfloat16;
using lowp::float16;
using lowp::float4_e2m1fn;
using lowp::float8_e4m3fn;
using lowp::hadamard_signs;

// Codes of four bits in a byte each, with a scale for 16.
struct fp4 {
  std::vector<float4_e2m1fn> codes;
  std::vector<float8_e4m3fn> scales;
  lowp::quantized<float4_e2m1fn, 16, float8_e4m3fn> tensor;

  explicit fp4(std::size_t size) : codes(size), scales(size / 16), tensor{codes, scales} {}
};

TEST(hadamard, is_that_of_transformer_engine) {
  std::ifstream in(LOWP_TESTS "/quantization/vectors/te_2_20_hadamard.txt");
  std::vector<bfloat16> x, want;
  std::vector<unsigned> scales, codes;
  auto const words = [](std::string const& text, std::vector<bfloat16>& to) {
    for (std::size_t i = 0; i < text.size(); i += 4)
      to.push_back(bfloat16::from_bits(
          static_cast<std::uint16_t>(std::stoul(text.substr(i, 4), nullptr, 16))));
  };
  for (std::string line; std::getline(in, line);) {
    if (line[0] == '#') continue;
    std::istringstream parts(line);
    std::string before, after, scale, pairs;
    parts >> before >> after >> scale >> pairs;
    words(before, x);
    words(after, want);
    scales.push_back(static_cast<unsigned>(std::stoul(scale, nullptr, 16)));
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
      auto const byte = static_cast<unsigned>(std::stoul(pairs.substr(i, 2), nullptr, 16));
      codes.insert(codes.end(), {byte & 15, byte >> 4});
    }
  }
  ASSERT_EQ(x.size(), 512U);
  std::vector<bfloat16> y(x.size());
  lowp::hadamard(x, y, lowp::te_2_20_signs);
  fp4 q(x.size());
  lowp::quantize(lowp::rotated(x, lowp::te_2_20_signs), q.tensor, lowp::recipes::te_2_20_nvfp4);
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(y[i].bits(), want[i].bits()) << i;
    ASSERT_EQ(q.codes[i].bits(), codes[i]) << i;
    ASSERT_EQ(q.scales[i / 16].bits(), scales[i / 16]) << i;
  }
}

// Returns the sum of a row of the matrix, in exact doubles if the elements are few bits.
template <int Points>
double exact(std::span<float const> block, hadamard_signs<Points> const& signs, int column) {
  double sum = 0;
  for (int i = 0; i < Points; ++i) {
    unsigned const both = static_cast<unsigned>(i & column);
    bool const negative = (__builtin_popcount(both) + static_cast<int>(signs.before >> i & 1)) % 2;
    double const x = block[static_cast<std::size_t>(i)];
    sum += negative ? -x : x;
  }
  return (signs.after >> column & 1) != 0 ? -sum : sum;
}

template <int Points>
void expect_exact(hadamard_signs<Points> const& signs) {
  std::mt19937 random(3);
  std::vector<float> x(Points * 40), y(x.size());
  for (float& each : x)
    each = std::ldexp(static_cast<float>(static_cast<int>(random() % 511) - 255),
                      static_cast<int>(random() % 9));
  std::vector<bfloat16> narrow(x.size());
  std::vector<float16> drawn(x.size()), wanted(x.size());
  lowp::stochastic_fast const draws{.seed = 5, .stream = 1, .offset = 7};
  lowp::hadamard(x, y, signs);
  lowp::hadamard(x, narrow, signs, lowp::upward{});
  lowp::hadamard(x, drawn, signs, draws);
  lowp::cast(y, wanted, draws);
  float const root = std::sqrt(2.0f);
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::span<float const> const block(x.data() + i / Points * Points, Points);
    double const sum = exact(block, signs, static_cast<int>(i % Points));
    // sum * root has 48 bits.
    auto const want = static_cast<float>(Points == 16 ? sum / 4 : sum / 8 * double{root});
    ASSERT_EQ(y[i], want) << i;
    ASSERT_EQ(narrow[i].bits(), lowp::convert<bfloat16>(want, lowp::upward{}).bits()) << i;
    ASSERT_EQ(drawn[i].bits(), wanted[i].bits()) << i;
  }
}
TEST(hadamard, is_the_rounded_product_if_sums_are_exact) {
  expect_exact(lowp::te_2_20_signs);
  expect_exact(hadamard_signs<16>{0, 0x8001});
  expect_exact(hadamard_signs<32>{0x9e3779b9, 0x7f4a7c15});
}

// The additions of the docstring.
template <int Points>
void in_order(float* x, hadamard_signs<Points> const& signs) {
  float volatile rounded = 0;  // no multiplication is fused with an addition
  auto const once = [&](float value) {
    rounded = value;
    return float{rounded};
  };
  for (int i = 0; i < Points; ++i)
    x[i] = once(((signs.before >> i & 1) != 0 ? -x[i] : x[i]) * (Points == 16 ? 0.25f : 0.125f));
  for (int apart = 1; apart < Points; apart *= 2)
    for (int i = 0; i < Points; ++i) {
      if ((i & apart) != 0) continue;
      float const a = x[i], b = x[i + apart];
      x[i] = once(a + b);
      x[i + apart] = once(a - b);
    }
  for (int i = 0; i < Points; ++i) {
    if (Points == 32) x[i] = once(x[i] * 0x1.6a09e6p0f);
    if ((signs.after >> i & 1) != 0) x[i] = -x[i];
  }
}
template <int Points>
void expect_order(hadamard_signs<Points> const& signs) {
  std::mt19937 random(4);
  for (std::size_t blocks : {1U, 2U, 3U, 5U, 7U, 16U, 33U, 1500U}) {
    std::vector<float> x(blocks * Points), y(x.size()), shared(x.size());
    for (float& each : x)
      each = std::ldexp(static_cast<float>(static_cast<std::int32_t>(random())),
                        static_cast<int>(random() % 60) - (random() % 3 == 0 ? 170 : 40));
    if (blocks > 2) {
      x[3] = std::numeric_limits<float>::quiet_NaN();
      x[Points + 1] = x[Points + 2] = std::numeric_limits<float>::infinity();
      for (std::size_t i = 2 * Points; i < 3 * Points; ++i)
        x[i] = i % 3 == 0 ? -std::numeric_limits<float>::max() : std::numeric_limits<float>::max();
    }
    lowp::hadamard(x, y, signs);
    lowp::openmp::hadamard(x, shared, signs);
    EXPECT_EQ(std::memcmp(y.data(), shared.data(), y.size() * 4), 0) << blocks;
    for (std::size_t b = 0; b < blocks; ++b) in_order<Points>(x.data() + b * Points, signs);
    lowp::cast(x, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      std::uint32_t const want = std::isnan(x[i]) ? 0x7fc00000 : std::bit_cast<std::uint32_t>(x[i]);
      ASSERT_EQ(std::bit_cast<std::uint32_t>(y[i]), want) << blocks << ' ' << i;
    }
  }
}
TEST(hadamard, adds_in_a_fixed_order) {
  expect_order(lowp::te_2_20_signs);
  expect_order(hadamard_signs<32>{0x12345678, 0x80000001});
}

// Rows that lose most: a large element among small ones, cancellation, numbers near the ends.
template <int Points>
double worst_return(hadamard_signs<Points> const& signs) {
  std::mt19937 random(6);
  double worst = 0;
  constexpr std::size_t blocks = 4096;
  std::vector<float> x(blocks * Points), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::size_t const b = i / Points, kind = b % 8;
    auto const noise = static_cast<float>(random() % 0x1000000) + 0x1p23f;
    int exponent = kind == 0   ? 0
                   : kind == 1 ? (i % Points == b / 8 % Points ? 100 : -24)
                   : kind == 2 ? static_cast<int>(random() % 30)
                   : kind == 3 ? -149 - 23 + static_cast<int>(random() % 24)
                   : kind == 4 ? 125 - 25
                   : kind == 5 ? -static_cast<int>(i % Points)
                   : kind == 6 ? static_cast<int>(random() % 3) * 12
                               : -140;
    x[i] = std::ldexp(random() % 2 == 0 ? noise : -noise, exponent);
    if (kind == 7) x[i] = std::ldexp(std::nextafter(1.0f, 2.0f), i % 2 == 0 ? 0 : -1);
  }
  lowp::hadamard(x, y, signs);
  lowp::hadamard(y, y, signs.inverse());
  for (std::size_t first = 0; first < x.size(); first += Points) {
    double squares = 0;
    for (std::size_t i = first; i < first + Points; ++i) squares += double{x[i]} * double{x[i]};
    double const norm = std::sqrt(squares);
    for (std::size_t i = first; i < first + Points; ++i) {
      double const error = std::max(0.0, std::fabs(double{y[i]} - double{x[i]}) - 0x1p-143);
      if (error > 0) worst = std::max(worst, error / norm * 0x1p24);
    }
  }
  return worst;
}
TEST(hadamard, is_undone_within_its_bound) {
  double const of_16 = worst_return(lowp::te_2_20_signs);
  double const of_32 = worst_return(hadamard_signs<32>{0xdeadbeef});
  RecordProperty("in_2_to_minus_24_of_16", std::to_string(of_16));
  RecordProperty("in_2_to_minus_24_of_32", std::to_string(of_32));
  EXPECT_LE(of_16, 9);
  EXPECT_LE(of_32, 13);
  EXPECT_GT(of_16, 1);
  EXPECT_GT(of_32, 1.5);
}

TEST(hadamard, comes_before_the_scales_of_tiles) {
  std::vector<float16> x(16 * 64);
  std::mt19937 random(7);
  for (float16& each : x) each = static_cast<float>(random() % 2001) / 1000 - 1;
  std::vector<float16> y(x.size());
  lowp::hadamard(x, y, lowp::te_2_20_signs);
  fp4 fused(x.size()), apart(x.size()), shared(x.size());
  lowp::quantize_options const options{.columns = 64};
  auto const& recipe = lowp::recipes::te_2_20_nvfp4_16x16;
  lowp::nearest_even const even;
  lowp::quantize(lowp::rotated(x, lowp::te_2_20_signs), fused.tensor, recipe, even, options);
  lowp::openmp::quantize(lowp::rotated(x, lowp::te_2_20_signs), shared.tensor, recipe, even,
                         options);
  lowp::quantize(y, apart.tensor, recipe, even, options);
  for (fp4* const each : {&fused, &shared}) {
    EXPECT_EQ(std::memcmp(each->codes.data(), apart.codes.data(), x.size()), 0);
    EXPECT_EQ(std::memcmp(each->scales.data(), apart.scales.data(), apart.scales.size()), 0);
    EXPECT_EQ(each->tensor.tensor_scale, apart.tensor.tensor_scale);
  }
}

TEST(hadamard, refuses_by_name_and_size) {
  std::vector<float> x(40), y(40), z(48);
  EXPECT_EQ(refusal_of([&] { lowp::hadamard(x, y, lowp::te_2_20_signs); }),
            "lowp::hadamard: in: 40 elements are no whole blocks of 16");
  EXPECT_EQ(refusal_of([&] { lowp::hadamard(z, y, lowp::te_2_20_signs); }),
            "lowp::hadamard: sizes differ: in has 48, out has 40");
  std::span<float> const all(z);
  EXPECT_NE(refusal_of([&] {
              lowp::hadamard(all.first(32), all.subspan(1, 32), hadamard_signs<32>{});
            }).find("overlap"),
            std::string::npos);
}

}  // namespace
