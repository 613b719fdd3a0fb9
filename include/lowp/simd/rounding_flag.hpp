// SPDX-License-Identifier: Apache-2.0
// The hardware's flag for a rounded result: it shows, at no cost, that sums in float were exact.
#pragma once

#include <lowp/base/environment.hpp>

namespace lowp::simd {

LOWP_EXACT_BEGIN

/// The precision flag of MXCSR (Intel SDM volume 1, 10.2.3.1), in a kernel, which has set MXCSR.
/// Values go through memory, so compilers move no operation on them across `clear` or `is_set_by`.
/// Other operations may set the flag without need.
class rounding_flag {
 public:
#if defined(__SSE__)
  static constexpr bool is_there = true;

  template <class V>
  LOWP_HOST_FN static V clear(V x) {
    std::uint32_t const state = detail::default_environment::mxcsr;
    asm volatile("ldmxcsr %1" : "+m"(x.v) : "m"(state));
    return x;
  }
  template <class V>
  LOWP_HOST_FN static bool is_set_by(V const& a, V const& b) {
    std::uint32_t state;
    asm volatile("stmxcsr %0" : "=m"(state) : "m"(a.v), "m"(b.v));
    return (state & precision) != 0;
  }

 private:
  static constexpr std::uint32_t precision = 0x20;
#else
  static constexpr bool is_there = false;

  template <class V>
  LOWP_HOST_FN static V clear(V const& x) {
    return x;
  }
  template <class V>
  LOWP_HOST_FN static bool is_set_by(V const&, V const&) {
    return true;
  }
#endif
};

LOWP_EXACT_END

}  // namespace lowp::simd
