// SPDX-License-Identifier: Apache-2.0
// Runs the tests, unless LOWP_ISA names a backend that this machine lacks. AVX512_BF16 is emulated
// if only it is lacking.
#include <gtest/gtest.h>
#include <lowp/simd/dispatch.hpp>

#include <cstdio>
#include <stdexcept>

#include "emulator/feature.hpp"

namespace {

void say_what_is_emulated() {
#if LOWP_HAS_EMULATOR
  switch (emulator::found()) {
    case emulator::presence::faked_cpuid:
      std::puts("AVX512_BF16: emulated; CPUID was made to announce it");
      break;
    case emulator::presence::faked_model:
      std::puts("AVX512_BF16: emulated; announced behind CPUID, which cannot be made to trap here");
      break;
    default:
      break;
  }
#endif
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  try {
    if (!GTEST_FLAG_GET(list_tests)) {
      say_what_is_emulated();
      lowp::isa();
    }
  } catch (std::runtime_error const& lacking) {
    std::printf("SKIPPED: %s\n", lacking.what());
    return 0;
  }
  return RUN_ALL_TESTS();
}
