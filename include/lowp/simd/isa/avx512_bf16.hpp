// SPDX-License-Identifier: Apache-2.0
// AVX-512 with BF16: avx512, and VCVTNEPS2BF16 for bfloat16.
#pragma once

#include <lowp/simd/isa/avx512.hpp>
#include <lowp/simd/operand.hpp>

LOWP_EXACT_BEGIN

namespace lowp::simd::inline LOWP_UNIT {

struct avx512_bf16 : avx512 {
  static constexpr char name[] = "avx512_bf16";
  static bool available() { return avx512::available() && __builtin_cpu_supports("avx512bf16"); }

#define LOWP_TARGET __attribute__((target(LOWP_AVX512 ",avx512bf16")))

  using base = avx512;
  template <class Operand>
  static constexpr bool converts = writes_bfloat16<Operand>;

  template <class Kernel>
  LOWP_TARGET __attribute__((flatten)) LOWP_OPAQUE static void enter(Kernel const& kernel) {
    kernel.template body<avx512_bf16>();
  }

  using avx512::encode;
  /// Encodes. Returns false if a lane is subnormal, because the instruction flushes it whatever
  /// MXCSR says (Intel SDM volume 2, VCVTNEPS2BF16). The instruction converts a NaN; with LeavesNan
  /// the function returns false for it.
  template <bool LeavesNan>
  LOWP_TARGET inline static bool encode(std::type_identity<bfloat16>, nearest_even, halves& codes,
                                        reals const& x) {
    halves::vector r;
    asm("vcvtneps2bf16 %1, %0" : "=v"(r) : "v"(x.v));
    codes.v = r;
    return !any_of<LeavesNan ? subnormal | quiet_nan | signaling_nan : subnormal>(x);
  }
  /// Encodes, and decodes what it encoded. Returns false if a result is 0, as that of a subnormal
  /// would be, infinite or NaN.
  LOWP_TARGET inline static bool encode_all(nearest_even mode, halves& codes, words& bits,
                                            reals const& x) {
    encode<false>(std::type_identity<bfloat16>{}, mode, codes, x);
    reals now;
    decode(std::type_identity<bfloat16>{}, now, codes);
    bits = lowp::lanes::bits(now);
    return !any_of < zero | infinity | quiet_nan | signaling_nan > (now);
  }
  /// Refuses pairs: an instruction for each pack is faster than rounding two by additions.
  static bitmask unordered(reals const&, reals const&) = delete;
#undef LOWP_TARGET
};

}  // namespace lowp::simd::inline LOWP_UNIT

LOWP_EXACT_END
