// SPDX-License-Identifier: Apache-2.0
// A GPU has the bits of the processor: in its conversion instructions, casts of numbers, CUDA's own
// types, and a user's formats and element functions. Without a GPU every test here is skipped; the
// same kernel's text runs in kernel_test.cpp and numbers_test.cpp.
#include <gtest/gtest.h>
#include <lowp/cuda/interop.cuh>
#include <lowp/cuda/lowp.cuh>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device_memory.hpp"
#include "ops/cast_numbers.hpp"
#include "support/support.hpp"

namespace lowp_test {

// An element function of a user's own; nvcc wants a name for its namespace.
struct difference {
  template <class F>
  LOWP_FN F operator()(F a, F b) const {
    return lowp::lanes::sub(a, b);
  }
};

}  // namespace lowp_test

namespace {

using namespace lowp_test;
using device_convert = on_a_gpu;

// `run(target)` writes what it makes into a range, here of the processor's memory, there of the
// GPU's.
template <class Out, class Here, class There>
void expect_same_bits(std::size_t size, Here const& here, There const& there) {
  std::vector<Out> want(size, Out(1.0f));
  device_range<Out> const got(want);
  here(want);
  there(got);
  EXPECT_TRUE(same_bits(got.read(), want));
}

template <class To, class From, class R>
void expect_same_cast(std::vector<From> const& x, R const& rounding) {
  // Aligned elements are read at full width, others one by one.
  for (lowp::overflow const policy : {lowp::overflow::infinity, lowp::overflow::saturate}) {
    device_range<From> const in(x, policy == lowp::overflow::infinity ? 0 : 1 + x.size() % 2);
    expect_same_bits<To>(
        x.size(), [&](auto& out) { lowp::cast(x, out, rounding, policy); },
        [&](auto const& out) { lowp::cuda::cast(nullptr, in, out, rounding, policy); });
  }
}
template <class To, class From>
void expect_same_casts() {
  std::vector<From> const x = numbers_between<To, From>(std::same_as<To, float> ? 1'000'003 : 7);
  lowp::stochastic const random{.seed = 5, .stream = 6, .offset = 3};
  expect_same_cast<To>(x, lowp::nearest_even{});
  expect_same_cast<To>(x, lowp::upward{});
  expect_same_cast<To>(x, random);
  device_range<From> const in(x);
  device_object<lowp::stochastic> const stored(random);
  expect_same_bits<To>(
      x.size(), [&](auto& out) { lowp::cast(x, out, random); },
      [&](auto const& out) { lowp::cuda::cast(nullptr, in, out, stored.data()); });
}

#if PART == 0

// Low halves around every change of a result, seven of them, so that each comes to every lane.
std::vector<float> floats_in_every_lane() {
  std::vector<float> x;
  for (std::uint32_t high = 0; high < 0x10000; high += high % 128 < 120 ? 5 : 1)
    for (std::uint32_t const low :
         {0U, 1U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU, high * 40503U % 0x10000U})
      x.push_back(float_of(high << 16 | low));
  return x;
}
template <class T>
void expect_same_codes() {
  expect_same_cast<T>(floats_in_every_lane(), lowp::nearest_even{});
  std::vector<T> codes;
  for (std::uint32_t lane = 0; lane < 8; ++lane)
    for (std::uint32_t code = 0; code < code_count<T> + 1; ++code)
      codes.push_back(of_code<T>(code * 40503U % code_count<T>));  // a NaN beside a number
  expect_same_cast<float>(codes, lowp::nearest_even{});
}
TEST_F(device_convert, bfloat16) { expect_same_codes<lowp::bfloat16>(); }
TEST_F(device_convert, float16) { expect_same_codes<lowp::float16>(); }
TEST_F(device_convert, float8_e4m3fn) { expect_same_codes<lowp::float8_e4m3fn>(); }
TEST_F(device_convert, float8_e5m2) { expect_same_codes<lowp::float8_e5m2>(); }

// Random bits are those of an element's index, in a tensor whose first elements lie elsewhere.
TEST_F(device_convert, at_offsets_and_streams_beyond_32_bits) {
  std::vector<float> const x = floats_in_every_lane();
  for (std::uint64_t const offset :
       {std::uint64_t{1} << 32, (std::uint64_t{5} << 40) + 3, ~std::uint64_t{0} - 1000})
    expect_same_cast<lowp::float8_e4m3fn>(
        x, lowp::stochastic{.seed = ~std::uint64_t{7}, .stream = offset + 1, .offset = offset});
  for (std::uint64_t const offset : {std::uint64_t{0}, (std::uint64_t{5} << 40) + 3})
    expect_same_cast<lowp::float8_e4m3fn>(
        x, lowp::stochastic_fast{.seed = ~std::uint64_t{7}, .stream = 9, .offset = offset});
}

// A format of a user's own, and an element function.
TEST_F(device_convert, of_a_user) {
  std::vector<float> const x = floats_in_every_lane();
  std::vector<lowp::bfloat16> y(x.size());
  for (std::size_t i = 0; i < y.size(); ++i)
    y[i] = of_code<lowp::bfloat16>(static_cast<std::uint32_t>(i % 0x10000));
  lowp::stochastic const rounding{.seed = 3, .offset = 1};
  device_range<float> const a(x);
  device_range<lowp::bfloat16> const b(y);
  expect_same_bits<user_e5m4>(
      x.size(), [&](auto& out) { lowp::transform(difference{}, rounding, out, x, y); },
      [&](auto const& out) { lowp::cuda::transform(nullptr, difference{}, rounding, out, a, b); });
}

// Values of CUDA's own types, in a kernel of a user's own.
template <class Native>
__global__ void doubled(Native const* x, Native* y) {
  auto const value = lowp::cuda::from_native(x[threadIdx.x]);
  y[threadIdx.x] = lowp::cuda::to_native(value + value);
}
template <class T>
void expect_doubled() {
  std::vector<T> want;
  for (std::uint32_t i = 0; i < 256; ++i)
    want.push_back(of_code<T>(static_cast<std::uint32_t>(i * (code_count<T> / 256) + i / 2) %
                              static_cast<std::uint32_t>(code_count<T>)));
  device_range<T> const x(want);
  device_range<T> const y(want);
  using native = lowp::cuda::native_type<T>;
  doubled<<<1, 256>>>(reinterpret_cast<native const*>(x.data()),
                      reinterpret_cast<native*>(y.data()));
  for (T& each : want) each = each + each;
  EXPECT_TRUE(same_bits(y.read(), want));
}
TEST_F(device_convert, types_of_cuda) {
  expect_doubled<lowp::float16>();
  expect_doubled<lowp::bfloat16>();
  expect_doubled<lowp::float8_e4m3fn>();
  expect_doubled<lowp::float8_e5m2>();
}

TEST_F(device_convert, numbers_of_64_bits) {
  expect_same_cast<float>(numbers_between<float, double>(1'000'003), lowp::nearest_even{});
  expect_same_cast<lowp::bfloat16>(numbers_between<lowp::bfloat16, std::int64_t>(7),
                                   lowp::nearest_even{});
  expect_same_cast<double>(floats_in_every_lane(), lowp::nearest_even{});
}

#else

TEST_F(device_convert, casts_of_doubles) {
  expect_same_casts<float, double>();
  expect_same_casts<lowp::bfloat16, double>();
  expect_same_casts<lowp::float16, double>();
  expect_same_casts<lowp::float8_e4m3fn, double>();
}
TEST_F(device_convert, casts_of_integers) {
  expect_same_casts<lowp::bfloat16, std::int8_t>();
  expect_same_casts<lowp::float16, std::uint16_t>();
  expect_same_casts<lowp::bfloat16, std::int32_t>();
  expect_same_casts<float, std::uint32_t>();
  expect_same_casts<lowp::float16, std::int64_t>();
  expect_same_casts<float, std::uint64_t>();
}
TEST_F(device_convert, casts_to_double) {
  std::vector<float> floats;
  std::vector<lowp::bfloat16> codes;
  for (std::uint32_t code = 0; code < 0x10000; ++code) {
    codes.push_back(of_code<lowp::bfloat16>(code));
    floats.push_back(float_of(code << 16 | code * 40503 % 0x10000));
  }
  expect_same_cast<double>(codes, lowp::nearest_even{});
  expect_same_cast<double>(floats, lowp::nearest_even{});
}

#endif

}  // namespace
