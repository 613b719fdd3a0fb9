// SPDX-License-Identifier: Apache-2.0
// The random Hadamard transform beside Transformer Engine and beside exact sums; products of blocks
// beside the oracle; tiles of scales.
#include <gtest/gtest.h>
#include <lowp/lowp.hpp>
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

#include "oracle/codec.hpp"
#include "support/formats.hpp"
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

// Kernels of 512 bits divide by a scale of three bits without a division. All significands of both;
// powers of two change neither quotient.
TEST(quantize, quotients_of_short_divisors_are_exact) {
  using inverse_of = lowp::detail::short_inverse<float>;
  for (float d = 1; d < 2; d += 0.125f) {
    EXPECT_FALSE(inverse_of::refuses(d));
    EXPECT_TRUE(inverse_of::refuses(std::nextafter(d, 3.0f)));
    inverse_of const inverse(d);
    std::size_t wrong = 0;
    for (std::uint32_t x = float_bits(1.0f); x < float_bits(2.0f); ++x) {
      float const number = float_of(x);
      wrong += lowp::detail::quotient(number, inverse.high, inverse.low) != number / d;
    }
    EXPECT_EQ(wrong, 0u) << d;
  }
  // Nor do the least and the largest divisors. What is below 2^-120 has to be small, with its sign.
  for (float const d :
       {0x1p-80f, 0x1.ap-80f, 0x1.ep-80f, 1.0f, 1.875f, 0x1.ap99f, 0x1.ep99f, 0x1p100f}) {
    EXPECT_FALSE(inverse_of::refuses(d));
    inverse_of const inverse(d);
    for (float x = 0; x < 64 * d; x = x * 1.0078125f + 0x1p-149f)
      for (float const each : {x, -x}) {
        float const q = lowp::detail::quotient(each, inverse.high, inverse.low), exact = each / d;
        if (std::fabs(exact) >= 0x1p-120f) {
          ASSERT_EQ(q, exact) << each << " / " << d;
        }
        ASSERT_LE(std::fabs(q), std::max(std::fabs(exact), 0x1p-120f)) << each << " / " << d;
        ASSERT_EQ(std::signbit(q), std::signbit(each)) << each << " / " << d;
      }
  }
  for (float const d : {0.0f, 0x1p-81f, 0x1.2p100f, -1.0f, INFINITY, NAN})
    EXPECT_TRUE(inverse_of::refuses(d)) << d;
}

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
    std::vector<float> x(blocks * Points), y(x.size());
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
  fp4 fused(x.size()), apart(x.size());
  lowp::quantize_options const options{.columns = 64};
  auto const& recipe = lowp::recipes::te_2_20_nvfp4_16x16;
  lowp::nearest_even const even;
  lowp::quantize(lowp::rotated(x, lowp::te_2_20_signs), fused.tensor, recipe, even, options);
  lowp::quantize(y, apart.tensor, recipe, even, options);
  EXPECT_EQ(std::memcmp(fused.codes.data(), apart.codes.data(), x.size()), 0);
  EXPECT_EQ(std::memcmp(fused.scales.data(), apart.scales.data(), apart.scales.size()), 0);
  EXPECT_EQ(fused.tensor.tensor_scale, apart.tensor.tensor_scale);
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

// Random finite codes and scales.
template <class T, int Block, class Scale>
struct random_blocks {
  std::vector<T> codes;
  std::vector<Scale> scales;
  lowp::quantized<T, Block, Scale> tensor;

  random_blocks(std::size_t size, float tensor_scale, std::mt19937& random)
      : codes(finite<T>(size, random)),
        scales(finite<Scale>((size + Block - 1) / Block, random)),
        tensor{codes, scales, tensor_scale} {}

  template <class U>
  static std::vector<U> finite(std::size_t size, std::mt19937& random) {
    std::vector<U> values;
    while (values.size() < size) {
      auto const each = U::from_bits(static_cast<std::uint8_t>(random()));
      if (isfinite(each)) values.push_back(each);
    }
    return values;
  }
};

// Returns x * 2^exponent, an integer.
oracle::i128 scaled(float x, int exponent) {
  double const integer = std::ldexp(double{x}, exponent);
  EXPECT_EQ(integer, std::nearbyint(integer));
  return static_cast<std::int64_t>(integer);
}
oracle::number real(oracle::i128 integer, int exponent) {
  oracle::number x = oracle::from(integer);
  x.exponent += exponent;
  return x;
}

// Codes and scales are integers times 2^-9 below 2^18, and the tensors' scales have 24 bits.
TEST(reference_matmul, rounds_the_exact_sum_once) {
  std::mt19937 random(8);
  constexpr std::size_t rows = 3, columns = 96;
  for (int repeat = 0; repeat < 200; ++repeat) {
    float const tx = repeat % 2 == 0 ? 1 : 0x1.234566p-3f, ty = repeat % 4 < 2 ? 1 : 0x1.fedcbap2f;
    random_blocks<float4_e2m1fn, 16, float8_e4m3fn> const x(rows * columns, tx, random);
    random_blocks<float8_e4m3fn, 16, float8_e4m3fn> const y(2 * columns, ty, random);
    std::vector<float> out(rows * 2);
    std::vector<bfloat16> even(rows * 2), up(rows * 2);
    auto const exact = lowp::accumulation::exact;
    lowp::reference_matmul(x.tensor, y.tensor, out, columns, exact);
    lowp::reference_matmul(x.tensor, y.tensor, even, columns, exact);
    lowp::reference_matmul(x.tensor, y.tensor, up, columns, exact, lowp::upward{});
    for (std::size_t r = 0; r < out.size(); ++r) {
      oracle::i128 sum = 0;
      for (std::size_t k = 0; k < columns; ++k) {
        std::size_t const i = r / 2 * columns + k, j = r % 2 * columns + k;
        sum += scaled(x.codes[i], 9) * scaled(x.scales[i / 16], 9) * scaled(y.codes[j], 9) *
               scaled(y.scales[j / 16], 9);
      }
      // The last nine bits of sum are 0.
      oracle::number const want =
          real(sum / 512 * scaled(tx, 26) * scaled(ty, 21), 9 - 36 - 26 - 21);
      using oracle::mode, oracle::policy, oracle::encode;
      ASSERT_EQ(std::bit_cast<std::uint32_t>(out[r]),
                encode(oracle::binary32, want, mode::nearest_even, policy::infinity));
      ASSERT_EQ(even[r].bits(),
                encode(facts<bfloat16>, want, mode::nearest_even, policy::infinity));
      ASSERT_EQ(up[r].bits(), encode(facts<bfloat16>, want, mode::upward, policy::infinity));
    }
  }
}

TEST(reference_matmul, adds_floats_in_its_order) {
  std::mt19937 random(9);
  constexpr std::size_t columns = 100;  // a short block at the end
  using mx = random_blocks<lowp::float8_e5m2, 32, lowp::float8_e8m0fnu>;
  mx x(columns, 0x1.3p-5f, random), y(columns, 0x1.7p3f, random);
  for (auto* const scales : {&x.scales, &y.scales})
    for (auto& each : *scales)
      each = lowp::float8_e8m0fnu(std::ldexp(1.0f, static_cast<int>(random() % 9)));
  float out[1], row = 0;
  lowp::reference_matmul(x.tensor, y.tensor, out, columns, lowp::accumulation::in_float);
  for (std::size_t first = 0; first < columns; first += 32) {
    float block = 0;
    for (std::size_t i = first; i < std::min(columns, first + 32); ++i)
      block = std::fma(float{x.codes[i]}, float{y.codes[i]}, block);
    // Both scales are powers of two.
    row += block * float{x.scales[first / 32]} * float{y.scales[first / 32]};
  }
  float const volatile scaled_row = row * 0x1.3p-5f;
  EXPECT_EQ(out[0], scaled_row * 0x1.7p3f);
  float exact[1];
  lowp::reference_matmul(x.tensor, y.tensor, exact, columns, lowp::accumulation::exact);
  EXPECT_NE(out[0], exact[0]);
}

TEST(reference_matmul, keeps_what_cancels_and_what_is_no_number) {
  using element = lowp::float8_e5m2;
  using scale = lowp::float8_e8m0fnu;
  std::vector<element> x(96, element(0.0f)), y(96, element(1.0f));
  std::vector<scale> sx{scale(0x1p127f), scale(0x1p-127f), scale(0x1p127f)}, sy(3, scale(1.0f));
  lowp::quantized<element, 32, scale> const a{x, sx}, b{y, sy};
  std::vector<float> out(1);
  auto const product = [&] {
    lowp::reference_matmul(a, b, out, 96, lowp::accumulation::exact);
    return out[0];
  };
  EXPECT_EQ(std::bit_cast<std::uint32_t>(product()), 0U);
  x[0] = element(1.75f), x[95] = element(-1.75f), x[40] = element(1.5f);
  EXPECT_EQ(product(), 0x1.8p-127f);
  // Beside a tie of floats, by less than a double's last place.
  std::ranges::fill(x, element(0.0f));
  sx = {scale(1.0f), scale(0x1p-24f), scale(0x1p-60f)};
  x[0] = x[40] = x[70] = element(1.0f);
  EXPECT_EQ(product(), 0x1.000002p0f);
  x[41] = x[42] = element(1.0f), x[70] = element(-1.0f);
  EXPECT_EQ(product(), 0x1.000002p0f);
  x[7] = std::numeric_limits<element>::infinity();
  EXPECT_EQ(product(), std::numeric_limits<float>::infinity());
  x[90] = -std::numeric_limits<element>::infinity();
  EXPECT_TRUE(std::isnan(product()));
  x[7] = x[90] = element(0.0f);
  sx[1] = std::numeric_limits<scale>::quiet_NaN();
  EXPECT_TRUE(std::isnan(product()));
}

// 225/64 - 224/64 - 1/64 times 48 bits: a double does not hold the first product.
TEST(reference_matmul, loses_no_bit_of_a_product) {
  std::vector<float8_e4m3fn> x(32, float8_e4m3fn(0.0f)), y(32, float8_e4m3fn(1.0f));
  std::vector<float8_e4m3fn> sx{float8_e4m3fn(1.875f), float8_e4m3fn(0x1p-6f)};
  std::vector<float8_e4m3fn> const sy(2, float8_e4m3fn(1.0f));
  x[0] = 1.875f, x[20] = -224.0f, x[21] = -1.0f;
  lowp::quantized<float8_e4m3fn const, 16, float8_e4m3fn> const a{x, sx, 0x1.234566p-3f};
  lowp::quantized<float8_e4m3fn const, 16, float8_e4m3fn> const b{y, sy, 0x1.fedcbap2f};
  std::vector<float> out(1, 1.0f);
  lowp::reference_matmul(a, b, out, 32, lowp::accumulation::exact);
  EXPECT_EQ(out[0], 0.0f);
}

TEST(reference_matmul, takes_the_scale_that_lies_elsewhere) {
  std::vector<float8_e4m3fn> const x(32, float8_e4m3fn(1.0f)), s(2, float8_e4m3fn(1.0f));
  float const four = 4;
  lowp::quantized<float8_e4m3fn const, 16, float8_e4m3fn const> const a{x, s, 1, &four}, b{x, s, 2};
  std::vector<float> out(1);
  for (auto const how : {lowp::accumulation::exact, lowp::accumulation::in_float}) {
    lowp::reference_matmul(a, b, out, 32, how);
    EXPECT_EQ(out[0], 32 * 4 * 2);
  }
}

TEST(reference_matmul, reads_packed_codes_and_refuses_by_size) {
  std::mt19937 random(10);
  random_blocks<float4_e2m1fn, 16, float8_e4m3fn> const x(4 * 32, 1, random);
  std::vector<std::uint8_t> bytes(2 * 32);
  lowp::nvfp4 const packed{lowp::packed<float4_e2m1fn>(bytes, 4 * 32), x.tensor.scales};
  lowp::cast(x.codes, packed.codes);
  std::vector<float> want(16), out(16);
  auto const exact = lowp::accumulation::exact;
  lowp::reference_matmul(x.tensor, x.tensor, want, 32, exact);
  lowp::reference_matmul(packed, x.tensor, out, 32, exact);
  EXPECT_EQ(out, want);
  EXPECT_EQ(refusal_of([&] { lowp::reference_matmul(packed, packed, out, 64, exact); }),
            "lowp::reference_matmul: 128 and 128 elements in rows of 64 and blocks of 16 do not "
            "make 16 results");
  EXPECT_EQ(refusal_of([&] { lowp::reference_matmul(packed, packed, out, 0, exact); }),
            "lowp::reference_matmul: 128 and 128 elements in rows of 0 and blocks of 16 do not "
            "make 16 results");
  lowp::nvfp4 few = packed;
  few.scales = few.scales.first(3);
  EXPECT_EQ(refusal_of([&] { lowp::reference_matmul(packed, few, out, 32, exact); }),
            "lowp::reference_matmul: y: 128 elements in blocks of 16 need 8 scales, not 3");
}

TEST(reference_matmul, reads_integers) {
  std::vector<std::int8_t> x(128, -128), y(128, 127);
  std::vector<float> sx(1, 0.5f), sy(1, 2.0f), out(1);
  lowp::float_scaled<std::int8_t> const a{x, sx}, b{y, sy};
  for (auto const how : {lowp::accumulation::exact, lowp::accumulation::in_float}) {
    lowp::reference_matmul(a, b, out, 128, how);
    EXPECT_EQ(out[0], -128.0f * 127 * 128);
  }
}

TEST(scale_tiles, are_those_of_cublas_and_back) {
  for (auto const& [rows, columns] : {std::pair<std::size_t, std::size_t>{1, 1},
                                      {128, 4},
                                      {129, 5},
                                      {300, 11},
                                      {64, 8},
                                      {0, 7}}) {
    std::vector<float8_e4m3fn> scales(rows * columns), back(scales.size());
    for (std::size_t i = 0; i < scales.size(); ++i)
      scales[i] = float8_e4m3fn::from_bits(static_cast<std::uint8_t>(i * 31 % 126 + 1));
    std::vector<float8_e4m3fn> tiles(lowp::scale_tiles_size(rows, columns));
    lowp::to_scale_tiles(scales, rows, columns, tiles);
    std::size_t at = 0;  // in the order of a tile's bytes
    for (std::size_t down = 0; down < rows; down += 128)
      for (std::size_t across = 0; across < columns; across += 4)
        for (std::size_t row = 0; row < 32; ++row)
          for (std::size_t quarter = 0; quarter < 4; ++quarter)
            for (std::size_t column = 0; column < 4; ++column) {
              std::size_t const r = down + 32 * quarter + row, c = across + column;
              unsigned const want = r < rows && c < columns ? scales[r * columns + c].bits() : 0;
              ASSERT_EQ(tiles[at++].bits(), want) << r << ' ' << c;
            }
    EXPECT_EQ(at, tiles.size());
    lowp::from_scale_tiles(tiles, rows, columns, back);
    EXPECT_EQ(back, scales);
  }
  std::vector<float8_e4m3fn> few(8), more(500);
  EXPECT_EQ(refusal_of([&] { lowp::to_scale_tiles(few, 2, 4, more); }),
            "lowp::to_scale_tiles: 2 x 4 scales are 8, and 512 in tiles: in has 8, out has 500");
  EXPECT_EQ(refusal_of([&] { lowp::from_scale_tiles(more, 2, 4, few); }),
            "lowp::from_scale_tiles: 2 x 4 scales are 8, and 512 in tiles: in has 500, out has 8");
  // The product of these is 1 modulo 2^64, and their tiles are 0.
  few.resize(1), more.clear();
  EXPECT_NE(refusal_of([&] { lowp::to_scale_tiles(few, SIZE_MAX, SIZE_MAX, more); }), "");
}

}  // namespace
