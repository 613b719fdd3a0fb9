// SPDX-License-Identifier: Apache-2.0
// Two units take the library with different flags (-O0; -O3 with AVX2 and FMA) and meet here.
#include <gtest/gtest.h>

#include <vector>

#include "support/tour.hpp"

std::vector<unsigned char> plain_tour();
std::vector<unsigned char> tuned_tour();

// The plain unit also runs on machines that the tuned one does not fit. It must not have its code.
TEST(Units, PlainUnitAgreesWithThisOne) { EXPECT_EQ(plain_tour(), tour()); }

TEST(Units, TunedUnitAgreesWithThePlainOne) {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    GTEST_SKIP() << "this processor has no AVX2 or FMA";
  }
#endif
  EXPECT_EQ(tuned_tour(), plain_tour());
}
