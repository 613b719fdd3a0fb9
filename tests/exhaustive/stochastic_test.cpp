// SPDX-License-Identifier: Apache-2.0
// All 2^32 floats, into every format, rounded stochastically by packs. Each is rounded like one
// value with the same 16 bits, which all_floats_test.cpp holds against the oracle.
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "oracle/philox.hpp"
#include "support/all_floats.hpp"

namespace {

using namespace lowp_test;

template <class T>
class all_floats_at_random : public testing::Test {};
TYPED_TEST_SUITE(all_floats_at_random, all_formats, by_format);

// Random bits repeat with this period, which shares no factor with the floats of one code.
constexpr std::size_t period = 8 * 4099;

TYPED_TEST(all_floats_at_random, packs_round_as_one_value_does) {
  using T = TypeParam;
  constexpr std::size_t chunk = period * 32;
  constexpr std::uint64_t floats = std::uint64_t{1} << 32;
  std::vector<std::uint16_t> bits(period);
  for (std::size_t i = 0; i < period; ++i)
    bits[i] = static_cast<std::uint16_t>(oracle::random16(3, 4, i, 0));

  std::atomic<std::uint64_t> wrong{floats};  // the first one
  in_parallel(floats / chunk + 1, [&](std::size_t number) {
    std::uint64_t const first = number * chunk;
    std::vector<float> x;
    std::vector<T> got;
    for (std::uint64_t at = first; at < std::min(first + chunk, floats); at += period) {
      x.resize(std::min<std::uint64_t>(period, floats - at));
      got.resize(x.size());
      for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = float_of(static_cast<std::uint32_t>(at + i));
      lowp::cast(x, got, lowp::stochastic{.seed = 3, .stream = 4});
      for (std::size_t i = 0; i < x.size(); ++i) {
        T const want = lowp::convert<T>(x[i], lowp::stochastic_bits{bits[i]});
        if (got[i].bits() != want.bits()) wrong = std::min<std::uint64_t>(wrong, at + i);
      }
    }
    return wrong == floats;
  });
  EXPECT_EQ(wrong, floats) << "differs at the float " << hex(wrong, 8);
}

}  // namespace
