// SPDX-License-Identifier: Apache-2.0
// Overlaps within a list, against all pairs.
#include <gtest/gtest.h>
#include <lowp/update.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace {

struct range {
  std::uintptr_t begin, end;
  std::uint32_t tensor;
  bool is_written;
};

std::pair<std::uint32_t, std::uint32_t> find_overlap(std::vector<range> const& ranges) {
  lowp::detail::listed_arrays arrays;
  for (range const& each : ranges)
    arrays.add(reinterpret_cast<void const*>(each.begin), each.end - each.begin, each.tensor,
               each.is_written);
  return arrays.find_overlap();
}

bool overlap(range const& a, range const& b) {
  return a.tensor != b.tensor && (a.is_written || b.is_written) && a.begin < b.end &&
         b.begin < a.end;
}

bool any_overlap(std::vector<range> const& ranges) {
  for (range const& a : ranges)
    for (range const& b : ranges)
      if (overlap(a, b)) return true;
  return false;
}

range range_of(unsigned code) {
  unsigned const begin = code % 4;
  unsigned const size = code / 4 % 3 + 1;
  return {begin, begin + size, code / 12 % 3, code / 36 != 0};
}

TEST(tensor_list, finds_an_overlap_iff_there_is_one) {
  constexpr unsigned codes = 72;
  for (unsigned a = 0; a < codes; ++a)
    for (unsigned b = 0; b < codes; ++b)
      for (unsigned c = 0; c < codes; ++c) {
        std::vector<range> const ranges{range_of(a), range_of(b), range_of(c)};
        auto const [one, other] = find_overlap(ranges);
        ASSERT_EQ(one != other, any_overlap(ranges)) << a << ' ' << b << ' ' << c;
      }
}

TEST(tensor_list, without_ranges_has_no_overlap) { EXPECT_EQ(find_overlap({}), std::pair(0U, 0U)); }

// The longest of three ranges that begin together may be a tensor's own.
TEST(tensor_list, finds_an_overlap_behind_a_longer_range_of_the_same_tensor) {
  auto const [one, other] = find_overlap({{0, 4, 0, false}, {0, 8, 1, false}, {2, 6, 1, true}});
  EXPECT_EQ(one + other, 1U);
}

}  // namespace
