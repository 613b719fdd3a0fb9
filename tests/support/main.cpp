// SPDX-License-Identifier: Apache-2.0
// Runs the tests, unless LOWP_ISA names a backend that this machine or this program lacks.
#include <gtest/gtest.h>
#include <lowp/simd/dispatch.hpp>

#include <cstdio>
#include <stdexcept>

#include "support/backends.hpp"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  try {
    if (!GTEST_FLAG_GET(list_tests)) {
      lowp::isa();
#ifdef LOWP_TEST_BACKENDS
      if (!lowp::simd::tested::have(lowp::isa()))
        throw std::runtime_error("lowp: this program has no kernels of this backend");
#endif
    }
  } catch (std::runtime_error const& lacking) {
    std::printf("SKIPPED: %s\n", lacking.what());
    return 0;
  }
  return RUN_ALL_TESTS();
}
