// SPDX-License-Identifier: Apache-2.0
// Nor does what the caller left in MXCSR change a bit: all of `conformance` in every state of it.
// ../environment_test.cpp looks closer at single operations.
#include <gtest/gtest.h>

#include <cstdint>

#include "expectation.hpp"

flags_test::conformance_result o2();

#if defined(__SSE__)

namespace {

// Intel SDM volume 1, 10.2.3.
constexpr std::uint32_t status_flags = 0x3f;
constexpr std::uint32_t denormals_are_zero = 1U << 6;
constexpr std::uint32_t masks = 0x3fU << 7;
constexpr std::uint32_t rounding = 1U << 13;  // 0 to 3 times this
constexpr std::uint32_t flush_to_zero = 1U << 15;

std::uint32_t mxcsr() {
  std::uint32_t x = 0;
  asm volatile("stmxcsr %0" : "=m"(x)::"memory");
  return x;
}
void set_mxcsr(std::uint32_t x) { asm volatile("ldmxcsr %0" ::"m"(x) : "memory"); }

struct outcome {
  flags_test::conformance_result result;
  std::uint32_t after;
};
// No floating-point operation of the test itself comes between setting and reading.
__attribute__((noinline)) outcome under(std::uint32_t setting) {
  const std::uint32_t before = mxcsr();
  set_mxcsr(setting);
  outcome x{o2(), 0};
  x.after = mxcsr();
  set_mxcsr(before);
  return x;
}

TEST(flags, of_mxcsr_change_no_bit) {
  for (std::uint32_t direction = 0; direction < 4; ++direction)
    for (const std::uint32_t flush : {0U, flush_to_zero})
      for (const std::uint32_t denormals : {0U, denormals_are_zero})
        for (const std::uint32_t rest : {masks, masks | status_flags, masks & ~(0x1aU << 7), 0U}) {
          const std::uint32_t setting = direction * rounding | flush | denormals | rest;
          const outcome x = under(setting);
          EXPECT_EQ(x.after, setting);
          flags_test::expect_conformance(x.result);
          if (HasFailure()) FAIL() << "MXCSR was " << std::hex << setting;
        }
}

}  // namespace

#endif
