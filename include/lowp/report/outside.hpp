// SPDX-License-Identifier: Apache-2.0
// Arithmetic outside of every kernel, in the kernels' environment: for members of reports.
#pragma once

#include <lowp/base/environment.hpp>
#include <lowp/lanes/scalar_lanes.hpp>

namespace lowp::detail {

LOWP_EXACT_BEGIN
inline namespace LOWP_UNIT {
template <class A, class B>
LOWP_OPAQUE_FN double plain_quotient(A a, B b, double otherwise) {
  return b > 0 ? static_cast<double>(a) / static_cast<double>(b) : otherwise;
}
LOWP_OPAQUE_FN double plain_root(double x) { return square_root(x); }
}  // namespace LOWP_UNIT
LOWP_EXACT_END

/// Returns a / b if b is above 0, else `otherwise`.
LOWP_FN double quotient(auto a, auto b, double otherwise) {
#if !defined(__CUDA_ARCH__)
  default_environment const environment;
#endif
  return plain_quotient(a, b, otherwise);
}
LOWP_FN double root(double x) {
#if !defined(__CUDA_ARCH__)
  default_environment const environment;
#endif
  return plain_root(x);
}

}  // namespace lowp::detail
