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
  check<float>(integers<std::uint32_t>(), lowp::toward_zero{}, oracle::mode::toward_zero, "zero");
  check<bfloat16>(integers<std::uint64_t>(), lowp::to_odd{}, oracle::mode::to_odd, "to_odd");
  check_stochastic<bfloat16>(integers<std::int32_t>());
  check_stochastic<float16>(integers<std::int16_t>());
  check_stochastic<bfloat16>(integers<std::uint64_t>());
  check_stochastic<float16>(integers<std::int64_t>());
  check_stochastic<float>(integers<std::uint32_t>());
  check_stochastic<float>(integers<std::int64_t>());
}

}  // namespace
