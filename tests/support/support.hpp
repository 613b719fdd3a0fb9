// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of the library: modes and policies beside the oracle's, codes and their
// values, and comparisons of bits. Messages of a comparison show every bit involved.
#pragma once

#include <gtest/gtest.h>
#include <lowp/lowp.hpp>

#include <array>
#include <bit>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "backends.hpp"
#include "formats.hpp"
#include "oracle/codec.hpp"

namespace lowp_test {

// A mode of the library beside the oracle's.
template <class R>
struct named_mode {
  R rounding;
  oracle::mode mode;
  char const* name;
};
template <class R>
named_mode(R, oracle::mode, char const*) -> named_mode<R>;  // clang 14 does not find it by itself

inline constexpr std::tuple deterministic_modes{
    named_mode{lowp::nearest_even{}, oracle::mode::nearest_even, "nearest_even"},
    named_mode{lowp::nearest_away{}, oracle::mode::nearest_away, "nearest_away"},
    named_mode{lowp::toward_zero{}, oracle::mode::toward_zero, "toward_zero"},
    named_mode{lowp::upward{}, oracle::mode::upward, "upward"},
    named_mode{lowp::downward{}, oracle::mode::downward, "downward"},
    named_mode{lowp::to_odd{}, oracle::mode::to_odd, "to_odd"}};

template <class Fn>
void for_each_mode(Fn&& fn) {
  std::apply([&](auto const&... m) { (fn(m), ...); }, deterministic_modes);
}

struct named_policy {
  lowp::overflow overflow;
  oracle::policy policy;
  char const* name;
};
inline constexpr std::array policies{
    named_policy{lowp::overflow::infinity, oracle::policy::infinity, "infinity"},
    named_policy{lowp::overflow::saturate, oracle::policy::saturate, "saturate"}};

template <class T>
inline constexpr std::uint32_t code_count = 1U << facts<T>.bits();

template <class T>
constexpr T of_code(std::uint32_t code) {
  return T::from_bits(static_cast<typename T::storage>(code));
}

constexpr std::uint32_t float_bits(float x) { return std::bit_cast<std::uint32_t>(x); }
constexpr float float_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }

// Exact for every code of a narrow format. NaN comes out as NaN.
inline double value_of(oracle::facts const& f, std::uint32_t code) {
  return std::bit_cast<double>(oracle::encode_wide(oracle::binary64, oracle::decode(f, code),
                                                   oracle::mode::nearest_even,
                                                   oracle::policy::infinity));
}

// The code of a NaN that the library computes; negative zero if the format has no NaN.
constexpr std::uint32_t canonical_nan(oracle::facts const& f) {
  return static_cast<std::uint32_t>(oracle::encode_nan(f, false, oracle::quiet_payload));
}

// Not inlined, for these are the parts that a test never runs while it passes.
__attribute__((noinline)) inline std::string hex(std::uint64_t x, int digits) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "0x%0*llx", digits, static_cast<unsigned long long>(x));
  return text.data();
}

template <class X>
__attribute__((noinline)) std::string shown(X const& x) {
  std::array<char, 64> text{};
  if constexpr (lowp::narrow<X>) {
    return hex(x.bits(), 2 * static_cast<int>(sizeof x));
  } else if constexpr (std::same_as<X, float>) {
    std::snprintf(text.data(), text.size(), "%s (%a)", hex(float_bits(x), 8).c_str(), double{x});
  } else if constexpr (std::same_as<X, double>) {
    std::snprintf(text.data(), text.size(), "%s (%a)",
                  hex(std::bit_cast<std::uint64_t>(x), 16).c_str(), x);
  } else if constexpr (std::same_as<X, long double>) {
    std::snprintf(text.data(), text.size(), "%La", x);
  } else if constexpr (std::is_convertible_v<X, std::string_view>) {
    return std::string(std::string_view(x));
  } else if constexpr (X(-1) < X(0)) {
    std::snprintf(text.data(), text.size(), "%lld", static_cast<long long>(x));
  } else {
    std::snprintf(text.data(), text.size(), "%llu", static_cast<unsigned long long>(x));
  }
  return text.data();
}

__attribute__((noinline)) inline testing::AssertionResult differs(
    char const* name, int digits, std::uint32_t got, std::uint32_t expected,
    std::initializer_list<std::string> inputs) {
  auto result = testing::AssertionFailure() << name << " from";
  for (std::string const& input : inputs) result << ' ' << input;
  return result << ": expected " << hex(expected, digits) << ", got " << hex(got, digits);
}

// ASSERT_TRUE(has_bits(got, expected_code, whatever, led, to, it));
template <lowp::element T, class... In>
__attribute__((noinline)) testing::AssertionResult has_bits(T got, std::uint32_t expected,
                                                            In const&... inputs) {
  if constexpr (std::same_as<T, float>) {
    if (float_bits(got) == expected) return testing::AssertionSuccess();
    return differs("float", 8, float_bits(got), expected, {shown(inputs)...});
  } else {
    if (got.bits() == expected) return testing::AssertionSuccess();
    return differs(facts<T>.name, 2 * static_cast<int>(sizeof got), got.bits(), expected,
                   {shown(inputs)...});
  }
}

// The results of all comparisons, one bit each. Not inlined. g++ 12 at -O2 gets long chains of
// floating-point comparisons wrong if it knows that one operand may be NaN.
template <class A, class B>
__attribute__((noinline)) unsigned comparisons(A a, B b) {
  auto const order = a <=> b;
  return unsigned{a == b} << 0 | unsigned{a != b} << 1 | unsigned{a < b} << 2 |
         unsigned{a > b} << 3 | unsigned{a <= b} << 4 | unsigned{a >= b} << 5 |
         unsigned{order == 0} << 6 | unsigned{order < 0} << 7 | unsigned{order > 0} << 8;
}

// Codes that reach the corners more often than uniform ones would.
template <class T>
class codes {
 public:
  explicit codes(std::uint64_t seed) : engine_(seed) {}

  T next() {
    std::uint64_t const random = engine_();
    auto const low = static_cast<std::uint32_t>(random) & (code_count<T> - 1);
    auto const extra = static_cast<std::uint32_t>(random >> 32);
    switch (random >> 61) {
      case 0: {  // zero, the smallest, the borders of the range and what lies beyond, both signs
        constexpr auto top = static_cast<std::uint32_t>(facts<T>.max_code());
        constexpr std::uint32_t border = 1U << facts<T>.significand_bits;
        std::array const special{0U,      1U,          2U,         border - 1, border,
                                 top - 1, top,         top + 1,    top + 2,    top + 3,
                                 3U,      border + 1U, 2 * border, top / 2,    top / 2 + border};
        return of_code<T>(special[extra % special.size()] | (low & sign));
      }
      case 1:  // subnormal
        return of_code<T>(low & (sign | ((1U << facts<T>.significand_bits) - 1)));
      case 2:  // near one
        return of_code<T>(((one + extra % 64 - 32) & magnitude) | (low & sign));
      case 3:  // near the code before: cancellation, equal exponents
        last_ = (last_ + extra % 9 - 4) & (code_count<T> - 1);
        return of_code<T>(last_);
      default:
        last_ = low;
        return of_code<T>(low);
    }
  }

 private:
  static constexpr auto sign = static_cast<std::uint32_t>(facts<T>.sign_mask());
  static constexpr auto magnitude = static_cast<std::uint32_t>(facts<T>.magnitude_mask());
  static constexpr auto one = static_cast<std::uint32_t>(facts<T>.bias)
                              << facts<T>.significand_bits;
  std::mt19937_64 engine_;
  std::uint32_t last_ = 0;
};

}  // namespace lowp_test
