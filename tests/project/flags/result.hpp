// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/report/update_report.hpp>

#include <cstdint>

namespace flags_test {

// It changes when `conformance` does, and then all units agree on another one. Other tests say that
// its bits are right. Units with LOWP_TEST_SOME may share a program with others.
#ifndef LOWP_TEST_SOME
constexpr std::uint64_t expected_fingerprint = 0x84aa927c159407db;
#else
constexpr std::uint64_t expected_fingerprint = 0x602ba51043f042ff;
#endif

struct conformance_result {
  std::uint64_t fingerprint, expected;
  lowp::update_report sums;  // of which no bits are promised, but accuracy
};

}  // namespace flags_test
