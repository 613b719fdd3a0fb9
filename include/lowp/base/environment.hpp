// SPDX-License-Identifier: Apache-2.0
// The floating-point environment of a kernel: nearest even, subnormals kept, no trap. The caller's
// environment returns exactly, status flags included, even if an exception passes.
#pragma once

#include <lowp/base/config.hpp>

namespace lowp::detail {

/// A scope with the kernel's environment. A function with such a scope must not compute in floating
/// point, because compilers move that work out. It calls a function marked LOWP_OPAQUE instead.
class default_environment {
 public:
#if defined(__aarch64__) && !defined(__CUDA_ARCH__)
  /// Clears FPCR, which also keeps NaN payloads (Arm Architecture Reference Manual, C5.2.8).
  LOWP_HOST_FN default_environment() {
    asm volatile("mrs %0, fpcr\n\tmrs %1, fpsr\n\tmsr fpcr, xzr"
                 : "=&r"(callers_), "=r"(callers_flags_)::"memory");
  }
  LOWP_HOST_FN ~default_environment() {
    asm volatile("msr fpcr, %0\n\tmsr fpsr, %1" ::"r"(callers_), "r"(callers_flags_) : "memory");
  }

 private:
  std::uint64_t callers_, callers_flags_;
#elif defined(__SSE__) && !defined(__CUDA_ARCH__)
  /// All exceptions masked, everything else clear (Intel SDM volume 1, 10.2.3).
  static constexpr std::uint32_t mxcsr = 0x1f80;

  // A load that changes the register stalls later calls, and inexact results are flagged already.
  LOWP_HOST_FN default_environment() : callers_(read()) {
    if ((callers_ | flags) != (mxcsr | flags)) load(mxcsr);
  }
  LOWP_HOST_FN ~default_environment() {
    if (read() != callers_) load(callers_);
  }

 private:
  static constexpr std::uint32_t flags = 0x3f;

  LOWP_HOST_FN static std::uint32_t read() {
    std::uint32_t value;
    asm volatile("stmxcsr %0" : "=m"(value)::"memory");
    return value;
  }
  LOWP_HOST_FN static void load(std::uint32_t value) {
    asm volatile("ldmxcsr %0" ::"m"(value) : "memory");
  }

  std::uint32_t callers_;
#else
  LOWP_FN default_environment() {}  // a GPU has no other environment
#endif
  default_environment(default_environment const&) = delete;
  default_environment& operator=(default_environment const&) = delete;
};

}  // namespace lowp::detail
