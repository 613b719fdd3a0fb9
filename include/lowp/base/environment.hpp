// SPDX-License-Identifier: Apache-2.0
// The floating-point environment of a kernel: nearest even, subnormals kept, no trap. The caller's
// environment returns exactly, status flags included, even if an exception passes.
#pragma once

#include <lowp/base/config.hpp>

#include <cstdint>

namespace lowp::detail {

/// A scope with the kernel's environment. A function with such a scope must not compute in floating
/// point, because compilers move that work out. It calls a function marked LOWP_OPAQUE instead.
class default_environment {
 public:
#if defined(__SSE__)
  /// The MXCSR value with all exceptions masked and everything else clear (Intel SDM volume 1,
  /// 10.2.3).
  static constexpr std::uint32_t mxcsr = 0x1f80;

  LOWP_HOST_FN default_environment() {
    asm volatile("stmxcsr %0" : "=m"(callers_)::"memory");
    std::uint32_t const clear = mxcsr;
    asm volatile("ldmxcsr %0" ::"m"(clear) : "memory");
  }
  LOWP_HOST_FN ~default_environment() { asm volatile("ldmxcsr %0" ::"m"(callers_) : "memory"); }

 private:
  std::uint32_t callers_;
#else
  default_environment() {}
#endif
  default_environment(default_environment const&) = delete;
  default_environment& operator=(default_environment const&) = delete;
};

}  // namespace lowp::detail
