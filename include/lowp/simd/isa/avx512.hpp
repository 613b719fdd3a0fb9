// SPDX-License-Identifier: Apache-2.0
// AVX-512 F, BW, DQ and VL: sixteen lanes.
#pragma once

#include <lowp/format/basic_float.hpp>
#include <lowp/simd/pack.hpp>

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
struct lowp::simd::mask_of<lowp::simd::avx512> : std::type_identity<bitmask> {};

namespace lowp::simd::inline LOWP_UNIT {

struct avx512 {
  static constexpr char name[] = "avx512";
  static constexpr int lanes = 16;
  static bool available() {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  }

#define LOWP_X86 avx512
#define LOWP_V "v"
#define LOWP_TARGET __attribute__((target(LOWP_AVX512)))
#include <lowp/simd/isa/x86.inc>

  template <class Kernel>
  LOWP_TARGET __attribute__((flatten)) LOWP_OPAQUE static void enter(Kernel const& kernel) {
    kernel.template body<avx512>();
  }

  // clang-format off
  LOWP_INSTRUCTION(equal,   bitmask, "k", words,   "v", "vpcmpeqd")
  LOWP_INSTRUCTION(greater, bitmask, "k", words,   "v", "vpcmpgtd")
  LOWP_INSTRUCTION(unordered, bitmask, "k", reals, "v", "vcmpunordps")
  LOWP_INSTRUCTION(mask_and,    bitmask, "k", bitmask, "k", "kandw")
  LOWP_INSTRUCTION(mask_or,  bitmask, "k", bitmask, "k", "korw")
  LOWP_INSTRUCTION(times_power_of_two, reals, "v", reals, "v", "vscalefps")  // a * 2^b
  // clang-format on

  /// a * 2^b, or 0 where b is `least`: a product that underflows takes Intel's a hundred cycles.
  LOWP_TARGET inline static reals times_power_of_two(reals const& a, reals const& b,
                                                     reals const& least) {
    std::uint16_t is_more;
    reals::vector r;
    asm("vpcmpneqd %2, %1, %0" : "=Yk"(is_more) : "v"(b.v), "v"(least.v));
    asm("vscalefps %2, %1, %0 %{%3%}%{z%}" : "=v"(r) : "v"(a.v), "v"(b.v), "Yk"(is_more));
    return reals::of(r);
  }
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
  LOWP_HOST_FN static bool any(bitmask const& m) { return m.v != 0; }
  LOWP_HOST_FN static unsigned bits_of(bitmask const& m) { return m.v; }

  /// Adds bits as vector_masks does: the exclusive or of three bits, and their majority.
  LOWP_TARGET inline static void add_bits(words& sum, words& carry, words const& a,
                                          words const& b) {
    words::vector s = sum.v, c = sum.v;
    asm("vpternlogd $0x96, %2, %1, %0" : "+v"(s) : "v"(a.v), "v"(b.v));
    asm("vpternlogd $0xe8, %2, %1, %0" : "+v"(c) : "v"(a.v), "v"(b.v));
    sum.v = s;
    carry.v = c;
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
  LOWP_TARGET inline static void copy_in(void* to, void const* from, std::size_t bytes,
                                         std::size_t whole) {
    for (std::size_t i = 0; i < whole; i += 64) {
      words::vector r;
      asm("vmovdqu8 %1, %0%{%2%}%{z%}"
          : "=v"(r)
          : "m"(static_cast<block const*>(from)[i / 64]), "Yk"(first_bytes(bytes, i)));
      __builtin_memcpy(static_cast<block*>(to)[i / 64], &r, sizeof(r));
    }
  }
  LOWP_TARGET inline static void copy_out(void* to, void const* from, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; i += 64) {
      words::vector r;
      __builtin_memcpy(&r, static_cast<block const*>(from)[i / 64], sizeof(r));
      asm("vmovdqu8 %1, %0%{%2%}"
          : "+m"(static_cast<block*>(to)[i / 64])
          : "v"(r), "Yk"(first_bytes(bytes, i)));
    }
  }
  using block = unsigned char[64];
  /// Returns the mask of those bytes of the block at i that are among the first `bytes`.
  LOWP_HOST_FN static std::uint64_t first_bytes(std::size_t bytes, std::size_t i) {
    std::uint64_t const all = ~std::uint64_t{0};
    return i + 64 <= bytes ? all : i < bytes ? ~(all << (bytes - i)) : 0;
  }
  /// Decodes by one shuffle, in place of one that widens and a shift.
  LOWP_TARGET inline static void decode(std::type_identity<bfloat16>, reals& x,
                                        halves const& codes) {
    words::vector const lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    words::vector const from = lane << 16;
    reals::vector r;
#if defined(__clang__)  // from 18 on it takes %g1 for a register of AMX
    auto const low =
        __builtin_shufflevector(codes.v, codes.v, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
                                15, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    asm("vpermw %1, %2, %0%{%3%}%{z%}" : "=v"(r) : "v"(low), "v"(from), "Yk"(0xaaaaaaaau));
#else
    asm("vpermw %g1, %2, %0%{%3%}%{z%}" : "=v"(r) : "v"(codes.v), "v"(from), "Yk"(0xaaaaaaaau));
#endif
    x.v = r;
  }
  /// Takes the upper halves of words by one shuffle.
  LOWP_TARGET inline static void take_upper(halves& upper, words const& x) {
    words::vector const lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    words::vector const from = lane * 0x40004 + 0x30001;  // its lower half counts
    words::vector r;
    asm("vpermw %1, %2, %0" : "=v"(r) : "v"(x.v), "v"(from));
    __builtin_memcpy(&upper.v, &r, sizeof(upper.v));
  }
  /// Computes a ^ b ^ key. g++ would copy the key from memory to the result first.
  template <class V>
  LOWP_TARGET inline static void xor3(V& v, V const& a, V const& b, std::uint32_t const& key) {
    V r = a;
    asm("vpternlogd $0x96, %2%{1to16%}, %1, %0" : "+v"(r) : "v"(b), "m"(key));
    v = r;
  }
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
  /// Sorts pieces of 16 bits by packs. Each register of 128 bits has one piece of each of eight.
  LOWP_TARGET inline static void in_order_of_packs(words::vector& v) {
    typedef std::uint16_t pieces __attribute__((vector_size(64)));
    pieces const order = {0, 8,  16, 24, 1, 9,  17, 25, 2, 10, 18, 26, 3, 11, 19, 27,
                          4, 12, 20, 28, 5, 13, 21, 29, 6, 14, 22, 30, 7, 15, 23, 31};
    words::vector r;
    asm("vpermw %2, %1, %0" : "=v"(r) : "v"(order), "v"(v));
    v = r;
  }
  /// Moves the low bytes of words to codes, with the signs of numbers.
  template <class V>
  LOWP_TARGET inline static void join_low_bytes(V& codes, words const& low, words const& high,
                                                reals const& x, reals const& y) {
    words::vector const first = {0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60},
                        lower = first * 0x10001 + 0x20000, upper = lower + 0x10001;
    words::vector sign = words::vector{} + 0x800080, numbers = low.v, signs = words::vector(x.v);
    hide(sign);  // g++ would make it anew for each pair, from an integer register
    asm("vpermt2w %2, %1, %0" : "+v"(numbers) : "v"(lower), "v"(high.v));
    asm("vpermt2w %2, %1, %0" : "+v"(signs) : "v"(upper), "v"(y.v));
    asm("vpsrlw $8, %0, %0" : "+v"(signs));
    asm("vpternlogd $0xf8, %2, %1, %0" : "+v"(numbers) : "v"(signs), "v"(sign));
    V r;
    asm("vpmovwb %1, %0" : "=v"(r) : "v"(numbers));
    codes = r;
  }
  // The classes of VFPCLASSPS (Intel SDM volume 2).
  static constexpr int quiet_nan = 0x01, infinity = 0x18, signaling_nan = 0x80, subnormal = 0x20,
                       zero = 0x06;
  template <int Classes>
  LOWP_TARGET inline static bool any_of(reals const& x) {
    std::uint16_t found;
    asm("vfpclassps %2, %1, %0" : "=k"(found) : "v"(x.v), "i"(Classes));
    return found != 0;
  }
  LOWP_TARGET inline static bool has_nan(reals const& x) {
    return any_of < quiet_nan | signaling_nan > (x);
  }
  LOWP_TARGET inline static bool any_special(words const& x) {
    return any_of < quiet_nan | signaling_nan | infinity > (reals::of(reals::vector(x.v)));
  }
  LOWP_TARGET inline static bool any_special(words const& x, words const& y) {
    std::uint16_t of_x, of_y;
    asm("vfpclassps $0x99, %1, %0" : "=k"(of_x) : "v"(x.v));
    asm("vfpclassps $0x99, %1, %0" : "=k"(of_y) : "v"(y.v));
    bool found;
    asm("kortestw %2, %1" : "=@ccnz"(found) : "k"(of_x), "k"(of_y));
    return found;
  }
  // The table has a digit for each kind of number, with the NaNs at the right. For 1 the result is
  // x, for 0 it stays as it is.
  LOWP_TARGET inline static reals canonical(reals const& x) {
    words nan, table;
    broadcast(nan.v, lowp::lanes::binary32_nan);
    broadcast(table.v, 0x11111100u);
    auto r = reals::vector(nan.v);
    asm("vfixupimmps $0, %2, %1, %0" : "+v"(r) : "v"(x.v), "v"(table.v));
    return reals::of(r);
  }
  LOWP_TARGET inline static words xor3(words const& a, words const& b, words const& c) {
    words::vector r = a.v;
    asm("vpternlogd $0x96, %2, %1, %0" : "+v"(r) : "v"(b.v), "v"(c.v));
    return words::of(r);
  }
  /// Finds the entries of index % 16, or of index % 32, in a table.
  template <std::size_t Size>
  LOWP_TARGET inline static void choose(words& found, std::array<std::uint32_t, Size> const& table,
                                        words const& index) {
    words::vector r = index.v, part[Size / 16];
    __builtin_memcpy(&part, &table, sizeof(part));
    if constexpr (Size == 16)
      asm("vpermd %1, %0, %0" : "+v"(r) : "v"(part[0]));
    else
      asm("vpermi2d %2, %1, %0" : "+v"(r) : "v"(part[0]), "v"(part[1]));
    found.v = r;
  }
  LOWP_TARGET inline static void lookup(words& found, std::uint32_t const* table,
                                        words const& index) {
    words::vector r;
    std::uint16_t all = 0xffff;
    // An emulated processor knows such indices in the first 16 registers only.
    asm("vpgatherdd (%2,%3,4), %0%{%1%}" : "=&v"(r), "+Yk"(all) : "r"(table), "x"(index.v));
    found.v = r;
  }
#undef LOWP_INSTRUCTION
#undef LOWP_TARGET
};

}  // namespace lowp::simd::inline LOWP_UNIT

LOWP_EXACT_END

template <>
struct lowp::lane<lowp::simd::bitmask> : lowp::simd::avx512 {};
