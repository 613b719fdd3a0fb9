// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <lowp/report.hpp>

#include <cstdint>

namespace flags_test {

struct conformance_result {
  std::uint64_t fingerprint;
  lowp::update_report sums;  // of which no bits are promised, but accuracy
};

// What every unit must come to. It changes when `conformance` does, and then all units agree on
// another one; that its bits are the right ones is for other tests to say.
inline constexpr std::uint64_t expected_fingerprint = 0x7a1b5d7276d3aab8;

inline void expect_conformance(const conformance_result& got) {
  EXPECT_EQ(got.fingerprint, expected_fingerprint) << std::hex << got.fingerprint;
  const double exact = 16 + 600000 * 0x1p-53;
  EXPECT_NEAR(got.sums.requested.value(), exact, 16e-12);
  EXPECT_NEAR(got.sums.applied.value(), exact, 16e-12);
}

}  // namespace flags_test
