// SPDX-License-Identifier: Apache-2.0
// cast of integers of every size, on every backend, with the same bits as convert: around every
// power of two and every sum of two.
#include <limits>

#include "cast_numbers.hpp"

namespace {

using namespace lowp_test;
using lowp::bfloat16;
using lowp::float16;
using lowp::float8_e4m3fn;
using lowp::float8_e8m0fnu;

template <class I>
std::vector<I> integers() {
  std::mt19937_64 random(8);
  std::vector<I> all{0, 1, std::numeric_limits<I>::min(), std::numeric_limits<I>::max()};
  for (int bit = 0; bit < std::numeric_limits<I>::digits; ++bit) {
    for (int low = 0; low <= bit; ++low) {
      const auto x = static_cast<std::uint64_t>(I{1}) << bit;
      for (const std::uint64_t y : {x | x >> low, (x | x >> low) - 1, (x | x >> low) + 1}) {
        all.push_back(static_cast<I>(y));
        all.push_back(static_cast<I>(0 - y));
      }
    }
  }
  for (int i = 0; i < 20'000; ++i)
    all.push_back(static_cast<I>(static_cast<std::int64_t>(random()) >> (i % 64)));
  return all;
}

TEST(cast_integers, of_every_size) {
  check_nearest<bfloat16>(integers<std::int8_t>());
  check_nearest<float16>(integers<std::uint8_t>());
  check_nearest<bfloat16>(integers<std::int16_t>());
  check_nearest<float8_e4m3fn>(integers<std::uint16_t>());
  check_nearest<float16>(integers<std::int32_t>());
  check_nearest<bfloat16>(integers<std::uint32_t>());
  check_nearest<bfloat16>(integers<std::int64_t>());
  check_nearest<float8_e8m0fnu>(integers<std::uint64_t>());
}

TEST(cast_integers, in_other_modes) {
  check<float>(integers<std::int64_t>(), lowp::upward{}, oracle::mode::upward, "upward");
  check<float>(integers<std::int32_t>(), lowp::downward{}, oracle::mode::downward, "downward");
  check<bfloat16>(integers<std::uint64_t>(), lowp::to_odd{}, oracle::mode::to_odd, "to_odd");
  check_stochastic<bfloat16>(integers<std::int32_t>());
  check_stochastic<float16>(integers<std::int16_t>());
}

}  // namespace
