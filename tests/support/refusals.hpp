// SPDX-License-Identifier: Apache-2.0
// The words of a call that refuses.
#pragma once

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace lowp_test {

template <class Call>
std::string refusal_of(Call const& call) {
  try {
    call();
  } catch (std::invalid_argument const& refusal) {
    return refusal.what();
  }
  return "not refused";
}

template <class Call>
void expect_refusal(Call const& call, std::string const& text) {
  EXPECT_EQ(refusal_of(call), text);
}

}  // namespace lowp_test
