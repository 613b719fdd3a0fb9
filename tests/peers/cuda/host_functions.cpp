// SPDX-License-Identifier: Apache-2.0
// Compares the presets `cuda` and `cuda_nosat` with the conversions of CUDA's headers on the host:
// fp8, fp6, fp4, bfloat16, float16 and e8m0, in every saturation mode and rounding of a header.
//
//   host_functions        floats around every rounding boundary, and six in every stretch of 2^12
//   host_functions all    all 2^32 floats
//
// Known disagreements are about float8_e8m0fnu alone. Each is asserted where it lies:
// - CUDA ignores the sign; the library makes negative values NaN.
// - CUDA makes zero 2^-127; the library NaN.
// - CUDA without saturation makes overflow NaN; no preset of the library does.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>
#include <cuda_runtime_api.h>
#include <lowp/cast.hpp>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

namespace {

std::atomic<long> differences = 0;
std::atomic<long> compared = 0;

using lowp::overflow;
template <class T>
std::uint32_t ours(float x, auto mode, overflow policy) {
  return lowp::convert<T>(x, mode, policy).bits();
}

struct conversion {
  char const* name;
  std::uint32_t (*ours)(float);
  std::uint32_t (*theirs)(float);
};

template <class T, overflow Policy, class R = lowp::nearest_even>
std::uint32_t preset(float x) {
  return ours<T>(x, R{}, Policy);
}

template <__nv_fp8_interpretation_t Kind, __nv_saturation_t Saturation>
std::uint32_t fp8(float x) {
  return __nv_cvt_float_to_fp8(x, Saturation, Kind);
}
template <__nv_fp6_interpretation_t Kind>
std::uint32_t fp6(float x) {
  return __nv_cvt_float_to_fp6(x, Kind, cudaRoundNearest);
}
std::uint32_t fp4(float x) { return __nv_cvt_float_to_fp4(x, __NV_E2M1, cudaRoundNearest); }
template <auto Convert>
std::uint32_t bits16(float x) {
  return std::bit_cast<std::uint16_t>(Convert(x));
}

// The library's answer, less the known disagreements.
template <class R, bool Saturates>
std::uint32_t e8m0(float x) {
  using lowp::float8_e8m0fnu;
  if (x <= 0 && ours<float8_e8m0fnu>(x, R{}, overflow::cuda) != 0xff) return 0x100;  // A4b
  float const size = std::fabs(x);
  if (size == 0) return 0;
  bool const overflows = std::same_as<R, lowp::upward> ? size > 0x1p127f : std::isinf(size);
  return overflows && !Saturates ? 0xff : ours<float8_e8m0fnu>(size, R{}, overflow::cuda);
}
template <cudaRoundMode Mode, __nv_saturation_t Saturation>
std::uint32_t cuda_e8m0(float x) {
  return __nv_cvt_float_to_e8m0(x, Saturation, Mode);
}

using namespace lowp;
constexpr auto sat = overflow::cuda;
constexpr auto nosat = overflow::cuda_nosat;
conversion const conversions[]{
    {"e4m3 saturating", preset<float8_e4m3fn, sat>, fp8<__NV_E4M3, __NV_SATFINITE>},
    {"e4m3 not saturating", preset<float8_e4m3fn, nosat>, fp8<__NV_E4M3, __NV_NOSAT>},
    {"e5m2 saturating", preset<float8_e5m2, sat>, fp8<__NV_E5M2, __NV_SATFINITE>},
    {"e5m2 not saturating", preset<float8_e5m2, nosat>, fp8<__NV_E5M2, __NV_NOSAT>},
    {"e2m3", preset<float6_e2m3fn, sat>, fp6<__NV_E2M3>},
    {"e3m2", preset<float6_e3m2fn, sat>, fp6<__NV_E3M2>},
    {"e2m1", preset<float4_e2m1fn, sat>, fp4},
    {"bfloat16", preset<bfloat16, sat>, bits16<__float2bfloat16_rn>},
    {"bfloat16 toward zero", preset<bfloat16, sat, toward_zero>, bits16<__float2bfloat16_rz>},
    {"bfloat16 up", preset<bfloat16, sat, upward>, bits16<__float2bfloat16_ru>},
    {"bfloat16 down", preset<bfloat16, sat, downward>, bits16<__float2bfloat16_rd>},
    {"float16", preset<float16, sat>, bits16<__float2half_rn>},
    {"float16 toward zero", preset<float16, sat, toward_zero>, bits16<__float2half_rz>},
    {"float16 up", preset<float16, sat, upward>, bits16<__float2half_ru>},
    {"float16 down", preset<float16, sat, downward>, bits16<__float2half_rd>},
    {"e8m0 up", e8m0<upward, true>, cuda_e8m0<cudaRoundPosInf, __NV_SATFINITE>},
    {"e8m0 up, not saturating", e8m0<upward, false>, cuda_e8m0<cudaRoundPosInf, __NV_NOSAT>},
    {"e8m0 toward zero", e8m0<toward_zero, true>, cuda_e8m0<cudaRoundZero, __NV_SATFINITE>},
    {"e8m0 toward zero, not saturating", e8m0<toward_zero, false>,
     cuda_e8m0<cudaRoundZero, __NV_NOSAT>}};

void compare(std::uint32_t bits) {
  float const x = std::bit_cast<float>(bits);
  for (conversion const& c : conversions) {
    std::uint32_t const got = c.ours(x);
    std::uint32_t const want = c.theirs(x);
    if (got == want) continue;
    if (++differences < 30)
      std::printf("%s of %08x (%a): lowp has %x, CUDA %x\n", c.name, bits, static_cast<double>(x),
                  got, want);
  }
  compared += static_cast<long>(std::size(conversions));
}

// Values and midpoints of T, with two floats to either side.
template <class T>
void compare_boundaries() {
  for (std::uint32_t code = 0; code < T::descriptor.max_code() + 2; ++code) {
    auto const value = [](std::uint32_t c) {
      return static_cast<double>(
          static_cast<float>(T::from_bits(static_cast<typename T::storage>(c))));
    };
    double const middle = (value(code) + value(code + 1)) / 2;
    for (double const x : {value(code), middle})
      for (std::uint32_t d = 0; d < 5; ++d) {
        std::uint32_t const bits = std::bit_cast<std::uint32_t>(static_cast<float>(x)) + d - 2;
        compare(bits);
        compare(bits ^ 0x80000000U);
      }
  }
}

void compare_all() {
  std::vector<std::thread> threads;
  unsigned const count = std::max(1U, std::thread::hardware_concurrency());
  for (unsigned t = 0; t < count; ++t)
    threads.emplace_back([=] {
      for (std::uint64_t bits = t; bits < std::uint64_t{1} << 32; bits += count)
        compare(static_cast<std::uint32_t>(bits));
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1 && std::strcmp(arguments[1], "all") == 0) {
    compare_all();
  } else {
    for (std::uint32_t high = 0; high < 1U << 20; ++high)
      for (std::uint32_t const low : {0x000U, 0x001U, 0x7ffU, 0x800U, 0x801U, 0xfffU})
        compare(high << 12 | low);
    compare_boundaries<bfloat16>();
    compare_boundaries<float16>();
    compare_boundaries<float8_e5m2>();
    compare_boundaries<float8_e4m3fn>();
    compare_boundaries<float6_e2m3fn>();
    compare_boundaries<float6_e3m2fn>();
    compare_boundaries<float4_e2m1fn>();
    compare_boundaries<float8_e8m0fnu>();
  }
  std::printf("SUMMARY: %ld conversions beside CUDA's headers of %d.%d: %ld differ\n",
              compared.load(), CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10,
              differences.load());
  return differences != 0;
}
