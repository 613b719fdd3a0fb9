// SPDX-License-Identifier: Apache-2.0
// NEON with FEAT_BF16: neon, and BFCVTN for bfloat16.
#pragma once

#include <lowp/simd/isa/neon.hpp>
#include <lowp/simd/operand.hpp>

#if defined(__linux__)
#include <sys/auxv.h>
#elif defined(__APPLE__)
// <sys/sysctl.h> does not compile where _POSIX_C_SOURCE hides its types.
extern "C" int sysctlbyname(char const*, void*, __SIZE_TYPE__*, void*, __SIZE_TYPE__);
#endif

LOWP_EXACT_BEGIN

namespace lowp::simd::inline LOWP_UNIT {

struct neon_bf16 : neon {
  static constexpr char name[] = "neon_bf16";
  static bool available() {
#if defined(__linux__)
    constexpr unsigned long has_bf16 = 1ul << 14;  // HWCAP2_BF16, which old headers lack
    return (getauxval(AT_HWCAP2) & has_bf16) != 0;
#elif defined(__APPLE__)
    int has_bf16 = 0;
    __SIZE_TYPE__ size = sizeof(has_bf16);
    return sysctlbyname("hw.optional.arm.FEAT_BF16", &has_bf16, &size, nullptr, 0) == 0 &&
           has_bf16 != 0;
#else
    return false;
#endif
  }

#if defined(__clang__)
#define LOWP_TARGET __attribute__((target("bf16")))
#else
#define LOWP_TARGET __attribute__((target("+bf16")))
#endif

  using base = neon;
  template <class Operand>
  static constexpr bool converts = writes_bfloat16<Operand>;

  template <class Kernel>
  LOWP_TARGET __attribute__((flatten)) LOWP_OPAQUE static void enter(Kernel const& kernel) {
    kernel.template body<neon_bf16>();
  }

  using neon::encode;
  /// Encodes. Returns false if a lane is a NaN and the codec must encode it. The instruction rounds
  /// to nearest even, and keeps subnormals and payloads, if FPCR is clear.
  template <bool LeavesNan>
  LOWP_TARGET inline static bool encode(std::type_identity<bfloat16>, nearest_even, halves& codes,
                                        reals const& x) {
    halves::vector r;
    asm("bfcvtn %0.4h, %1.4s" : "=w"(r) : "w"(x.v));
    codes.v = r;
    return !LeavesNan || !any(neon::unordered(x, x));
  }
  /// Refuses pairs: an instruction for each pack is faster than rounding two by additions.
  static mask_words unordered(reals const&, reals const&) = delete;
#undef LOWP_TARGET
};

}  // namespace lowp::simd::inline LOWP_UNIT

LOWP_EXACT_END
