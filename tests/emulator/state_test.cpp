// SPDX-License-Identifier: Apache-2.0
// The XSAVE area, on one that is made up.
#include "machine.hpp"

#include <gtest/gtest.h>

#if LOWP_HAS_EMULATOR

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "state.hpp"

namespace {

using namespace emulator;

constexpr state_layout layout{
    {{0, 0}, {160, 256}, {576, 256}, {0, 0}, {0, 0}, {832, 64}, {896, 512}, {1408, 1024}}};

class state : public testing::Test {
 protected:
  state() { area_.fill(0xa5); }
  void set_in_use(std::uint64_t components) {
    std::memcpy(&area_[512], &components, sizeof components);
  }
  std::uint64_t in_use() const {
    std::uint64_t components = 0;
    std::memcpy(&components, &area_[512], sizeof components);
    return components;
  }
  vector_state registers() { return {area_.data(), layout}; }

  std::array<std::uint8_t, 2432> area_;
};

vector numbered(int first) {
  vector v;
  for (std::size_t i = 0; i < v.data.size(); ++i)
    v.data[i] = static_cast<std::uint8_t>(static_cast<std::size_t>(first) + i);
  return v;
}

TEST_F(state, not_in_use_reads_as_zero) {
  set_in_use(0);
  for (int reg = 0; reg < 32; ++reg) EXPECT_EQ(registers().read(reg).data, vector{}.data);
  for (int k = 0; k < 8; ++k) EXPECT_EQ(registers().read_mask(k), 0U);
}

TEST_F(state, parts_are_in_use_one_by_one) {
  set_in_use(1U << avx);
  vector expected;
  for (std::size_t i = 16; i < 32; ++i) expected.data[i] = 0xa5;
  EXPECT_EQ(registers().read(15).data, expected.data);
  EXPECT_EQ(registers().read(16).data, vector{}.data);
}

TEST_F(state, written_is_in_use_and_its_neighbours_are_zero) {
  for (const int reg : {0, 15, 16, 31}) {
    set_in_use(0);
    registers().write(reg, numbered(reg));
    EXPECT_EQ(in_use(), reg < 16 ? 1U << sse | 1U << avx | 1U << zmm_high256 : 1U << high16_zmm);
    for (int other = 0; other < 32; ++other)
      EXPECT_EQ(registers().read(other).data, other == reg ? numbered(reg).data : vector{}.data);
  }
}

TEST_F(state, every_register_has_its_own_place) {
  set_in_use(0xe6);
  for (int reg = 0; reg < 32; ++reg) registers().write(reg, numbered(3 * reg));
  for (int reg = 0; reg < 32; ++reg) EXPECT_EQ(registers().read(reg).data, numbered(3 * reg).data);
  for (int k = 0; k < 8; ++k) EXPECT_EQ(registers().read_mask(k), 0xa5a5a5a5a5a5a5a5U);
  EXPECT_EQ(in_use(), 0xe6U);
  for (const std::size_t beside : {159U, 416U, 575U, 895U}) EXPECT_EQ(area_[beside], 0xa5);
}

TEST_F(state, is_there_if_the_kernel_says_so) {
  const std::uint64_t room = 0xe7;
  const std::uint32_t magic = 0x46505853;
  std::memcpy(&area_[472], &room, sizeof room);
  EXPECT_FALSE(registers().has_avx512());
  std::memcpy(&area_[464], &magic, sizeof magic);
  EXPECT_TRUE(registers().has_avx512());
  const std::uint64_t without_masks = 0xc7;
  std::memcpy(&area_[472], &without_masks, sizeof without_masks);
  EXPECT_FALSE(registers().has_avx512());
}

}  // namespace

#endif
