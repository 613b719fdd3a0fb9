// SPDX-License-Identifier: Apache-2.0
// Advanced SIMD of AArch64: four lanes.
#pragma once

#include <lowp/format/basic_float.hpp>
#include <lowp/format/encode_in_range.hpp>
#include <lowp/simd/isa/backend.hpp>

LOWP_EXACT_BEGIN

namespace lowp::simd::inline LOWP_UNIT {

// Every AArch64 has these instructions: no function needs a target. They are in assembly if an
// operator or a builtin could become other ones (Arm Architecture Reference Manual, C7.2).
struct neon : vector_masks<neon> {
  static constexpr char name[] = "neon";
  using registers = neon;
  static constexpr int lanes = 4;
  static bool available() { return true; }

  template <class Kernel>
  __attribute__((flatten)) LOWP_OPAQUE static void enter(Kernel const& kernel) {
    kernel.template body<neon>();
  }

  using words = word<neon>;
  using mask_words = integer<neon>;
  using reals = pack<float, neon>;

// a op b, through a local: see x86.inc.
#define LOWP_INSTRUCTION(name, Result, Operand, instruction)                \
  LOWP_HOST_FN static Result name(Operand const& a, Operand const& b) {     \
    Result::vector r;                                                       \
    asm(instruction " %0.4s, %1.4s, %2.4s" : "=w"(r) : "w"(a.v), "w"(b.v)); \
    return Result::of(r);                                                   \
  }
  LOWP_INSTRUCTION(max, words, words, "smax")
  LOWP_INSTRUCTION(min, words, words, "smin")

  LOWP_HOST_FN static bool any(mask_words const& m) {
    std::uint32_t largest;
    asm("umaxv %s0, %1.4s" : "=w"(largest) : "w"(m.v));
    return largest != 0;
  }
  LOWP_HOST_FN static std::uint32_t count(mask_words const& m) {
    std::uint32_t sum;
    asm("addv %s0, %1.4s" : "=w"(sum) : "w"(m.v));
    return 0 - sum;
  }

  template <class To, class From>
  LOWP_HOST_FN static void convert(To& to, From const& from) {
    constexpr auto to_size = sizeof(To) / lanes, from_size = sizeof(From) / lanes;
    To r;
    if constexpr (from_size == 1 && to_size == 4) {
      std::uint32_t four;
      __builtin_memcpy(&four, &from, sizeof(four));
      asm("ushll %0.8h, %1.8b, #0\n\tushll %0.4s, %0.4h, #0" : "=w"(r) : "w"(four));
    } else if constexpr (from_size == 2 && to_size == 4) {
      asm("ushll %0.4s, %1.4h, #0" : "=w"(r) : "w"(from));
    } else if constexpr (from_size == 4 && to_size == 2) {
      asm("xtn %0.4h, %1.4s" : "=w"(r) : "w"(from));
    } else if constexpr (from_size == 4 && to_size == 1) {
      std::uint32_t four;
      asm("xtn %0.4h, %1.4s\n\txtn %0.8b, %0.8h" : "=&w"(four) : "w"(from));
      __builtin_memcpy(&r, &four, sizeof(r));
    } else {
      r = __builtin_convertvector(from, To);
    }
    to = r;
  }

  LOWP_INSTRUCTION(div, reals, reals, "fdiv")
  LOWP_HOST_FN static reals sqrt(reals const& a) {
    reals::vector r;
    asm("fsqrt %0.4s, %1.4s" : "=w"(r) : "w"(a.v));
    return reals::of(r);
  }
  LOWP_HOST_FN static reals fma(reals const& a, reals const& b, reals const& c) {
    reals::vector sum = c.v;
    asm("fmla %0.4s, %1.4s, %2.4s" : "+w"(sum) : "w"(a.v), "w"(b.v));
    return reals::of(sum);
  }
  /// Returns the larger of two, or b if one is NaN. FMAXNM would quiet a signaling NaN instead.
  LOWP_HOST_FN static reals maximum_number(reals const& a, reals const& b) {
    return lowp::lanes::select(greater(a, b), a, b);
  }
  LOWP_HOST_FN static reals smaller_or_nan(reals const& x, reals const& number) {
    return lowp::lanes::select(greater(x, number), number, x);
  }
  using vector_masks<neon>::greater;
  LOWP_INSTRUCTION(greater, mask_words, reals, "fcmgt")
#undef LOWP_INSTRUCTION

  using vector_masks<neon>::widen;
  template <class V>
  LOWP_HOST_FN static void widen(V& low, V& high, reals const& x) {
    V l, h;
    asm("fcvtl %0.2d, %1.2s" : "=w"(l) : "w"(x.v));
    asm("fcvtl2 %0.2d, %1.4s" : "=w"(h) : "w"(x.v));
    low = l;
    high = h;
  }
  template <class V>
  LOWP_HOST_FN static void narrow(reals& x, V const& low, V const& high) {
    reals::vector r;
    asm("fcvtn %0.2s, %1.2d\n\tfcvtn2 %0.4s, %2.2d" : "=&w"(r) : "w"(low), "w"(high));
    x.v = r;
  }
  template <class V>
  LOWP_HOST_FN static void add_product(V& result, V const& sum, V const& a, V const& b) {
    V r = sum;
    asm("fmla %0.2d, %1.2d, %2.2d" : "+w"(r) : "w"(a), "w"(b));
    result = r;
  }

  template <class V>
  LOWP_HOST_FN static void mul_wide(V& low, V& high, V const& a, V const& b) {
    typedef std::uint32_t two __attribute__((vector_size(8)));
    two x, y;
    asm("xtn %0.2s, %1.2d" : "=w"(x) : "w"(a));
    asm("xtn %0.2s, %1.2d" : "=w"(y) : "w"(b));
    V whole;
    asm("umull %0.2d, %1.2s, %2.2s" : "=w"(whole) : "w"(x), "w"(y));
    low = whole;
    high = whole >> 32;
  }
  template <class V>
  LOWP_HOST_FN static void numbers(V& even, V& odd, V const (&word)[4]) {
    V first, second, low, high, e, o;
    asm("trn1 %0.4s, %1.4s, %2.4s" : "=w"(first) : "w"(word[0]), "w"(word[1]));
    asm("trn1 %0.4s, %1.4s, %2.4s" : "=w"(second) : "w"(word[2]), "w"(word[3]));
    asm("uzp1 %0.8h, %1.8h, %2.8h" : "=w"(low) : "w"(first), "w"(second));
    asm("uzp2 %0.8h, %1.8h, %2.8h" : "=w"(high) : "w"(first), "w"(second));
    asm("uzp1 %0.4s, %1.4s, %2.4s" : "=w"(e) : "w"(low), "w"(high));
    asm("uzp2 %0.4s, %1.4s, %2.4s" : "=w"(o) : "w"(low), "w"(high));
    even = e;
    odd = o;
  }
  /// Sets power to 2^n, or to 0 if n is 32 or more. USHL reads eight signed bits.
  LOWP_HOST_FN static void power_of_two(words& power, words const& n) {
    words one, most;
    broadcast(one.v, 1u);
    broadcast(most.v, 32u);
    words::vector r = most.v;
    asm("umin %0.4s, %1.4s, %0.4s\n\tushl %0.4s, %2.4s, %0.4s" : "+&w"(r) : "w"(n.v), "w"(one.v));
    power.v = r;
  }

  // FCVTL and FCVTN give the same bits as the codec, NaN and subnormals included, if FPCR is clear.
  using halves = pack<std::uint16_t, neon>;
  LOWP_HOST_FN static void decode(std::type_identity<float16>, reals& x, halves const& codes) {
    reals::vector r;
    asm("fcvtl %0.4s, %1.4h" : "=w"(r) : "w"(codes.v));
    x.v = r;
  }
  /// Encodes. Returns false if a lane is a NaN and the codec must encode it.
  template <bool LeavesNan>
  LOWP_HOST_FN static bool encode(std::type_identity<float16>, nearest_even, halves& codes,
                                  reals const& x) {
    halves::vector r;
    asm("fcvtn %0.4h, %1.4s" : "=w"(r) : "w"(x.v));
    codes.v = r;
    return !LeavesNan || !any(unordered(x, x));
  }
  /// Encodes, unless a lane is NaN.
  template <bool>
  LOWP_HOST_FN static bool encode(std::type_identity<bfloat16>, nearest_even mode, halves& codes,
                                  reals const& x) {
    if (any(unordered(x, x))) return false;
    words const b = lowp::lanes::bits(x);
    codes = detail::encode_in_range<bfloat16::descriptor>(b, b, mode).converted<std::uint16_t>();
    return true;
  }
  LOWP_HOST_FN static reals canonical(reals const& x) {
    words nan;
    broadcast(nan.v, lowp::lanes::binary32_nan);
    reals::vector r;
    asm("fcmeq %0.4s, %1.4s, %1.4s\n\tbsl %0.16b, %1.16b, %2.16b"
        : "=&w"(r)
        : "w"(x.v), "w"(nan.v));
    return reals::of(r);
  }
  /// FMAX is NaN if one of its operands is.
  LOWP_HOST_FN static mask_words unordered(reals const& a, reals const& b) {
    mask_words::vector ordered;
    asm("fmax %0.4s, %1.4s, %2.4s\n\tfcmeq %0.4s, %0.4s, %0.4s"
        : "=w"(ordered)
        : "w"(a.v), "w"(b.v));
    return mask_words::of(~ordered);
  }
  template <class V>
  LOWP_HOST_FN static void join(V& codes, words const& low, words const& high) {
    words::vector r;
    asm("uzp1 %0.8h, %1.8h, %2.8h" : "=w"(r) : "w"(low.v), "w"(high.v));
    if constexpr (sizeof(V) < sizeof(r)) asm("xtn %0.8b, %0.8h" : "+w"(r));
    __builtin_memcpy(&codes, &r, sizeof(codes));
  }
};

}  // namespace lowp::simd::inline LOWP_UNIT

LOWP_EXACT_END
