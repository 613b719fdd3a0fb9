// SPDX-License-Identifier: Apache-2.0
// AVX2 with FMA and F16C: eight lanes.
#pragma once

#include <lowp/base/is_equal.hpp>
#include <lowp/format/basic_float.hpp>
#include <lowp/format/encode_in_range.hpp>
#include <lowp/simd/pack.hpp>

#include <cstddef>
#include <cstdint>

LOWP_EXACT_BEGIN

namespace lowp::simd::inline LOWP_UNIT {

// Instructions are in assembly if an operator could become another one under -ffast-math. The
// intrinsics header would cost every unit more than the rest of the library.
struct avx2 : vector_masks<avx2> {
  static constexpr char name[] = "avx2";
  using registers = avx2;
  static constexpr int lanes = 8;
  static bool available() {
    unsigned leaf = 1, b, c = 0, d;
    asm("cpuid" : "+a"(leaf), "=b"(b), "+c"(c), "=d"(d));
    bool const has_f16c = (c >> 29 & 1) != 0;  // clang 14 has no name for it
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c;
  }

#define LOWP_TARGET __attribute__((target("avx2,fma,f16c")))

  template <class Kernel>
  LOWP_TARGET __attribute__((flatten)) LOWP_OPAQUE static void enter(Kernel const& kernel) {
    kernel.template body<avx2>();
  }

  using words = word<avx2>;
  LOWP_TARGET inline static bool any(integer<avx2> const& m) { return bits_of(m) != 0; }
  LOWP_TARGET inline static std::uint32_t count(integer<avx2> const& m) {
    return static_cast<std::uint32_t>(__builtin_popcount(bits_of(m)));
  }
  LOWP_TARGET inline static unsigned bits_of(integer<avx2> const& m) {
    unsigned bits;
    asm("vmovmskps %1, %0" : "=r"(bits) : "x"(m.v));
    return bits;
  }
  using reals = pack<float, avx2>;

// a op b, through a local: see avx512.hpp.
#define LOWP_INSTRUCTION(name, Pack, instruction)                     \
  LOWP_TARGET inline static Pack name(Pack const& a, Pack const& b) { \
    Pack::vector r;                                                   \
    asm(instruction " %2, %1, %0" : "=x"(r) : "x"(a.v), "x"(b.v));    \
    return Pack::of(r);                                               \
  }
  LOWP_INSTRUCTION(max, words, "vpmaxsd")
  LOWP_INSTRUCTION(min, words, "vpminsd")
  LOWP_INSTRUCTION(div, reals, "vdivps")
  LOWP_INSTRUCTION(larger_or_second, reals, "vmaxps")
  LOWP_INSTRUCTION(smaller_or_second, reals, "vminps")
#undef LOWP_INSTRUCTION

  template <class V>
  LOWP_TARGET inline static void widen(V& low, V& high, reals const& x) {
    V l, h;
    LOWP_WIDEN(l, h, x);
    low = l;
    high = h;
  }

  /// Widens bytes in memory, with their signs, to numbers of 16 bits.
  template <class V>
  LOWP_TARGET inline static void widen_bytes(V& numbers, void const* from) {
    typedef unsigned char bytes[sizeof(V) / 2];
    V r;
    asm("vpmovsxbw %1, %0" : "=x"(r) : "m"(*static_cast<bytes const*>(from)));
    numbers = r;
  }
  /// Numbers of 16 or 32 bits, for each 64-bit lane one.
  template <class V, class N>
  LOWP_TARGET inline static void widen(V& words, N const* from) {
    typedef N numbers __attribute__((vector_size(sizeof(N) * lanes / 2)));
    numbers n;
    __builtin_memcpy(&n, from, sizeof(n));
    V r;
    if constexpr (sizeof(N) == 2)
      asm("vpmovzxwq %1, %0" : "=x"(r) : "xm"(n));
    else
      asm("vpmovzxdq %1, %0" : "=x"(r) : "xm"(n));
    words = r;
  }
  template <class V>
  LOWP_TARGET inline static void narrow(reals& x, V const& low, V const& high) {
    reals::vector r, upper;
    asm("vcvtpd2ps %2, %x0\n\tvcvtpd2ps %3, %x1\n\tvinsertf128 $1, %x1, %0, %0"
        : "=&x"(r), "=&x"(upper)
        : "x"(low), "x"(high));
    x.v = r;
  }
  /// Sets power to 2^n, or to 0 if n is 32 or more.
  LOWP_TARGET inline static void power_of_two(words& power, words const& n) {
    words one;
    broadcast(one.v, 1u);
    words::vector r;
    asm("vpsllvd %2, %1, %0" : "=x"(r) : "x"(one.v), "x"(n.v));
    power.v = r;
  }

  template <class V>
  LOWP_TARGET inline static void add_product(V& result, V const& sum, V const& a, V const& b) {
    V r = sum;
    asm("vfmadd231pd %2, %1, %0" : "+x"(r) : "x"(a), "x"(b));
    result = r;
  }

  // Without the target, g++ would compile these two functions lane by lane. It would make a
  // constant anew at each use, from an integer register. A hidden one is made once.
  template <class V, class T>
  LOWP_TARGET inline static void broadcast(V& v, T x) {
    V r = V{} + x;
    if (!__builtin_constant_p(x) || !detail::is_equal(x, T{0})) asm("" : "+x"(r));
    v = r;
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
  /// Exchanges each lane with the one whose number differs in this bit.
  template <int Bit, class V>
  LOWP_TARGET inline static void exchange(V& v, V const& from) {
    V r;
    if constexpr (Bit == 4)
      asm("vperm2f128 $1, %1, %1, %0" : "=x"(r) : "x"(from));
    else
      asm("vpermilps %2, %1, %0" : "=x"(r) : "x"(from), "i"(Bit == 2 ? 0x4e : 0xb1));
    v = r;
  }
  /// Separates even from odd lanes in registers of 128 bits, or even from odd registers: first a's.
  template <bool OfRegisters, class V>
  LOWP_TARGET inline static void separate(V& even, V& odd, V const& a, V const& b) {
    V e, o;
    if constexpr (OfRegisters)
      asm("vperm2f128 $0x20, %3, %2, %0\n\tvperm2f128 $0x31, %3, %2, %1"
          : "=&x"(e), "=x"(o)
          : "x"(a), "x"(b));
    else
      asm("vshufps $0x88, %3, %2, %0\n\tvshufps $0xdd, %3, %2, %1"
          : "=&x"(e), "=x"(o)
          : "x"(a), "x"(b));
    even = e;
    odd = o;
  }
  LOWP_TARGET inline static void hide(auto& v) { LOWP_HIDE(v); }
  /// Multiplies the low halves of 64-bit lanes. The high half of the product goes to the low half
  /// of `high`. A shuffle moves it, because Zen 4 has three pipes for shuffles and two for shifts.
  template <class V>
  LOWP_TARGET inline static void mul_wide(V& low, V& high, V const& a, V const& b) {
    V l, h;
    asm("vpmuludq %2, %1, %0" : "=x"(l) : "x"(a), "x"(b));
    asm("vpshufd $0xf5, %1, %0" : "=x"(h) : "x"(l));
    low = l;
    high = h;
  }
  /// Makes the numbers of 16 bits of Philox blocks (see random.hpp): those of even and those of odd
  /// lanes.
  template <class V>
  LOWP_TARGET inline static void numbers(V& even, V& odd, V const (&word)[4]) {
    V first, second, e, o;
    asm("vshufps $0x88, %2, %1, %0" : "=x"(first) : "x"(word[0]), "x"(word[1]));
    asm("vshufps $0x88, %2, %1, %0" : "=x"(second) : "x"(word[2]), "x"(word[3]));
    asm("vshufps $0x88, %2, %1, %0" : "=x"(e) : "x"(first), "x"(second));
    asm("vshufps $0xdd, %2, %1, %0" : "=x"(o) : "x"(first), "x"(second));
    asm("vpshufb %1, %0, %0" : "+x"(e) : "m"(low_halves_first<avx2>));
    asm("vpshufb %1, %0, %0" : "+x"(o) : "m"(low_halves_first<avx2>));
    even = e;
    odd = o;
  }
  // F16C: VCVTPH2PS and VCVTPS2PH give the same bits as the codec, NaN and subnormals included.
  using halves = pack<std::uint16_t, avx2>;
  LOWP_TARGET inline static void decode(std::type_identity<float16>, reals& x,
                                        halves const& codes) {
    reals::vector r;
    asm("vcvtph2ps %1, %0" : "=x"(r) : "x"(codes.v));
    x.v = r;
  }
  /// Decodes binary16 numbers of one pack, or of two: see binary16.hpp.
  template <std::size_t Packs, class V>
    requires(Packs <= 2)
  LOWP_TARGET inline static void decode_halves(reals (&x)[Packs], V const& numbers) {
    reals::vector r;
    asm("vcvtph2ps %x1, %0" : "=x"(r) : "x"(numbers));
    x[0].v = r;
    if constexpr (Packs == 2) {
      asm("vextracti128 $1, %1, %x0\n\tvcvtph2ps %x0, %0" : "=x"(r) : "x"(numbers));
      x[1].v = r;
    }
  }
  /// Encodes. Returns false if a lane is a NaN and the codec must encode it.
  template <bool LeavesNan>
  LOWP_TARGET inline static bool encode(std::type_identity<float16>, nearest_even, halves& codes,
                                        reals const& x) {
    halves::vector r;
    asm("vcvtps2ph $0, %1, %0" : "=x"(r) : "x"(x.v));
    codes.v = r;
    return !LeavesNan || !any(unordered(x, x));
  }
  /// Encodes, unless a lane is NaN.
  template <bool>
  LOWP_TARGET inline static bool encode(std::type_identity<bfloat16>, nearest_even mode,
                                        halves& codes, reals const& x) {
    if (any(unordered(x, x))) return false;
    words const b = lowp::lanes::bits(x);
    codes = detail::encode_in_range<bfloat16::descriptor>(b, b, mode).converted<std::uint16_t>();
    return true;
  }
  /// Moves two packs of words to halves or to bytes that hold them.
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
  /// Stores two packs of numbers below 16, two in a byte.
  LOWP_TARGET inline static void store_nibbles(std::uint8_t* to, words const& low,
                                               words const& high) {
    words::vector const order = {0, 4, 1, 5};
    words::vector r, factors;
    broadcast(factors, 0x10011001u);
    asm("vpackusdw %2, %1, %0\n\tvpackuswb %0, %0, %0\n\tvpermd %0, %3, %0\n\t"
        "vpmaddubsw %x4, %x0, %x0\n\tvpackuswb %x0, %x0, %x0"
        : "=&x"(r)
        : "x"(low.v), "x"(high.v), "x"(order), "x"(factors));
    __builtin_memcpy(to, &r, lanes);
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
  /// Returns the lanes in which a or b is NaN.
  LOWP_TARGET inline static integer<avx2> unordered(reals const& a, reals const& b) {
    integer<avx2>::vector r;
    asm("vcmpunordps %2, %1, %0" : "=x"(r) : "x"(a.v), "x"(b.v));
    return integer<avx2>::of(r);
  }
  /// Replaces each NaN, as lanes::canonical does.
  LOWP_TARGET inline static reals canonical(reals const& x) {
    words nan;
    broadcast(nan.v, lowp::lanes::binary32_nan);
    reals::vector r;
    asm("vblendvps %3, %2, %1, %0" : "=x"(r) : "x"(x.v), "x"(nan.v), "x"(unordered(x, x).v));
    return reals::of(r);
  }
  /// Stores a register's bytes at an aligned address, around the caches.
  LOWP_TARGET inline static void stream(void* to, void const* from) {
    reals::vector r;
    __builtin_memcpy(&r, from, sizeof(r));
    asm("vmovntps %1, %0" : "=m"(*static_cast<reals::vector*>(to)) : "x"(r));
  }
  LOWP_TARGET inline static reals sqrt(reals const& a) {
    reals::vector r;
    asm("vsqrtps %1, %0" : "=x"(r) : "x"(a.v));
    return reals::of(r);
  }
  LOWP_TARGET inline static reals fma(reals const& a, reals const& b, reals const& c) {
    reals::vector sum = c.v;
    asm("vfmadd231ps %2, %1, %0" : "+x"(sum) : "x"(a.v), "x"(b.v));
    return reals::of(sum);
  }
#undef LOWP_TARGET
};

}  // namespace lowp::simd::inline LOWP_UNIT

LOWP_EXACT_END
