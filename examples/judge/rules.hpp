// SPDX-License-Identifier: Apache-2.0
// Rules by behaviour: those of the library, and known faults. Each is the sum of a few features.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rounding.hpp"

namespace judge {

enum class flush : std::uint8_t { none, after_rounding, before_rounding };

/// The way of a number that is no NaN.
struct number_rule {
  mode rounding = mode::nearest_even;
  number_type const* through = nullptr;  ///< rounded to nearest even before
  bool flushes_inputs = false;           ///< subnormal inputs become zeros
  flush results = flush::none;           ///< subnormal results become zeros
  bool compares_first = false;           ///< overflow is decided before rounding
  bool loses_sign_of_zero = false;

  [[nodiscard]] int features() const;
  [[nodiscard]] std::string text() const;
  [[nodiscard]] rounded operator()(number_type const& from, number_type const& to,
                                   exact const& x) const;
};

/// All rules that can differ between these types, those with fewer features first.
std::vector<number_rule> number_rules(number_type const& from, number_type const& to);

/// The result of a NaN, if a policy does not say it.
struct nan_rule {
  std::string_view text;
  /// @param code  of the source
  std::uint64_t (*result)(number_type const& from, number_type const& to, std::uint64_t code);
  bool (*is_for)(number_type const& from, number_type const& to);
};
std::vector<nan_rule> nan_rules(number_type const& from, number_type const& to);

}  // namespace judge
