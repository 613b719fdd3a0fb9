// SPDX-License-Identifier: Apache-2.0
// The feature bit: CPUID's answer once it traps, and the bit that decides the backend.
#include "feature.hpp"

#include <gtest/gtest.h>

#if LOWP_HAS_EMULATOR

#include <array>
#include <cstdint>

#include "machine.hpp"

namespace {

using namespace emulator;

struct registers {
  std::array<greg_t, NGREG> values{};
  greg_t& operator[](int which) { return values[static_cast<std::size_t>(which)]; }
};

int turned_off, turned_on;
bool record(bool on) {
  ++(on ? turned_on : turned_off);
  return true;
}

cpuid_result answer(std::uint32_t leaf, std::uint32_t subleaf) {
  static constexpr std::array<std::uint8_t, 2> code{0x0f, 0xa2};
  registers r;
  r[REG_RIP] = reinterpret_cast<greg_t>(code.data());
  // The upper halves do not count.
  r[REG_RAX] = static_cast<greg_t>(std::uint64_t{leaf} | std::uint64_t{7} << 32);
  r[REG_RCX] = static_cast<greg_t>(std::uint64_t{subleaf} | std::uint64_t{7} << 32);
  EXPECT_TRUE(answer_cpuid(r.values.data(), record));
  EXPECT_EQ(r[REG_RIP], reinterpret_cast<greg_t>(code.data() + 2));
  for (const int reg : {REG_RAX, REG_RBX, REG_RCX, REG_RDX}) EXPECT_EQ(r[reg] >> 32, 0);
  const auto low = [&](int reg) { return static_cast<std::uint32_t>(r[reg]); };
  return {low(REG_RAX), low(REG_RBX), low(REG_RCX), low(REG_RDX)};
}

TEST(feature, is_all_that_a_trapped_cpuid_adds) {
  for (const std::uint32_t leaf : {0U, 7U, 0xdU, 0x80000000U}) {
    for (std::uint32_t subleaf = 0; subleaf < 3; ++subleaf) {
      cpuid_result expected = cpuid(leaf, subleaf);
      if (leaf == 7 && subleaf == 0 && expected.eax == 0) expected.eax = 1;
      if (leaf == 7 && subleaf == 1) expected.eax |= 1U << 5;
      const cpuid_result got = answer(leaf, subleaf);
      EXPECT_EQ(got.eax, expected.eax);
      EXPECT_EQ(got.ebx, expected.ebx);
      EXPECT_EQ(got.ecx, expected.ecx);
      EXPECT_EQ(got.edx, expected.edx);
    }
  }
  EXPECT_EQ(turned_off, turned_on);
  EXPECT_GT(turned_on, 0);
}

TEST(feature, leaves_other_faults_alone) {
  static constexpr std::array<std::uint8_t, 2> code{0x0f, 0x0b};
  registers r;
  r[REG_RIP] = reinterpret_cast<greg_t>(code.data());
  EXPECT_FALSE(answer_cpuid(r.values.data(), record));
  EXPECT_EQ(r[REG_RIP], reinterpret_cast<greg_t>(code.data()));
}

TEST(feature, is_in_cpuid_while_it_is_faked) {
  const bool there = has_avx512_bf16();
  if (!fake_cpuid()) GTEST_SKIP() << "CPUID cannot be made to trap here";
  const bool faked = has_avx512_bf16();
  restore_cpuid();
  EXPECT_TRUE(faked);
  EXPECT_EQ(has_avx512_bf16(), there);
}

TEST(feature, is_what_the_run_time_remembers) {
  const bool there = __builtin_cpu_supports("avx512bf16");
  for (const bool present : {false, true, there}) {
    fake_model(present);
    EXPECT_EQ(__builtin_cpu_supports("avx512bf16") != 0, present);
  }
}

}  // namespace

#endif
