// SPDX-License-Identifier: Apache-2.0
// The control register of floating point: MXCSR of x86, or FPCR of AArch64 with FPSR above it.
#pragma once

#include <cstdint>
#include <vector>

#if defined(__SSE2__) || defined(__aarch64__)
#define LOWP_TEST_CONTROL_REGISTER 1

namespace lowp_test {

using control = std::uint64_t;

#if defined(__SSE2__)

// Intel SDM volume 1, 10.2.3.
inline constexpr control default_control = 0x1f80, status_flags = 0x3f, traps = 0x1f80;
inline constexpr control roundings[] = {0, 0x2000, 0x4000, 0x6000};
inline constexpr control flushes[] = {0, 0x8000, 0x0040, 0x8040};  // FTZ, DAZ

inline control read_control() {
  std::uint32_t x = 0;
  asm volatile("stmxcsr %0" : "=m"(x)::"memory");
  return x;
}
inline void write_control(control state) {
  auto const x = static_cast<std::uint32_t>(state);
  asm volatile("ldmxcsr %0" ::"m"(x) : "memory");
}

#else

// Arm Architecture Reference Manual, C5.2.8 and C5.2.10. A processor clears what it lacks.
inline constexpr control default_control = 0, status_flags = control{0x9f} << 32, traps = 0x9f00;
inline constexpr control roundings[] = {0, 0x400000, 0x800000, 0xc00000};
// FZ, DN, AHP, FZ16, and AH with FIZ
inline constexpr control flushes[] = {0, 0x1000000, 0x2000000, 0x4000000, 0x80000, 0x3, 0x7080003};

inline control read_control() {
  std::uint64_t fpcr, fpsr;
  asm volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(fpcr), "=r"(fpsr)::"memory");
  return fpcr | fpsr << 32;
}
inline void write_control(control state) {
  asm volatile("msr fpcr, %0\n\tmsr fpsr, %1" ::"r"(state & 0xffffffff), "r"(state >> 32)
               : "memory");
}

#endif

/// Returns the states that this processor has: directions, ways to flush, and for each no flag, all
/// flags, or all traps.
inline std::vector<control> control_states() {
  std::vector<control> states;
  control const before = read_control();
  for (control const rounding : roundings)
    for (control const flush : flushes)
      for (control const rest :
           {default_control, default_control | status_flags, default_control ^ traps}) {
        write_control(rounding | flush | rest);
        states.push_back(read_control());
        write_control(before);
      }
  return states;
}

}  // namespace lowp_test

#endif
