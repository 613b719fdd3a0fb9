// SPDX-License-Identifier: Apache-2.0
// The backend for every machine: four lanes, in any instructions that the compiler chooses.
#pragma once

#include <lowp/simd/isa/backend.hpp>

LOWP_EXACT_BEGIN

namespace lowp::simd::inline LOWP_UNIT {

struct portable : vector_masks<portable> {
  static constexpr char name[] = "portable";
  using registers = portable;
  static constexpr int lanes = 4;
#if defined(__x86_64__)
  static constexpr bool is_lean = true;
#endif
  static bool available() { return true; }

  template <class Kernel>
  LOWP_OPAQUE static void enter(Kernel const& kernel) {
    kernel.template body<portable>();
  }

  LOWP_HOST_FN static bool any(integer<portable> const& m) {
    std::uint64_t halves[2];
    __builtin_memcpy(halves, &m.v, sizeof(halves));
    return (halves[0] | halves[1]) != 0;
  }
  LOWP_HOST_FN static std::uint32_t count(integer<portable> const& m) {
    return static_cast<std::uint32_t>(-(m.v[0] + m.v[1] + m.v[2] + m.v[3]));
  }
  /// Sets power to 2^n, or to 0 if n is 31 or more, through a float: SSE2 shifts all lanes alike.
  LOWP_HOST_FN static void power_of_two(word<portable>& power, word<portable> const& n) {
    using integers = integer<portable>::vector;
    using U = word<portable>::vector;
    typedef float reals __attribute__((vector_size(16)));
    U const exponent = (n.v + 127) & U(integers(n.v) < 31);
    power.v = U(__builtin_convertvector(reals(exponent << 23), integers));
  }
  template <class To, class From>
  LOWP_HOST_FN static void convert(To& to, From const& from) {
    to = __builtin_convertvector(from, To);
  }
  template <class V>
  LOWP_HOST_FN static void join(V& halves, word<portable> const& low, word<portable> const& high) {
    auto* const to = reinterpret_cast<std::uint16_t*>(&halves);
    low.store(to);
    high.store(to + lanes);
  }
  using vector_masks<portable>::widen;
  template <class V, class F>
  LOWP_HOST_FN static void widen(V& low, V& high, F const& x) {
    low = V{static_cast<double>(x.v[0]), static_cast<double>(x.v[1])};
    high = V{static_cast<double>(x.v[2]), static_cast<double>(x.v[3])};
  }
  template <class F, class V>
  LOWP_HOST_FN static void narrow(F& x, V const& low, V const& high) {
    typedef float half __attribute__((vector_size(8)));
    half const l = __builtin_convertvector(low, half), h = __builtin_convertvector(high, half);
    x.v = typename F::vector{l[0], l[1], h[0], h[1]};
  }
  template <class V>
  LOWP_HOST_FN static void add_product(V& result, V const& sum, V const& a, V const& b) {
    result = sum + a * b;
  }
  template <class V>
  LOWP_HOST_FN static void mul_wide(V& low, V& high, V const& a, V const& b) {
    V whole;
#if defined(__AVX__)
    asm("vpmuludq %2, %1, %0" : "=x"(whole) : "x"(a), "x"(b));
#elif defined(__SSE2__)
    whole = a;
    asm("pmuludq %1, %0" : "+x"(whole) : "x"(b));
#else
    whole = (a & 0xffffffff) * (b & 0xffffffff);
#endif
    low = whole;
    high = whole >> 32;
  }

  template <class V>
  LOWP_HOST_FN static void numbers(V& even, V& odd, V const (&word)[4]) {
    constexpr std::uint64_t half = 0xffff;
    V const low =
        (word[0] & half) | (word[1] & half) << 16 | (word[2] & half) << 32 | word[3] << 48;
    V const high = (word[0] >> 16 & half) | (word[1] & half << 16) | (word[2] & half << 16) << 16 |
                   (word[3] & half << 16) << 32;
    even = V{low[0], high[0]};
    odd = V{low[1], high[1]};
  }

  // Under -ffast-math, an operator or a builtin may become a reciprocal estimate.
  template <class F>
  LOWP_HOST_FN static F div(F const& a, F const& b) {
    F quotient;
#if defined(__AVX__)
    asm("vdivps %2, %1, %0" : "=x"(quotient.v) : "x"(a.v), "x"(b.v));
#elif defined(__SSE__)
    quotient = a;
    asm("divps %1, %0" : "+x"(quotient.v) : "x"(b.v));
#else
    quotient.v = a.v / b.v;
#endif
    return quotient;
  }
  template <class F>
  LOWP_HOST_FN static F sqrt(F const& a) {
    F root;
#if defined(__AVX__)
    asm("vsqrtps %1, %0" : "=x"(root.v) : "x"(a.v));
#elif defined(__SSE__)
    asm("sqrtps %1, %0" : "=x"(root.v) : "x"(a.v));
#else
    for (int i = 0; i < lanes; ++i) root.v[i] = __builtin_sqrtf(a.v[i]);
#endif
    return root;
  }

  template <class F>
  LOWP_HOST_FN static F fma(F const& a, F const& b, F const& c) {
    F result = a;
    rounded_once(result.v, b.v, c.v);
    return result;
  }

 private:
  /// Sets a to a * b + c, rounded once. The product is exact in double. An inexact sum is made
  /// odd. The second rounding, to float, then rounds as the first would have (S. Boldo, G.
  /// Melquiond, IEEE TC 57, 2008). A call: a kernel compiles faster than with many copies.
  template <class V>
  LOWP_OPAQUE static void rounded_once(V& a, V const& b, V const& c) {
    using reals = vector_of<double, lanes>::type;
    using integers = vector_of<std::int64_t, lanes>::type;
    reals const product = __builtin_convertvector(a, reals) * __builtin_convertvector(b, reals);
    reals const addend = __builtin_convertvector(c, reals);
    reals const sum = product + addend;
    reals const part = sum - product;  // two-sum: D. Knuth, TAOCP 2, 4.2.2
    reals const error = (product - (sum - part)) + (addend - part);

    auto const bits = integers(sum);
    auto const inexact = integers((error < 0) | (error > 0));  // false for NaN
    integers const even = (bits & 1) - 1;
    integers const toward_exact = ((integers(error) ^ bits) >> 63) | 1;
    auto const odd = reals(bits + (toward_exact & inexact & even));
    a = __builtin_convertvector(odd, V);
  }
};

}  // namespace lowp::simd::inline LOWP_UNIT

LOWP_EXACT_END
