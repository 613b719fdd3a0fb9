// SPDX-License-Identifier: Apache-2.0
// AVX-512 F, BW, DQ and VL: sixteen lanes.
#pragma once

#include <lowp/format/basic_float.hpp>
#include <lowp/simd/pack.hpp>

#include <cstdint>

// clang inlines only between functions of equal targets, and avx512_bf16 calls these. No code here
// gives it a reason to use the last feature.
#if defined(__clang__)
#define LOWP_AVX512 "avx512f,avx512bw,avx512dq,avx512vl,fma,f16c,avx512bf16"
#else
#define LOWP_AVX512 "avx512f,avx512bw,avx512dq,avx512vl,fma,f16c"
#endif

LOWP_EXACT_BEGIN

namespace lowp::simd::inline LOWP_UNIT {

struct avx512;

/// A mask register.
struct bitmask {
  std::uint16_t v;

  LOWP_HOST_FN static bitmask of(std::uint16_t v) { return {v}; }
};

}  // namespace lowp::simd::inline LOWP_UNIT

template <>
struct lowp::simd::mask_of<lowp::simd::avx512> {
  using type = bitmask;
};

namespace lowp::simd::inline LOWP_UNIT {

// Instructions are in assembly if an operator could become another one under -ffast-math. The
// intrinsics header would cost every unit more than the rest of the library.
struct avx512 {
  static constexpr char name[] = "avx512";
  using registers = avx512;
  static constexpr int lanes = 16;
  static bool available() {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  }

#define LOWP_TARGET __attribute__((target(LOWP_AVX512)))

  template <class Kernel>
  LOWP_TARGET __attribute__((flatten)) LOWP_OPAQUE static void enter(Kernel const& kernel) {
    kernel.template body<avx512>();
  }

  using words = word<avx512>;
  using reals = pack<float, avx512>;

// a op b, through a local: g++ keeps in memory what asm writes through a reference.
#define LOWP_INSTRUCTION(name, Result, in, Operand, from, instruction)        \
  LOWP_TARGET inline static Result name(Operand const& a, Operand const& b) { \
    decltype(Result::v) r;                                                    \
    asm(instruction " %2, %1, %0" : "=" in(r) : from(a.v), from(b.v));        \
    return Result::of(r);                                                     \
  }
  // clang-format off
  LOWP_INSTRUCTION(equal,   bitmask, "k", words,   "v", "vpcmpeqd")
  LOWP_INSTRUCTION(greater, bitmask, "k", words,   "v", "vpcmpgtd")
  LOWP_INSTRUCTION(unordered, bitmask, "k", reals, "v", "vcmpunordps")
  LOWP_INSTRUCTION(max,     words,   "v", words,   "v", "vpmaxsd")
  LOWP_INSTRUCTION(min,     words,   "v", words,   "v", "vpminsd")
  LOWP_INSTRUCTION(mask_and,    bitmask, "k", bitmask, "k", "kandw")
  LOWP_INSTRUCTION(mask_or,  bitmask, "k", bitmask, "k", "korw")
  LOWP_INSTRUCTION(div,     reals,   "v", reals,   "v", "vdivps")
  LOWP_INSTRUCTION(larger_or_second,  reals, "v", reals, "v", "vmaxps")
  LOWP_INSTRUCTION(smaller_or_second, reals, "v", reals, "v", "vminps")
  LOWP_INSTRUCTION(times_power_of_two, reals, "v", reals, "v", "vscalefps")  // a * 2^b
// clang-format on
#undef LOWP_INSTRUCTION

  LOWP_TARGET inline static bitmask mask_not(bitmask const& a) {
    std::uint16_t r;
    asm("knotw %1, %0" : "=k"(r) : "k"(a.v));
    return {r};
  }
  LOWP_TARGET inline static words select(bitmask const& mask, words const& yes, words const& no) {
    words::vector r;
    asm("vpblendmd %1, %2, %0 %{%3%}" : "=v"(r) : "v"(yes.v), "v"(no.v), "Yk"(mask.v));
    return words::of(r);
  }
  LOWP_TARGET inline static std::uint32_t count(bitmask const& m) {
    return static_cast<std::uint32_t>(__builtin_popcount(m.v));
  }

  /// Widens the two halves by themselves. g++ reads halves of a recent load from memory, which is
  /// faster than taking a register apart.
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
    asm("vpmovsxbw %1, %0" : "=v"(r) : "m"(*static_cast<bytes const*>(from)));
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
      asm("vpmovzxwq %1, %0" : "=v"(r) : "vm"(n));
    else
      asm("vpmovzxdq %1, %0" : "=v"(r) : "vm"(n));
    words = r;
  }
  template <class V>
  LOWP_TARGET inline static void narrow(reals& x, V const& low, V const& high) {
    reals::vector r, upper;
    asm("vcvtpd2ps %2, %t0\n\tvcvtpd2ps %3, %t1\n\tvinsertf32x8 $1, %t1, %0, %0"
        : "=&v"(r), "=&v"(upper)
        : "v"(low), "v"(high));
    x.v = r;
  }
  /// Sets power to 2^n, or to 0 if n is 32 or more.
  LOWP_TARGET inline static void power_of_two(words& power, words const& n) {
    words one;
    broadcast(one.v, 1u);
    words::vector r;
    asm("vpsllvd %2, %1, %0" : "=v"(r) : "v"(one.v), "v"(n.v));
    power.v = r;
  }
  /// Adds bits as vector_masks does: the exclusive or of three bits, and their majority.
  LOWP_TARGET inline static void add_bits(words& sum, words& carry, words const& a,
                                          words const& b) {
    words::vector s = sum.v, c = sum.v;
    asm("vpternlogd $0x96, %2, %1, %0" : "+v"(s) : "v"(a.v), "v"(b.v));
    asm("vpternlogd $0xe8, %2, %1, %0" : "+v"(c) : "v"(a.v), "v"(b.v));
    sum.v = s;
    carry.v = c;
  }

  template <class V>
  LOWP_TARGET inline static void add_product(V& result, V const& sum, V const& a, V const& b) {
    V r = sum;
    asm("vfmadd231pd %2, %1, %0" : "+v"(r) : "v"(a), "v"(b));
    result = r;
  }

  // Without the target, g++ would compile these two functions lane by lane.
  template <class V, class T>
  LOWP_TARGET inline static void broadcast(V& v, T x) {
    v = V{} + x;
  }
  template <class To, class From>
  LOWP_TARGET inline static void convert(To& to, From const& from) {
    constexpr auto to_size = sizeof(To) / lanes, from_size = sizeof(From) / lanes;
    To r;
    if constexpr (from_size == 1 && to_size == 4)
      asm("vpmovzxbd %1, %0" : "=v"(r) : "v"(from));
    else if constexpr (from_size == 2 && to_size == 4)
      asm("vpmovzxwd %1, %0" : "=v"(r) : "v"(from));
    else if constexpr (from_size == 4 && to_size == 1)
      asm("vpmovdb %1, %0" : "=v"(r) : "v"(from));
    else if constexpr (from_size == 4 && to_size == 2)
      asm("vpmovdw %1, %0" : "=v"(r) : "v"(from));
    else
      r = __builtin_convertvector(from, To);
    to = r;
  }
  /// Exchanges each lane with the one whose number differs in this bit.
  template <int Bit, class V>
  LOWP_TARGET inline static void exchange(V& v, V const& from) {
    V r;
    if constexpr (Bit >= 4)
      asm("vshuff32x4 %2, %1, %1, %0" : "=v"(r) : "v"(from), "i"(Bit == 8 ? 0x4e : 0xb1));
    else
      asm("vpermilps %2, %1, %0" : "=v"(r) : "v"(from), "i"(Bit == 2 ? 0x4e : 0xb1));
    v = r;
  }
  /// Separates even from odd lanes: see avx2.hpp.
  template <bool OfRegisters, class V>
  LOWP_TARGET inline static void separate(V& even, V& odd, V const& a, V const& b) {
    V e, o;
    if constexpr (OfRegisters)
      asm("vshuff32x4 $0x88, %3, %2, %0\n\tvshuff32x4 $0xdd, %3, %2, %1"
          : "=&v"(e), "=v"(o)
          : "v"(a), "v"(b));
    else
      asm("vshufps $0x88, %3, %2, %0\n\tvshufps $0xdd, %3, %2, %1"
          : "=&v"(e), "=v"(o)
          : "v"(a), "v"(b));
    even = e;
    odd = o;
  }
  LOWP_TARGET inline static void hide(auto& v) { LOWP_HIDE(v); }
  /// Multiplies the low halves of 64-bit lanes: see avx2.hpp.
  template <class V>
  LOWP_TARGET inline static void mul_wide(V& low, V& high, V const& a, V const& b) {
    V l, h;
    asm("vpmuludq %2, %1, %0" : "=v"(l) : "v"(a), "v"(b));
    asm("vpshufd $0xf5, %1, %0" : "=v"(h) : "v"(l));
    low = l;
    high = h;
  }
  /// Computes a ^ b ^ key and reads the key straight from memory: g++ would copy it to the result
  /// first.
  template <class V>
  LOWP_TARGET inline static void xor3(V& v, V const& a, V const& b, std::uint32_t const& key) {
    V r = a;
    asm("vpternlogd $0x96, %2%{1to16%}, %1, %0" : "+v"(r) : "v"(b), "m"(key));
    v = r;
  }
  /// Makes numbers of 16 bits of Philox blocks, of even and of odd lanes: see random.hpp.
  template <class V>
  LOWP_TARGET inline static void numbers(V& even, V& odd, V const (&word)[4]) {
    V first, second, e, o;
    asm("vshufps $0x88, %2, %1, %0" : "=v"(first) : "v"(word[0]), "v"(word[1]));
    asm("vshufps $0x88, %2, %1, %0" : "=v"(second) : "v"(word[2]), "v"(word[3]));
    asm("vshufps $0x88, %2, %1, %0" : "=v"(e) : "v"(first), "v"(second));
    asm("vshufps $0xdd, %2, %1, %0" : "=v"(o) : "v"(first), "v"(second));
    asm("vpshufb %1, %0, %0" : "+v"(e) : "m"(low_halves_first<avx512>));
    asm("vpshufb %1, %0, %0" : "+v"(o) : "m"(low_halves_first<avx512>));
    even = e;
    odd = o;
  }
  /// Moves two packs of words below 2^16 to halves.
  template <class V>
    requires(sizeof(V) == 64)
  LOWP_TARGET inline static void join(V& halves, words const& low, words const& high) {
    typedef std::uint64_t pieces __attribute__((vector_size(64)));
    pieces const order = {0, 2, 4, 6, 1, 3, 5, 7};
    V r;
    asm("vpackusdw %2, %1, %0\n\tvpermq %0, %3, %0"
        : "=&v"(r)
        : "v"(low.v), "v"(high.v), "v"(order));
    halves = r;
  }
  /// Moves the low bytes of words to codes, with the signs of numbers.
  template <class V>
  LOWP_TARGET inline static void join_low_bytes(V& codes, words const& low, words const& high,
                                                reals const& x, reals const& y) {
    words::vector const first = with_sign(low, x).v, second = with_sign(high, y).v;
    V r, upper;
    asm("vpmovdb %2, %x0\n\tvpmovdb %3, %x1\n\tvinserti32x4 $1, %x1, %t0, %t0"
        : "=&v"(r), "=&v"(upper)
        : "v"(first), "v"(second));
    codes = r;
  }
  /// Sets bit 7 of words to the signs of numbers.
  LOWP_TARGET inline static words with_sign(words const& code, reals const& x) {
    words sign;
    broadcast(sign.v, 0x80u);
    words::vector r = code.v, signs;
    asm("vpsrld $24, %1, %0" : "=v"(signs) : "v"(x.v));
    asm("vpternlogd $0xf8, %2, %1, %0" : "+v"(r) : "v"(signs), "v"(sign.v));
    return words::of(r);
  }
  // F16C: VCVTPH2PS and VCVTPS2PH give the same bits as the codec, NaN and subnormals included.
  using halves = pack<std::uint16_t, avx512>;
  LOWP_TARGET inline static void decode(std::type_identity<float16>, reals& x,
                                        halves const& codes) {
    reals::vector r;
    asm("vcvtph2ps %1, %0" : "=v"(r) : "v"(codes.v));
    x.v = r;
  }
  /// Decodes binary16 numbers of a pack: see binary16.hpp.
  template <class V>
  LOWP_TARGET inline static void decode_halves(reals (&x)[1], V const& numbers) {
    reals::vector r;
    asm("vcvtph2ps %1, %0" : "=v"(r) : "v"(numbers));
    x[0].v = r;
  }
  /// Encodes. Returns false if a lane is a NaN and the codec must encode it.
  template <bool LeavesNan>
  LOWP_TARGET inline static bool encode(std::type_identity<float16>, nearest_even, halves& codes,
                                        reals const& x) {
    halves::vector r;
    asm("vcvtps2ph $0, %1, %0" : "=v"(r) : "v"(x.v));
    codes.v = r;
    return !LeavesNan || !any_of < quiet_nan | signaling_nan > (x);
  }
  // The classes of VFPCLASSPS (Intel SDM volume 2).
  static constexpr int quiet_nan = 0x01, infinity = 0x18, signaling_nan = 0x80, subnormal = 0x20;
  template <int Classes>
  LOWP_TARGET inline static bool any_of(reals const& x) {
    std::uint16_t found;
    asm("vfpclassps %2, %1, %0" : "=k"(found) : "v"(x.v), "i"(Classes));
    return found != 0;
  }
  LOWP_TARGET inline static bool any_special(words const& x) {
    return any_of < quiet_nan | signaling_nan | infinity > (reals::of(reals::vector(x.v)));
  }
  /// Replaces each NaN, as lanes::canonical does. The table has a digit for each kind of number,
  /// with the NaNs at the right. For 1 the result is x, for 0 it stays as it is.
  LOWP_TARGET inline static reals canonical(reals const& x) {
    words nan, table;
    broadcast(nan.v, lowp::lanes::binary32_nan);
    broadcast(table.v, 0x11111100u);
    auto r = reals::vector(nan.v);
    asm("vfixupimmps $0, %2, %1, %0" : "+v"(r) : "v"(x.v), "v"(table.v));
    return reals::of(r);
  }
  /// Stores a register's bytes at an aligned address, around the caches.
  LOWP_TARGET inline static void stream(void* to, void const* from) {
    reals::vector r;
    __builtin_memcpy(&r, from, sizeof(r));
    asm("vmovntps %1, %0" : "=m"(*static_cast<reals::vector*>(to)) : "v"(r));
  }
  LOWP_TARGET inline static void lookup(words& found, std::uint32_t const* table,
                                        words const& index) {
    words::vector r;
    std::uint16_t all = 0xffff;
    // An emulated processor knows such indices in the first 16 registers only.
    asm("vpgatherdd (%2,%3,4), %0%{%1%}" : "=&v"(r), "+Yk"(all) : "r"(table), "x"(index.v));
    found.v = r;
  }
  LOWP_TARGET inline static reals sqrt(reals const& a) {
    reals::vector r;
    asm("vsqrtps %1, %0" : "=v"(r) : "v"(a.v));
    return reals::of(r);
  }
  LOWP_TARGET inline static reals fma(reals const& a, reals const& b, reals const& c) {
    reals::vector sum = c.v;
    asm("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(a.v), "v"(b.v));
    return reals::of(sum);
  }
#undef LOWP_TARGET
};

}  // namespace lowp::simd::inline LOWP_UNIT

LOWP_EXACT_END

namespace lowp {
template <>
struct lane<simd::bitmask> {
  using M = simd::bitmask;
  LOWP_HOST_FN static M mask_and(M const& a, M const& b) { return simd::avx512::mask_and(a, b); }
  LOWP_HOST_FN static M mask_or(M const& a, M const& b) { return simd::avx512::mask_or(a, b); }
  LOWP_HOST_FN static M mask_not(M const& a) { return simd::avx512::mask_not(a); }
  LOWP_HOST_FN static bool any(M const& a) { return a.v != 0; }
  LOWP_HOST_FN static std::uint32_t count(M const& a) { return simd::avx512::count(a); }
};
}  // namespace lowp
