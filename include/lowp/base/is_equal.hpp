// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/base/config.hpp>

namespace lowp::detail {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wfloat-equal"
/// Returns a == b, where a comparison of floating-point numbers is no mistake.
template <class T>
LOWP_FN constexpr bool is_equal(T a, T b) {
  return a == b;
}
#pragma GCC diagnostic pop

}  // namespace lowp::detail
