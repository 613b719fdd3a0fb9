// SPDX-License-Identifier: Apache-2.0
// The GPU's kernel without a GPU: casts of double and of integers, and casts to double, with the
// bits of convert.
#include <gtest/gtest.h>
#include <lowp/cuda/replay.hpp>
#include <lowp/lowp.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "ops/cast_numbers.hpp"
#include "simulated_grid.hpp"

namespace {

using namespace lowp_test;
using lowp::bfloat16;
using lowp::float16;
using lowp::float8_e4m3fn;

constexpr lowp::stochastic random_mode{.seed = 5, .stream = 6, .offset = 3};

template <class T>
bool same_bits(std::span<T const> a, std::span<T const> b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

template <class Grid, class In, class Out, class R>
void run(Grid& grid, In const& in, Out&& out, R const& rounding, lowp::overflow policy) {
  lowp::cuda::on_grid<Grid> const there{grid};
  ASSERT_EQ(refusal_of<lowp::detail::cast_operation>(there, in, out, rounding, policy), "");
}

template <class To, class From, class R>
void expect_cast(std::vector<From> const& in, R const& rounding) {
  for (named_policy const& policy : policies) {
    std::vector<To> const want = converted<To>(in, rounding, policy.overflow);
    std::vector<To> got(in.size());
    simulated_grid grid(4);
    run(grid, in, got, rounding, policy.overflow);
    for (std::size_t i = 0; i < in.size(); ++i)
      ASSERT_TRUE(same_bits<To>({&got[i], 1}, {&want[i], 1}))
          << in[i] << ' ' << policy.name << ' ' << float(got[i]) << ' ' << float(want[i]);
    if constexpr (R::is_stochastic && std::same_as<From, double>) {  // from device memory
      run(grid, in, got, lowp::cuda::stored_rounding{&rounding}, policy.overflow);
      ASSERT_TRUE(same_bits<To>(got, want)) << policy.name;
    }
  }
}

template <class To, class From>
void expect_casts(std::uint32_t step) {
  std::vector<From> const in = numbers_between<To, From>(step);
  expect_cast<To>(in, lowp::nearest_even{});
  expect_cast<To>(in, random_mode);
  if constexpr (std::same_as<To, float> && sizeof(From) > 2)
    expect_cast<To>(in, lowp::upward{});  // to a narrow format every mode reads alike
  if constexpr (std::same_as<From, double> && sizeof(To) == 4) {
    expect_cast<To>(in, lowp::nearest_away{});
    expect_cast<To>(in, lowp::toward_zero{});
    expect_cast<To>(in, lowp::downward{});
    expect_cast<To>(in, lowp::to_odd{});
  }
}

template <class From>
class cuda_numbers : public testing::Test {};
#ifdef LOWP_TEST_SOME  // integers that a float holds, or a double, or neither
using numbers = testing::Types<double, std::int8_t, std::uint32_t, std::int64_t, std::uint64_t>;
#else
using numbers = testing::Types<double, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                               std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
#endif
TYPED_TEST_SUITE(cuda_numbers, numbers);

TYPED_TEST(cuda_numbers, have_the_bits_of_convert) {
  using From = TypeParam;
  expect_casts<bfloat16, From>(7);
  expect_casts<float, From>(1'000'003);
  // Each integer has one wide format and, if 64 bits, one of 8 bits.
  if constexpr (std::same_as<From, double>) expect_casts<float16, From>(7);
  if constexpr (sizeof(From) == 8) expect_casts<float8_e4m3fn, From>(1);
}

TEST(cuda_doubles, every_draw) {
  for (double const x : {1 + 0x1p-11 + 0x1p-40, 0x1.fffp-16, 65519.999, 0x1p-24 * 0.7, -3.14159}) {
    for (std::uint32_t r = 0; r < 0x10000; ++r) {
      auto const bits = static_cast<std::uint16_t>(r);
      float const got = lowp::cuda::read_number<double>(
          lowp::lanes::bits(x), lowp::detail::stochastic_when_read<float16>{lowp::stochastic{0}},
          bits, lowp::overflow::infinity);
      float16 const want = lowp::convert<float16>(x, lowp::stochastic_bits{bits});
      ASSERT_EQ(float16(got).bits(), want.bits()) << x << ' ' << r;
    }
  }
}

template <class From>
void expect_widening(std::vector<From> const& in) {
  std::vector<double> want(in.size());
  std::vector<double> got(in.size());
  lowp::cast(in, want);
  simulated_grid grid(4);
  run(grid, in, got, lowp::nearest_even{}, lowp::overflow::infinity);
  EXPECT_TRUE(same_bits<double>(got, want));
}

TEST(cuda_to_double, is_exact) {
  std::vector<bfloat16> wide;
  std::vector<float16> half;
  std::vector<float> floats;
  for (std::uint32_t code = 0; code < 0x10000; ++code) {
    wide.push_back(of_code<bfloat16>(code));
    half.push_back(of_code<float16>(code));
    floats.push_back(float_of(code << 16 | code * 40503 % 0x10000));
  }
  expect_widening(wide);
  expect_widening(half);
  expect_widening(floats);
}

// Around the ends of groups and tiles, at every alignment: nothing else is written.
template <class From, class To>
void expect_tiles() {
  std::vector<From> const in = numbers_between<To, From>(500);
  To const canary{};
  for (unsigned const threads : {1U, 4U}) {
    for (std::size_t size = 0; size < 150; size += size < 70 ? 1 : 13) {
      for (std::size_t const lead : {0U, 1U, 2U, 3U}) {
        std::span const from = std::span(in).subspan(lead, size);
        std::vector<To> want(size);
        std::vector<To> got(size + lead + 1, canary);
        lowp::cast(from, want, random_mode);
        simulated_grid grid(threads, 2);
        run(grid, from, std::span(got).subspan(lead, size), random_mode,
            lowp::default_overflow<To>);
        ASSERT_TRUE(same_bits<To>(std::span(got).subspan(lead, size), want)) << size << ' ' << lead;
        ASSERT_TRUE(same_bits<To>({&got[size + lead], 1}, {&canary, 1}));
      }
    }
  }
}

TEST(cuda_numbers_in_tiles, of_every_length) {
  expect_tiles<double, bfloat16>();
  expect_tiles<double, float>();
  expect_tiles<std::int64_t, float16>();
  expect_tiles<std::int32_t, float8_e4m3fn>();
  expect_tiles<std::uint16_t, bfloat16>();
  expect_tiles<std::int8_t, float16>();
}

TEST(cuda_numbers_in_tiles, move_every_byte_once) {
  std::vector<double> const in(64, 1.5);
  std::vector<bfloat16> out(64);
  simulated_grid grid(8);
  run(grid, in, out, lowp::nearest_even{}, lowp::overflow::infinity);
  EXPECT_EQ(grid.bytes_read, 64 * sizeof(double));
  EXPECT_EQ(grid.bytes_written, 64 * sizeof(bfloat16));
}

TEST(cuda_numbers_in_tiles, refuse_what_lies_elsewhere) {
  std::vector<double> const in(8, 1.5);
  std::vector<float16> out(8);
  lowp::stochastic const mode{1};
  simulated_grid grid(1);
  grid.out_of_reach = &mode;
  run(grid, in, out, lowp::cuda::stored_rounding{&mode}, lowp::overflow::infinity);
  EXPECT_EQ(grid.refused, "an argument in device memory is far away");
}

}  // namespace
