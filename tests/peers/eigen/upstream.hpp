// SPDX-License-Identifier: Apache-2.0
// Puts lowp's type OURS in the place of Eigen's, for upstream_test.cmake.
#pragma once

#include <lowp/cast.hpp>
#include <lowp/io.hpp>
#include <lowp/value.hpp>

#include <ranges>

#include "main.h"  // defines min and max as macros
//
#include <lowp/eigen.hpp>

// Overloads of main.h name Eigen's scalars. Without this, ours would be compared as floats.
namespace lowp {
inline bool test_isApprox(OURS a, OURS b) {
  return Eigen::internal::isApprox(a, b, Eigen::test_precision<OURS>());
}
}  // namespace lowp

namespace Eigen {
using ours = lowp::OURS;

// A code, as the constructors of Eigen's types take it.
struct ours_raw {
  explicit ours_raw(unsigned short code) : value(ours::from_bits(code)) {}
  operator float() const { return value; }
  ours value;
};
namespace half_impl {
using Eigen::ours_raw;
}
namespace bfloat16_impl {
using Eigen::ours_raw;
}
}  // namespace Eigen

#define __half_raw ours_raw
#define __bfloat16_raw ours_raw
#if defined(THEIRS_IS_half)
#define half ours
#else
#define bfloat16 ours
#endif
