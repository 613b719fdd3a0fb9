// SPDX-License-Identifier: Apache-2.0
// The conversion instructions of a GPU, two values at a time (PTX ISA 9.0, 9.7.9 "cvt").
#pragma once

#include <lowp/format/basic_float.hpp>

#include <cstdint>
#include <type_traits>

namespace lowp::cuda {

struct gpu_conversions {
#if defined(__CUDA_ARCH__)
#define LOWP_ENCODE(type, codes, in, instruction)                                            \
  LOWP_FN static std::uint32_t encode(std::type_identity<type>, float first, float second) { \
    codes pair;                                                                              \
    asm(instruction " %0, %1, %2;" : "=" in(pair) : "f"(second), "f"(first));                \
    return pair;                                                                             \
  }
  LOWP_ENCODE(bfloat16, std::uint32_t, "r", "cvt.rn.bf16x2.f32")
  LOWP_ENCODE(float16, std::uint32_t, "r", "cvt.rn.f16x2.f32")
#if __CUDA_ARCH__ >= 890
  LOWP_ENCODE(float8_e4m3fn, std::uint16_t, "h", "cvt.rn.satfinite.e4m3x2.f32")
  LOWP_ENCODE(float8_e5m2, std::uint16_t, "h", "cvt.rn.satfinite.e5m2x2.f32")
#endif
#undef LOWP_ENCODE

// cvt.rs rounds stochastically with given random bits, but not by the rule of lowp. A program that
// defines LOWP_CUDA_CVT_RS uses it if the target has it. The results are BITS THAT DIFFER from
// those of the processor and of other GPUs. The same seed still gives the same bits there.
#if defined(LOWP_CUDA_CVT_RS) && \
    (defined(__CUDA_ARCH_FEAT_SM100_ALL) || defined(__CUDA_ARCH_FEAT_SM103_ALL))
#define LOWP_ENCODE_STOCHASTIC(type, instruction)                                            \
  LOWP_FN static std::uint32_t encode(std::type_identity<type>, float first, float second,   \
                                      std::uint32_t random) {                                \
    std::uint32_t pair;                                                                      \
    asm(instruction " %0, %1, %2, %3;" : "=r"(pair) : "f"(second), "f"(first), "r"(random)); \
    return pair;                                                                             \
  }
  LOWP_ENCODE_STOCHASTIC(bfloat16, "cvt.rs.bf16x2.f32")
  LOWP_ENCODE_STOCHASTIC(float16, "cvt.rs.f16x2.f32")
#undef LOWP_ENCODE_STOCHASTIC
#endif

  LOWP_FN static void decode(std::type_identity<float16>, std::uint32_t pair, float& first,
                             float& second) {
    widen(static_cast<std::uint16_t>(pair), first);
    widen(static_cast<std::uint16_t>(pair >> 16), second);
  }
  /// Decodes codes as float16 with these high halves.
  LOWP_FN static void decode(std::type_identity<float8_e5m2>, std::uint32_t pair, float& first,
                             float& second) {
    widen(static_cast<std::uint16_t>(pair << 8), first);
    widen(static_cast<std::uint16_t>(pair & 0xff00), second);
  }
#if __CUDA_ARCH__ >= 890
  LOWP_FN static void decode(std::type_identity<float8_e4m3fn>, std::uint32_t pair, float& first,
                             float& second) {
    std::uint32_t halves;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(static_cast<std::uint16_t>(pair)));
    decode(std::type_identity<float16>{}, halves, first, second);
  }
#endif

 private:
  LOWP_FN static void widen(std::uint16_t half, float& x) {
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(half));
  }
#endif
};

}  // namespace lowp::cuda
