// SPDX-License-Identifier: Apache-2.0
// The vocabulary of lanes.hpp for bool, integers, float and double. Host code uses the language's
// operations; device code uses instructions that name their rounding.
#pragma once

#include <lowp/base/config.hpp>

namespace lowp {

/// The operations of a lane type; packs have theirs in simd/pack.hpp.
template <class T>
struct lane;

LOWP_EXACT_BEGIN

template <>
struct lane<bool> {
  LOWP_FN static constexpr bool mask_and(bool a, bool b) { return a && b; }
  LOWP_FN static constexpr bool mask_or(bool a, bool b) { return a || b; }
  LOWP_FN static constexpr bool mask_not(bool a) { return !a; }
  LOWP_FN static constexpr bool any(bool a) { return a; }
  LOWP_FN static constexpr std::uint32_t count(bool a) { return a ? 1 : 0; }
};

template <class U>
struct word_lane {
  using scalar = U;
  static constexpr int lanes = 1;
  LOWP_FN static constexpr U at(U x, int) { return x; }
  LOWP_FN static constexpr U broadcast(U x) { return x; }
  LOWP_FN static constexpr bool equal(U a, U b) { return a == b; }
  LOWP_FN static constexpr bool greater(U a, U b) {
    return static_cast<std::make_signed_t<U>>(a) > static_cast<std::make_signed_t<U>>(b);
  }
  LOWP_FN static constexpr U select(bool mask, U yes, U no) { return mask ? yes : no; }
  LOWP_FN static constexpr U max(U a, U b) { return greater(a, b) ? a : b; }
  LOWP_FN static constexpr U min(U a, U b) { return greater(a, b) ? b : a; }
};

template <>
struct lane<std::uint64_t> : word_lane<std::uint64_t> {};

template <>
struct lane<std::uint32_t> : word_lane<std::uint32_t> {
  // A scalar obeys the caller's MXCSR; a GPU's instructions name their rounding.
#if defined(__CUDA_ARCH__)
  static constexpr bool computes_exactly = true;
#else
  static constexpr bool computes_exactly = false;
#endif
  struct halves {
    std::uint32_t high, low;
  };
  LOWP_FN static constexpr halves mul_wide(std::uint32_t a, std::uint32_t b) {
#if defined(__CUDA_ARCH__)
    if (!__builtin_is_constant_evaluated()) return {__umulhi(a, b), a * b};
#endif
    std::uint64_t const whole = std::uint64_t{a} * b;
    return {static_cast<std::uint32_t>(whole >> 32), static_cast<std::uint32_t>(whole)};
  }
  LOWP_FN static constexpr std::uint32_t xor3(std::uint32_t a, std::uint32_t b, std::uint32_t key) {
    return a ^ b ^ key;
  }
#if defined(__CUDA_ARCH__)
  LOWP_FN static std::uint32_t hidden(std::uint32_t a) {
    asm("mov.b32 %0, %1;" : "=r"(a) : "r"(a));
    return a;
  }
  /// Returns a byte of every other word, beginning with word i.
  template <std::uint32_t Byte>
  LOWP_FN static std::uint32_t gathered(std::uint32_t const (&x)[8], int i) {
    constexpr std::uint32_t two = 0x40 + 0x11 * Byte;
    return __byte_perm(__byte_perm(x[i], x[i + 2], two), __byte_perm(x[i + 4], x[i + 6], two),
                       0x5410);
  }
  /// Returns 256 times half word 0 or 1 of x.
  LOWP_FN static std::uint32_t half_times_256(std::uint32_t x, int half) {
    return __byte_perm(x, 0, half == 0 ? 0x4104 : 0x4324);
  }
  /// Returns the high byte of every other half word, beginning with half word i.
  LOWP_FN static std::uint32_t high_bytes(std::uint32_t const (&x)[4], int i) {
    return __byte_perm(__byte_perm(x[0], x[1], 0x7351), __byte_perm(x[2], x[3], 0x7351),
                       i == 0 ? 0x5410 : 0x7632);
  }
#endif
  LOWP_FN static constexpr float to_real(std::uint32_t a) { return static_cast<float>(a); }
  LOWP_FN static std::uint32_t lookup(std::uint32_t const* table, std::uint32_t index) {
    return table[index];
  }
};

template <>
struct lane<float> {
  using scalar = float;
  using word = std::uint32_t;
  using mask = bool;
  using wide = double;
  LOWP_FN static constexpr float broadcast(float x) { return x; }
  LOWP_FN static constexpr float select(bool mask, float yes, float no) { return mask ? yes : no; }
  LOWP_FN static constexpr word bits(float x) { return __builtin_bit_cast(word, x); }
  LOWP_FN static constexpr float from_bits(word b) { return __builtin_bit_cast(float, b); }
#if defined(__CUDA_ARCH__)
// --use_fast_math makes even __fmul_rn flush subnormals; PTX with explicit rounding does not.
#define LOWP_PTX(Result, name, Argument, instruction, to, from) \
  LOWP_FN static Result name(Argument a) {                      \
    Result r;                                                   \
    asm(instruction " %0, %1;" : "=" to(r) : from(a));          \
    return r;                                                   \
  }
#define LOWP_PTX_OF_TWO(name, instruction)                      \
  LOWP_FN static float name(float a, float b) {                 \
    float r;                                                    \
    asm(instruction " %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); \
    return r;                                                   \
  }
  LOWP_PTX_OF_TWO(add, "add.rn.f32")
  LOWP_PTX_OF_TWO(sub, "sub.rn.f32")
  LOWP_PTX_OF_TWO(mul, "mul.rn.f32")
  LOWP_PTX_OF_TWO(div, "div.rn.f32")
  LOWP_PTX_OF_TWO(add_toward_zero, "add.rz.f32")
  LOWP_PTX_OF_TWO(maximum_number, "max.f32")
#if __CUDA_ARCH__ >= 800
  LOWP_PTX_OF_TWO(smaller_or_nan, "min.NaN.f32")
  LOWP_PTX_OF_TWO(larger_or_nan, "max.NaN.f32")
#endif
  LOWP_PTX(float, sqrt, float, "sqrt.rn.f32", "f", "f")
  LOWP_PTX(float, inverse, float, "rcp.rn.f32", "f", "f")
  LOWP_PTX(float, absolute, float, "abs.f32", "f", "f")
  LOWP_PTX(word, to_word, float, "cvt.rzi.u32.f32", "r", "f")
  LOWP_PTX(word, floor_to_word, float, "cvt.rmi.s32.f32", "r", "f")
  LOWP_PTX(double, widen, float, "cvt.f64.f32", "d", "f")
  LOWP_PTX(float, narrowed, double, "cvt.rn.f32.f64", "f", "d")
#undef LOWP_PTX_OF_TWO
#define LOWP_PTX_OF_THREE(name, instruction)                                \
  LOWP_FN static float name(float a, float b, float c) {                    \
    float r;                                                                \
    asm(instruction " %0, %1, %2, %3;" : "=f"(r) : "f"(a), "f"(b), "f"(c)); \
    return r;                                                               \
  }
  LOWP_PTX_OF_THREE(fma, "fma.rn.f32")
  LOWP_PTX_OF_THREE(fma_toward_zero, "fma.rz.f32")
#undef LOWP_PTX_OF_THREE
#else
  LOWP_FN static word to_word(float x) { return static_cast<word>(static_cast<std::int32_t>(x)); }
  LOWP_FN static word floor_to_word(float x) {
    return static_cast<word>(static_cast<std::int32_t>(__builtin_floorf(x)));
  }
  LOWP_FN static double widen(float x) { return static_cast<double>(x); }
  LOWP_FN static float narrowed(double x) { return static_cast<float>(x); }
  LOWP_FN static float add(float a, float b) { return a + b; }
  LOWP_FN static float sub(float a, float b) { return a - b; }
  LOWP_FN static float mul(float a, float b) { return a * b; }
  LOWP_FN static float div(float a, float b) { return a / b; }
  LOWP_FN static float inverse(float a) { return 1 / a; }
  LOWP_FN static float sqrt(float a) { return __builtin_sqrtf(a); }
  LOWP_FN static float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#endif
};

template <>
struct lane<double> {
  using scalar = double;
  using word = std::uint64_t;
  static constexpr int lanes = 1;
  LOWP_FN static constexpr word bits(double x) { return __builtin_bit_cast(word, x); }
  LOWP_FN static constexpr double from_bits(word b) { return __builtin_bit_cast(double, b); }
  LOWP_FN static double at(double x, int) { return x; }
  LOWP_FN static constexpr double broadcast(double x) { return x; }
#if defined(__CUDA_ARCH__)  // never contracted
  LOWP_FN static double add(double a, double b) { return __dadd_rn(a, b); }
  LOWP_FN static double sub(double a, double b) { return __dsub_rn(a, b); }
  LOWP_FN static double mul(double a, double b) { return __dmul_rn(a, b); }
  LOWP_FN static double add_product(double sum, double a, double b) { return __fma_rn(a, b, sum); }
  LOWP_PTX(double, sqrt, double, "sqrt.rn.f64", "d", "d")
#undef LOWP_PTX
#else
  LOWP_FN static double add(double a, double b) { return a + b; }
  LOWP_FN static double sub(double a, double b) { return a - b; }
  LOWP_FN static double mul(double a, double b) { return a * b; }
  LOWP_FN static double add_product(double sum, double a, double b) { return sum + a * b; }
  LOWP_FN static double sqrt(double a) { return __builtin_sqrt(a); }
#endif
};

LOWP_EXACT_END

}  // namespace lowp
