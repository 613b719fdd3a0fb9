// SPDX-License-Identifier: Apache-2.0
// Nor does what the caller left in MXCSR or FPCR change a bit: all of `conformance` in every state.
// ../../base/environment_test.cpp looks closer at single operations.
#include <gtest/gtest.h>

#include <cstdint>

#include "expectation.hpp"
#include "support/control_register.hpp"

flags_test::conformance_result o2();

#if defined(LOWP_TEST_CONTROL_REGISTER)

namespace {

using namespace lowp_test;

struct outcome {
  flags_test::conformance_result result;
  control after;
};
// No floating-point operation of the test itself comes between setting and reading.
__attribute__((noinline)) outcome under(control setting) {
  control const before = read_control();
  write_control(setting);
  outcome x{o2(), 0};
  x.after = read_control();
  write_control(before);
  return x;
}

TEST(flags, of_a_control_register_change_no_bit) {
  for (control const setting : control_states()) {
    outcome const x = under(setting);
    EXPECT_EQ(x.after, setting);
    flags_test::expect_conformance(x.result);
    if (HasFailure()) FAIL() << "the control register was " << std::hex << setting;
  }
}

}  // namespace

#endif
