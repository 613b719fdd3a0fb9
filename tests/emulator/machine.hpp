// SPDX-License-Identifier: Apache-2.0
// Features that the processor and its operating system report through CPUID and XGETBV.
#pragma once

#if defined(__x86_64__) && defined(__linux__)
#define LOWP_HAS_EMULATOR 1  // else the emulator's files compile to nothing

#include <array>
#include <cstdint>

namespace emulator {

struct cpuid_result {
  std::uint32_t eax, ebx, ecx, edx;
};
inline cpuid_result cpuid(std::uint32_t leaf, std::uint32_t subleaf) {
  cpuid_result r{};
  asm volatile("cpuid"
               : "=a"(r.eax), "=b"(r.ebx), "=c"(r.ecx), "=d"(r.edx)
               : "a"(leaf), "c"(subleaf));
  return r;
}

// The leaf that announces AVX512_BF16.
constexpr std::uint32_t bf16_leaf = 7;
constexpr std::uint32_t bf16_subleaf = 1;
constexpr std::uint32_t bf16_bit_of_eax = 1U << 5;

inline bool has_avx512_bf16() {
  return cpuid(0, 0).eax >= bf16_leaf && cpuid(bf16_leaf, 0).eax >= bf16_subleaf &&
         (cpuid(bf16_leaf, bf16_subleaf).eax & bf16_bit_of_eax) != 0;
}

// Components of the extended state, Intel SDM volume 1, section 13.1.
enum component { sse = 1, avx = 2, opmask = 5, zmm_high256 = 6, high16_zmm = 7, components = 8 };

// F, DQ, BW and VL, and an operating system that saves their registers.
inline bool has_avx512() {
  constexpr std::uint32_t saved_by_the_system = 1U << 27;
  if (cpuid(0, 0).eax < 0xd || (cpuid(1, 0).ecx & saved_by_the_system) == 0) return false;
  constexpr std::uint32_t features = 1U << 16 | 1U << 17 | 1U << 30 | 1U << 31;
  if ((cpuid(7, 0).ebx & features) != features) return false;
  std::uint32_t enabled = 0;
  std::uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(enabled), "=d"(high) : "c"(0));
  constexpr std::uint32_t needed =
      1U << sse | 1U << avx | 1U << opmask | 1U << zmm_high256 | 1U << high16_zmm;
  return (enabled & needed) == needed;
}

// The place of a component in the standard format of XSAVE.
struct component_place {
  std::uint32_t offset, size;
};
using state_layout = std::array<component_place, components>;
inline state_layout standard_layout() {
  state_layout places{};
  places[sse] = {160, 256};
  for (const component each : {avx, opmask, zmm_high256, high16_zmm}) {
    const cpuid_result r = cpuid(0xd, each);
    places[each] = {r.ebx, r.eax};
  }
  return places;
}

}  // namespace emulator

#endif
