// SPDX-License-Identifier: Apache-2.0
// convert of double, long double and integers to float: in every mode and policy, once from the
// exact value.
#include <cfloat>
#include <cmath>
#include <random>

#include "support/support.hpp"

namespace {

using namespace lowp_test;

constexpr std::array<std::uint16_t, 6> draws{0, 1, 0x7fff, 0x8000, 0xfffe, 0xffff};

// Doubles at the end of each float, on both sides of it and of every tie. Random ones have every
// exponent.
std::vector<double> doubles() {
  std::vector<double> all{0, -0.0, 1e300, -1e300, 1e-300, -1e-300, HUGE_VAL, -HUGE_VAL, 0x1p-1074};
  for (std::uint32_t const bits : {0U, 1U, 2U, 0x7fffffU, 0x800000U, 0x800001U, 0x3f800000U,
                                   0x3f800001U, 0x7f7ffffeU, 0x7f7fffffU}) {
    double const x = float_of(bits);
    double const next = bits == 0x7f7fffffU ? 0x1p128 : double{float_of(bits + 1)};
    for (double const at : {x, x + (next - x) / 2, x + (next - x) / 4, x + (next - x) * 0x1p-17}) {
      for (double const near : {at, std::nextafter(at, HUGE_VAL), std::nextafter(at, -HUGE_VAL)}) {
        all.push_back(near);
        all.push_back(-near);
      }
    }
  }
  std::mt19937_64 random(3);
  for (int i = 0; i < 20'000; ++i) {
    std::uint64_t const bits = random();
    all.push_back(std::bit_cast<double>(bits));
    std::uint64_t const exponent = 1023 - 160 + bits % 300;
    all.push_back(std::bit_cast<double>((random() >> 12) | exponent << 52 | (bits >> 63) << 63));
  }
  return all;
}

template <class X, class R>
void check(X x, R rounding, oracle::mode mode, char const* name, std::uint32_t r = 0) {
  for (named_policy const& p : policies) {
    std::uint32_t const expected =
        oracle::encode(oracle::binary32, oracle::from(x), mode, p.policy, r);
    ASSERT_TRUE(has_bits(lowp::convert<float>(x, rounding, p.overflow), expected, x, name, p.name));
  }
}
template <class X>
void check_all_modes(X x) {
  for_each_mode([&](auto const& m) { check(x, m.rounding, m.mode, m.name); });
  for (std::uint16_t const r : draws)
    check(x, lowp::stochastic_bits{r}, oracle::mode::stochastic, "stochastic", r);
}

TEST(to_float, rounds_doubles_once) {
  for (double const x : doubles()) check_all_modes(x);
  for (std::uint64_t const bits : {0x7ff8000000000000U, 0xfff0000000000001U, 0x7ff123456789abcdU})
    check_all_modes(std::bit_cast<double>(bits));
}

TEST(to_float, rounds_integers_once) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 20'000; ++i) {
    auto const x = static_cast<std::int64_t>(random()) >> (i % 64);
    check_all_modes(x);
    check_all_modes(static_cast<std::uint64_t>(x));
    check_all_modes(static_cast<std::int32_t>(x));
    check_all_modes(static_cast<oracle::i128>(x) * x * (i % 2 == 0 ? 1 : -1));
  }
  check_all_modes(INT64_MIN);
  check_all_modes(UINT64_MAX);
}

#if LDBL_MANT_DIG == 64
TEST(to_float, rounds_long_doubles_once) {
  for (double const x : doubles()) {
    check_all_modes(static_cast<long double>(x));
    check_all_modes(std::nextafter(static_cast<long double>(x), 0.0L));
  }
}
#endif

static_assert(lowp::convert<float>(0.1) == 0.1f);
static_assert(lowp::convert<float>(16777217, lowp::upward{}) == 16777218.0f);

}  // namespace
