// SPDX-License-Identifier: Apache-2.0
// Finds the rule that gives the results of a file.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "files/column.hpp"
#include "rules.hpp"

namespace judge {

/// Policies that are one for a format.
struct policy_group {
  lowp::special_codes codes;
  std::vector<named_policy const*> members;
};
std::vector<policy_group> policy_groups(number_type const& to);

/// A rule as a whole. Without `nans` the policy says what a NaN becomes.
struct whole_rule {
  number_rule numbers;
  policy_group policy;
  std::optional<nan_rule> nans;

  [[nodiscard]] std::uint64_t operator()(number_type const& from, number_type const& to,
                                         std::uint64_t code) const;
  /// Returns true if it is no fault: one rounding by a mode and a policy.
  [[nodiscard]] bool is_plain() const { return numbers.features() <= 1 && !nans; }
  [[nodiscard]] std::string text() const;
};

struct judgement {
  whole_rule rule;
  std::uint64_t count = 0, differing = 0;
  [[nodiscard]] bool is_exact() const { return differing == 0; }
};

/// Finds the rule with the fewest differences and features.
judgement judge_results(number_type const& from, number_type const& to, column const& in,
                        column const& out);

/// The results that differ from a rule, by class.
struct differences {
  static constexpr std::array<std::string_view, 7> classes{
      "exact", "normal", "tie", "subnormal", "overflow", "infinity", "NaN"};
  struct example {
    std::uint64_t in, out, right;
  };
  std::array<std::uint64_t, classes.size()> counts{};
  std::vector<example> first;  ///< at most three

  [[nodiscard]] std::uint64_t total() const;
  [[nodiscard]] std::string text(number_type const& from, number_type const& to) const;
};
differences differences_from(whole_rule const& rule, number_type const& from, number_type const& to,
                             column const& in, column const& out);

/// "1,795"
std::string grouped(std::uint64_t n);

}  // namespace judge
