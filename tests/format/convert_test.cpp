// SPDX-License-Identifier: Apache-2.0
// convert, one value at a time: codes to float and back, and floats to codes around every change of
// the result.
#include <vector>

#include "support/boundaries.hpp"

namespace {

using namespace lowp_test;

constexpr std::array<std::uint16_t, 8> draws{0, 1, 2, 0x5a5a, 0x7fff, 0x8000, 0xfffe, 0xffff};

template <class T>
class convert : public testing::Test {};
TYPED_TEST_SUITE(convert, every_format, by_format);

TYPED_TEST(convert, decodes_every_code) {
  using T = TypeParam;
  for (std::uint32_t code = 0; code < code_count<T>; ++code) {
    T const x = of_code<T>(code);
    ASSERT_TRUE(has_bits(x, code));
    std::uint32_t const expected = oracle::decode_to_float_bits(facts<T>, code);
    ASSERT_TRUE(has_bits(lowp::convert<float>(x), expected, x));
    ASSERT_TRUE(has_bits(static_cast<float>(x), expected, x));
  }
}

// A signalling NaN comes back quiet (A4); all else is as it was, in every mode.
template <class T, class R>
void check_round_trip(R rounding, char const* name) {
  for (std::uint32_t code = 0; code < code_count<T>; ++code) {
    bool const keeps_payload = facts<T>.nans == oracle::nan_rule::ieee;
    bool const is_nan = oracle::decode(facts<T>, code).what == oracle::kind::nan;
    std::uint32_t const quiet = keeps_payload && is_nan ? (1U << facts<T>.significand_bits) / 2 : 0;
    float const x = lowp::convert<float>(of_code<T>(code));
    ASSERT_TRUE(has_bits(lowp::convert<T>(x, rounding, lowp::overflow::infinity), code | quiet,
                         of_code<T>(code), name));
  }
}

TYPED_TEST(convert, every_code_survives_a_round_trip) {
  for_each_mode([](auto const& m) { check_round_trip<TypeParam>(m.rounding, m.name); });
  for (std::uint16_t const r : draws) {
    check_round_trip<TypeParam>(lowp::stochastic_bits{r}, "stochastic");
  }
}

TYPED_TEST(convert, converting_to_the_same_format_copies_bits) {
  using T = TypeParam;
  for (std::uint32_t code = 0; code < code_count<T>; ++code) {
    T const x = of_code<T>(code);
    ASSERT_TRUE(has_bits(lowp::convert<T>(x, lowp::upward{}, lowp::overflow::cuda), code));
  }
}

TYPED_TEST(convert, bits_above_the_format_are_dropped) {
  using T = TypeParam;
  for (std::uint32_t code = 0; code < code_count<T>; ++code) {
    ASSERT_TRUE(has_bits(of_code<T>(code | ~(code_count<T> - 1)), code));
  }
}

template <class T, class R>
void check_samples(std::vector<sample> const& samples, R rounding, named_policy const& policy,
                   char const* name, std::uint32_t r = 0) {
  for (sample const& s : samples) {
    T const got = lowp::convert<T>(s.x, rounding, policy.overflow);
    ASSERT_TRUE(has_bits(got, s.code, s.x, name, r, policy.name));
  }
}

TYPED_TEST(convert, rounds_floats_at_every_boundary) {
  for (named_policy const& policy : policies) {
    for_each_mode([&](auto const& m) {
      auto const samples = boundaries(facts<TypeParam>, m.mode, policy.policy);
      check_samples<TypeParam>(samples, m.rounding, policy, m.name);
    });
  }
}

TYPED_TEST(convert, rounds_floats_stochastically_at_every_boundary) {
  for (named_policy const& policy : policies) {
    for (std::uint16_t const r : draws) {
      auto const samples = boundaries(facts<TypeParam>, oracle::mode::stochastic, policy.policy, r);
      check_samples<TypeParam>(samples, lowp::stochastic_bits{r}, policy, "stochastic", r);
    }
  }
}

// Far below the smallest code and far above the largest; just below and above a power of two.
TYPED_TEST(convert, rounds_doubles_of_every_exponent) {
  using T = TypeParam;
  for (std::uint64_t field = 0; field < 0x7ff; ++field) {
    for (std::uint64_t const significand : {std::uint64_t{0}, std::uint64_t{1},
                                            std::uint64_t{1} << 51, (std::uint64_t{1} << 52) - 1}) {
      for (std::uint64_t const sign : {std::uint64_t{0}, std::uint64_t{1} << 63}) {
        auto const x = std::bit_cast<double>(sign | field << 52 | significand);
        for_each_mode([&](auto const& m) {
          for (named_policy const& policy : policies) {
            T const got = lowp::convert<T>(x, m.rounding, policy.overflow);
            std::uint32_t const want =
                oracle::encode(facts<T>, oracle::from(x), m.mode, policy.policy);
            ASSERT_TRUE(has_bits(got, want, x, m.name, policy.name));
          }
        });
        for (std::uint16_t const r : draws) {
          T const got = lowp::convert<T>(x, lowp::stochastic_bits{r}, lowp::overflow::infinity);
          std::uint32_t const want = oracle::encode(
              facts<T>, oracle::from(x), oracle::mode::stochastic, oracle::policy::infinity, r);
          ASSERT_TRUE(has_bits(got, want, x, "stochastic", r));
        }
      }
    }
  }
}

TYPED_TEST(convert, default_is_nearest_even_with_the_default_policy) {
  using T = TypeParam;
  auto const policy = oracle::default_policy(facts<T>);
  for (sample const& s : boundaries(facts<T>, oracle::mode::nearest_even, policy)) {
    ASSERT_TRUE(has_bits(lowp::convert<T>(s.x), s.code, s.x));
    ASSERT_TRUE(has_bits(T(s.x), s.code, s.x));
  }
}

}  // namespace
