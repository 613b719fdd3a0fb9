// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include "result.hpp"

namespace flags_test {

inline void expect_conformance(conformance_result const& got) {
  EXPECT_EQ(got.fingerprint, got.expected) << std::hex << got.fingerprint;
  double const exact = 16 + 600000 * 0x1p-53;
  EXPECT_NEAR(got.sums.requested.value(), exact, 16e-12);
  EXPECT_NEAR(got.sums.applied.value(), exact, 16e-12);
}

}  // namespace flags_test
