// SPDX-License-Identifier: Apache-2.0
// Compiles a loop once for each vector width, without flags on the command line.
#pragma once

#include <cstddef>

namespace bench {

/// A width of vector registers that compilers can be asked to use.
enum class registers : std::size_t { baseline = 16, avx2 = 32, avx512 = 64 };

inline constexpr registers all_registers[] = {registers::baseline, registers::avx2,
                                              registers::avx512};

inline char const* name_of(registers width) {
  return width == registers::avx512 ? "avx512" : width == registers::avx2 ? "avx2" : "baseline";
}

inline bool available(registers width) {
#if defined(__x86_64__)
  if (width == registers::avx512)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           available(registers::avx2);
  // Whatever has AVX2 has F16C, for which clang 14 cannot ask.
  if (width == registers::avx2)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
  return width == registers::baseline;
}

inline registers widest() {
  registers widest = registers::baseline;
  for (registers width : all_registers)
    if (available(width)) widest = width;
  return widest;
}

template <class Loop>
void run_baseline(Loop const& loop) {
  loop.template operator()<registers::baseline>();
}

#if defined(__x86_64__)
template <class Loop>
__attribute__((target("avx2,fma,f16c"), flatten)) void run_avx2(Loop const& loop) {
  loop.template operator()<registers::avx2>();
}
template <class Loop>
__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma,f16c"), flatten)) void run_avx512(
    Loop const& loop) {
  loop.template operator()<registers::avx512>();
}
#endif

/// Calls loop.operator()<width>(), which is to be always_inline, in a function compiled for
/// `width`.
template <class Loop>
void run(registers width, Loop const& loop) {
#if defined(__x86_64__)
  if (width == registers::avx512) return run_avx512(loop);
  if (width == registers::avx2) return run_avx2(loop);
#endif
  (void)width;
  run_baseline(loop);
}

}  // namespace bench
