// SPDX-License-Identifier: Apache-2.0
// AVX2 with FMA and F16C: eight lanes.
#pragma once

#include <lowp/format/basic_float.hpp>
#include <lowp/format/encode_in_range.hpp>
#include <lowp/simd/pack.hpp>

LOWP_EXACT_BEGIN

namespace lowp::simd::inline LOWP_UNIT {

struct avx2 : vector_masks<avx2> {
  static constexpr char name[] = "avx2";
  static constexpr int lanes = 8;
  static constexpr int chains_at_once = 2;
  static bool available() {
    unsigned leaf = 1, b, c = 0, d;
    asm("cpuid" : "+a"(leaf), "=b"(b), "+c"(c), "=d"(d));
    bool const has_f16c = (c >> 29 & 1) != 0;  // clang 14 has no name for it
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c;
  }

#define LOWP_X86 avx2
#define LOWP_V "x"
#define LOWP_TARGET __attribute__((target("avx2,fma,f16c")))
#include <lowp/simd/isa/x86.inc>

  template <class Kernel>
  LOWP_TARGET __attribute__((flatten)) LOWP_OPAQUE static void enter(Kernel const& kernel) {
    kernel.template body<avx2>();
  }

  LOWP_TARGET inline static bool any(integer<avx2> const& m) { return bits_of(m) != 0; }
  LOWP_TARGET inline static unsigned bits_of(integer<avx2> const& m) {
    unsigned bits;
    asm("vmovmskps %1, %0" : "=r"(bits) : "x"(m.v));
    return bits;
  }
  // Without the target, g++ would compile these two functions lane by lane. It would make a
  // constant anew at each use, from an integer register. A hidden one is made once.
  template <class V, class T>
  LOWP_TARGET inline static void broadcast(V& v, T x) {
    V r = V{} + x;
    if (!__builtin_constant_p(x) || !detail::is_equal(x, T{0})) asm("" : "+x"(r));
    v = r;
  }
  LOWP_TARGET inline static void copy_in(void* to, void const* from, std::size_t bytes,
                                         std::size_t whole) {
    using block = unsigned char[32];
    for (std::size_t i = 0; i < whole; i += 32) {
      block const& part = static_cast<block const*>(from)[i / 32];
      std::size_t const left = bytes < i ? 0 : bytes - i < 32 ? bytes - i : 32;
      auto const words_left = static_cast<std::uint32_t>(left / 4);
      std::uint32_t rest = 0;
      for (std::size_t k = left / 4 * 4; k < left; ++k)
        rest |= static_cast<std::uint32_t>(part[k]) << (k % 4 * 8);
      words::vector const lane = {0, 1, 2, 3, 4, 5, 6, 7};
      words::vector r;
      asm("vpmaskmovd %1, %2, %0" : "=x"(r) : "m"(part), "x"(lane < words_left));
      r |= words::vector(lane == words_left) & rest;
      __builtin_memcpy(static_cast<block*>(to)[i / 32], &r, sizeof(r));
    }
  }
  template <class To, class From>
  LOWP_TARGET inline static void convert(To& to, From const& from) {
    constexpr auto to_size = sizeof(To) / lanes, from_size = sizeof(From) / lanes;
    To r;
    if constexpr (from_size == 1 && to_size == 4) {
      std::uint64_t eight;
      __builtin_memcpy(&eight, &from, 8);
      asm("vmovq %1, %x0\n\tvpmovzxbd %x0, %0" : "=x"(r) : "r"(eight));
    } else if constexpr (from_size == 2 && to_size == 4) {
#if defined(__clang__)  // it would store a register that an assembly may read from memory
      asm("vpmovzxwd %1, %0" : "=x"(r) : "x"(from));
#else
      asm("vpmovzxwd %1, %0" : "=x"(r) : "xm"(from));
#endif
    } else if constexpr (from_size == 4 && to_size < 4) {  // codes below 2^16: none saturates
      typedef std::uint16_t half __attribute__((vector_size(16)));
      half low;
      asm("vextracti128 $1, %1, %0\n\tvpackusdw %0, %x1, %0" : "=&x"(low) : "x"(from));
      if constexpr (to_size == 1) asm("vpackuswb %0, %0, %0" : "+x"(low));
      __builtin_memcpy(&r, &low, sizeof(r));
    } else {
      r = __builtin_convertvector(from, To);
    }
    to = r;
  }
  /// Encodes, unless a lane is NaN.
  template <bool>
  LOWP_TARGET inline static bool encode(std::type_identity<bfloat16>, nearest_even mode,
                                        halves& codes, reals const& x) {
    if (has_nan(x)) return false;
    words const b = lowp::lanes::bits(x);
    codes = detail::encode_in_range<bfloat16::descriptor>(b, b, mode).converted<std::uint16_t>();
    return true;
  }
  template <class V>
  LOWP_TARGET inline static void join(V& codes, words const& low, words const& high) {
    words::vector r;
    if constexpr (sizeof(V) == sizeof(r)) {
      asm("vpackusdw %2, %1, %0\n\tvpermq $0xd8, %0, %0" : "=x"(r) : "x"(low.v), "x"(high.v));
    } else {
      words::vector const order = {0, 4, 1, 5};
      asm("vpackusdw %2, %1, %0\n\tvpackuswb %0, %0, %0\n\tvpermd %0, %3, %0"
          : "=&x"(r)
          : "x"(low.v), "x"(high.v), "x"(order));
    }
    __builtin_memcpy(&codes, &r, sizeof(codes));
  }
  /// Sorts pieces of 16 bits by packs: see avx512.hpp.
  LOWP_TARGET inline static void in_order_of_packs(words::vector& v) {
    typedef std::uint8_t bytes __attribute__((vector_size(32)));
    bytes const order = {0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15,
                         0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15};
    words::vector r;
    asm("vpermq $0xd8, %1, %0\n\tvpshufb %2, %0, %0" : "=&x"(r) : "x"(v), "x"(order));
    v = r;
  }
  /// Moves the low bytes of words to codes, with the signs of numbers that are not NaN.
  template <class V>
  LOWP_TARGET inline static void join_low_bytes(V& codes, words const& low, words const& high,
                                                reals const& x, reals const& y) {
    typedef std::uint8_t bytes __attribute__((vector_size(32)));
    words::vector const order = {0, 4, 1, 5};
    bytes const even_first = {0, 4, 8, 12, 2, 6, 10, 14, 0, 0, 0, 0, 0, 0, 0, 0,
                              0, 4, 8, 12, 2, 6, 10, 14, 0, 0, 0, 0, 0, 0, 0, 0};
    words::vector r, signs, sign;
    broadcast(sign, 0x80808080u);
    asm("vpslld $16, %2, %0\n\tvpblendw $0xaa, %0, %1, %0\n\tvpshufb %3, %0, %0"
        : "=&x"(r)
        : "x"(low.v), "x"(high.v), "x"(even_first));
    asm("vpackssdw %2, %1, %0\n\tvpacksswb %0, %0, %0" : "=x"(signs) : "x"(x.v), "x"(y.v));
    r |= signs & sign;
    asm("vpermd %0, %1, %0" : "+x"(r) : "x"(order));
    __builtin_memcpy(&codes, &r, sizeof(codes));
  }
  LOWP_INSTRUCTION(unordered, integer<avx2>, "x", reals, "x", "vcmpunordps")
  LOWP_TARGET inline static bool has_nan(reals const& x) { return any(unordered(x, x)); }
  LOWP_TARGET inline static reals canonical(reals const& x) {
    words nan;
    broadcast(nan.v, lowp::lanes::binary32_nan);
    reals::vector r;
    asm("vblendvps %3, %2, %1, %0" : "=x"(r) : "x"(x.v), "x"(nan.v), "x"(unordered(x, x).v));
    return reals::of(r);
  }
#undef LOWP_INSTRUCTION
#undef LOWP_TARGET
};

}  // namespace lowp::simd::inline LOWP_UNIT

LOWP_EXACT_END
