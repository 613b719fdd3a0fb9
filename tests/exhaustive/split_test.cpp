// SPDX-License-Identifier: Apache-2.0
// All 2^32 floats come back from their halves.
#include <gtest/gtest.h>
#include <lowp/lowp.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/all_floats.hpp"

namespace {

using namespace lowp_test;

// check(x, high, y) for every float pattern x: its high half, and what came back.
template <class H, class Check>
void for_all_floats(Check check) {
  constexpr std::size_t chunk = std::size_t{1} << 16;
  in_parallel((std::size_t{1} << 32) / chunk, [&](std::size_t i) {
    thread_local std::vector<float> in(chunk);
    thread_local std::vector<float> out(chunk);
    thread_local std::vector<H> high(chunk);
    thread_local std::vector<std::uint16_t> low(chunk);
    auto const first = static_cast<std::uint32_t>(i * chunk);
    for (std::size_t j = 0; j < chunk; ++j) in[j] = float_of(first + static_cast<std::uint32_t>(j));
    lowp::split(in, high, low);
    lowp::join(high, low, out);
    for (std::size_t j = 0; j < chunk; ++j) {
      std::uint32_t const x = first + static_cast<std::uint32_t>(j);
      if (check(x, high[j], float_bits(out[j]))) continue;
      ADD_FAILURE() << hex(x, 8) << " has the high half " << shown(high[j]) << " and became "
                    << shown(out[j]);
      return false;
    }
    return true;
  });
}

constexpr bool is_nan(std::uint32_t x) { return (x & 0x7fffffffU) > 0x7f800000U; }

TEST(split, all_floats_come_back_from_bfloat16_and_16_bits) {
  for_all_floats<lowp::bfloat16>([](std::uint32_t x, lowp::bfloat16 high, std::uint32_t y) {
    if (is_nan(x)) return high.bits() == (x >> 16 | 0x40U) && y == (x | 0x00400000U);
    return high.bits() == (x + 0x8000U) >> 16 && y == x;
  });
}

TEST(split, floats_that_are_normal_in_float16_come_back_from_it_and_16_bits) {
  for_all_floats<lowp::float16>([](std::uint32_t x, lowp::float16, std::uint32_t y) {
    std::uint32_t const magnitude = x & 0x7fffffffU;
    bool const is_normal = magnitude >= 0x38800000U && magnitude < 0x47800000U;  // 2^-14 to 2^16
    if (is_nan(x)) return y == (x | 0x00400000U);
    return !is_normal || x == y;
  });
}

}  // namespace
