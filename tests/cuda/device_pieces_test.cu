// SPDX-License-Identifier: Apache-2.0 On a GPU: softmax, norms, activations, scalings and casts of
// numbers have the bits of the processor, and a census its counts. Without a GPU every test here is
// skipped; the same kernels' text runs in rows_test.cpp, normalization_test.cpp, numbers_test.cpp
// and census_test.cpp.
#include <gtest/gtest.h>
#include <lowp/cuda/lowp.cuh>
#include <lowp/cuda/pb_relax.cuh>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "device_memory.hpp"
#include "ops/cast_numbers.hpp"
#include "support/support.hpp"

namespace {

using namespace lowp_test;

class device_pieces : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_gpu()) GTEST_SKIP() << "SKIPPED: there is no GPU";
  }
};

// A warp takes rows up to 1024, then a block, which keeps all but the last on the chip.
constexpr std::size_t lengths[] = {1, 5, 32, 100, 257, 1024, 1025, 8191, 8192, 8193, 10007, 70001};
constexpr std::size_t rows = 12;

// Numbers of all magnitudes; one row has an infinity, and one a NaN.
template <class T>
std::vector<T> scores(std::size_t columns) {
  std::mt19937 random(static_cast<unsigned>(columns));
  std::vector<float> x(rows * columns);
  for (float& each : x)
    each = std::ldexp(static_cast<float>(random() % 2000) - 999.0F,
                      static_cast<int>(random() % 24) - 20);
  x[2 * columns] = INFINITY;
  x[3 * columns] = NAN;
  std::vector<T> y(x.size());
  lowp::cast(x, y);
  return y;
}

// `run(target)` writes what it makes into a range, here of the processor's memory, there of the
// GPU's.
template <class Out, class Here, class There>
void expect_same_bits(std::size_t size, const Here& here, const There& there, const char* name) {
  std::vector<Out> want(size, Out(1.0F));
  const device_range<Out> got(want);
  here(want);
  there(got);
  const std::vector<Out> read = got.read();
  EXPECT_EQ(std::memcmp(read.data(), want.data(), size * sizeof(Out)), 0) << name;
}

template <class In, class Out>
void expect_same_rows() {
  for (const std::size_t columns : lengths) {
    SCOPED_TRACE(columns);
    const std::vector<In> x = scores<In>(columns);
    const std::vector<In> weight(x.begin() + static_cast<std::ptrdiff_t>(4 * columns),
                                 x.begin() + static_cast<std::ptrdiff_t>(5 * columns));
    std::vector<std::uint8_t> flags(x.size() / 2);
    for (std::size_t i = 0; i < flags.size(); ++i) flags[i] = i % 3 == 0 ? 1 : 0;
    const device_range<In> in(x, columns % 3);
    const device_range<In> weights(weight);
    const device_range<std::uint8_t> masks(flags);
    const auto expect = [&](const char* name, const auto& here, const auto& there) {
      expect_same_bits<Out>(x.size(), here, there, name);
    };
    expect(
        "softmax", [&](auto& out) { lowp::softmax(x, out, columns); },
        [&](const auto& out) { lowp::cuda::softmax(nullptr, in, out, columns); });
    expect(
        "log_softmax", [&](auto& out) { lowp::log_softmax(x, out, columns); },
        [&](const auto& out) { lowp::cuda::log_softmax(nullptr, in, out, columns); });
    expect(
        "pb_relax", [&](auto& out) { lowp::softmax_pb_relax(x, out, columns, 4.0F); },
        [&](const auto& out) { lowp::cuda::softmax_pb_relax(nullptr, in, out, columns, 4.0F); });
    expect(
        "causal",
        [&](auto& out) { lowp::scale_mask_softmax(x, lowp::causal_mask{3}, out, columns, 0.3F); },
        [&](const auto& out) {
          lowp::cuda::scale_mask_softmax(nullptr, in, lowp::causal_mask{3}, out, columns, 0.3F);
        });
    expect(
        "masked",
        [&](auto& out) {
          const lowp::attention_mask<std::uint8_t> mask{flags};
          lowp::scale_mask_softmax(x, mask, out, columns, 0.3F);
        },
        [&](const auto& out) {
          const lowp::attention_mask<std::uint8_t> mask{std::span(masks.data(), masks.size())};
          lowp::cuda::scale_mask_softmax(nullptr, in, mask, out, columns, 0.3F);
        });
    expect(
        "rms_norm", [&](auto& out) { lowp::rms_norm(x, weight, out, columns, 1e-6F); },
        [&](const auto& out) { lowp::cuda::rms_norm(nullptr, in, weights, out, columns, 1e-6F); });
    expect(
        "layer_norm", [&](auto& out) { lowp::layer_norm(x, weight, weight, out, columns, 1e-6F); },
        [&](const auto& out) {
          lowp::cuda::layer_norm(nullptr, in, weights, weights, out, columns, 1e-6F);
        });
    expect(
        "gelu_tanh", [&](auto& out) { lowp::gelu_tanh(x, out); },
        [&](const auto& out) { lowp::cuda::gelu_tanh(nullptr, in, out); });
    expect(
        "scale_by_power_of_two", [&](auto& out) { lowp::scale_by_power_of_two(x, out, -7); },
        [&](const auto& out) { lowp::cuda::scale_by_power_of_two(nullptr, in, out, -7); });
  }
}

TEST_F(device_pieces, of_floats) { expect_same_rows<float, float>(); }
TEST_F(device_pieces, of_float16) { expect_same_rows<lowp::float16, lowp::float16>(); }
TEST_F(device_pieces, from_float_to_bfloat16) { expect_same_rows<float, lowp::bfloat16>(); }

template <class To, class From, class R>
void expect_same_cast(const std::vector<From>& x, const R& rounding) {
  const device_range<From> in(x, x.size() % 3);
  for (const lowp::overflow policy : {lowp::overflow::infinity, lowp::overflow::saturate})
    expect_same_bits<To>(
        x.size(), [&](auto& out) { lowp::cast(x, out, rounding, policy); },
        [&](const auto& out) { lowp::cuda::cast(nullptr, in, out, rounding, policy); }, "cast");
}
template <class To, class From>
void expect_same_casts() {
  const std::vector<From> x = numbers_between<To, From>(std::same_as<To, float> ? 1'000'003 : 7);
  const lowp::stochastic random{.seed = 5, .stream = 6, .offset = 3};
  expect_same_cast<To>(x, lowp::nearest_even{});
  expect_same_cast<To>(x, lowp::upward{});
  expect_same_cast<To>(x, random);
  const device_range<From> in(x);
  const device_object<lowp::stochastic> stored(random);
  expect_same_bits<To>(
      x.size(), [&](auto& out) { lowp::cast(x, out, random); },
      [&](const auto& out) { lowp::cuda::cast(nullptr, in, out, stored.data()); }, "stored");
}

TEST_F(device_pieces, casts_of_doubles) {
  expect_same_casts<float, double>();
  expect_same_casts<lowp::bfloat16, double>();
  expect_same_casts<lowp::float16, double>();
  expect_same_casts<lowp::float8_e4m3fn, double>();
}
TEST_F(device_pieces, casts_of_integers) {
  expect_same_casts<lowp::bfloat16, std::int8_t>();
  expect_same_casts<lowp::float16, std::uint16_t>();
  expect_same_casts<lowp::bfloat16, std::int32_t>();
  expect_same_casts<float, std::uint32_t>();
  expect_same_casts<lowp::float16, std::int64_t>();
  expect_same_casts<float, std::uint64_t>();
}
TEST_F(device_pieces, casts_to_double) {
  std::vector<float> floats;
  std::vector<lowp::bfloat16> codes;
  for (std::uint32_t code = 0; code < 0x10000; ++code) {
    codes.push_back(of_code<lowp::bfloat16>(code));
    floats.push_back(float_of(code << 16 | code * 40503 % 0x10000));
  }
  expect_same_cast<double>(codes, lowp::nearest_even{});
  expect_same_cast<double>(floats, lowp::nearest_even{});
}

TEST_F(device_pieces, census_and_sums) {
  for (const std::size_t columns : lengths) {
    SCOPED_TRACE(columns);
    const std::vector<float> x = scores<float>(columns);
    const device_range<float> in(x, columns % 3);
    const device_object<lowp::census_report<lowp::float8_e4m3fn>> counted;
    lowp::cuda::census(nullptr, in, counted.data());
    const lowp::range_census got = counted.get();
    const lowp::range_census want = lowp::census<lowp::float8_e4m3fn>(x);
    EXPECT_EQ(got.count, want.count);
    EXPECT_EQ(got.nan, want.nan);
    EXPECT_EQ(got.infinite, want.infinite);
    EXPECT_EQ(got.overflow, want.overflow);
    EXPECT_EQ(got.subnormal, want.subnormal);
    EXPECT_EQ(got.flushed, want.flushed);
    EXPECT_EQ(got.max_abs.bits, want.max_abs.bits);
    EXPECT_EQ(got.min_abs.below_infinity, want.min_abs.below_infinity);
    EXPECT_EQ(got.max_relative_error.bits, want.max_relative_error.bits);
    EXPECT_EQ(std::memcmp(&got.exponents, &want.exponents, sizeof want.exponents), 0);
    EXPECT_NEAR(got.squared_error.value(), want.squared_error.value(),
                0x1p-47 * want.squared_error.value());

    const device_object<lowp::sum_report> added;
    lowp::cuda::sum(nullptr, in, added.data());
    lowp::sum_report sum;
    lowp::sum(x, sum);
    EXPECT_EQ(added.get().nan, sum.nan);
  }
}

}  // namespace
