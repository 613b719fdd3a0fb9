// SPDX-License-Identifier: Apache-2.0
// Parses the command line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <lowp/format/overflow.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

struct target;

/// The fate of the tensors of a model, in an audit as in a conversion.
struct plan {
  std::string model;
  target const* to = nullptr;
  bool is_scaled = false;         ///< a power of two for each tensor that needs one
  std::vector<std::string> keep;  ///< regular expressions: tensors that stay in their type
};

struct audit_options {
  plan what;
  double flushed = 0;      ///< the largest share of a tensor that may be flushed
  std::size_t top = 25;    ///< rows of the table; 0: all
  std::string json, html;  ///< empty: none
};

struct convert_options {
  plan what;
  std::string out;
  bool is_stochastic = false;
  bool is_fast = false;  ///< with the draws of stochastic_fast
  std::uint64_t seed = 1;
  std::optional<lowp::overflow> overflow;  ///< none: the format's default
};

struct diff_options {
  std::string a, b;
  std::optional<double> within;  ///< ulps
  std::size_t top = 25;
  std::string json;  ///< empty: none
};

using options = std::variant<audit_options, convert_options, diff_options>;

/// @throws problem  there is no such option, or a value is out of its range
/// @return the text to print where --help was all that was asked for
std::variant<options, std::string> parse(std::vector<std::string> arguments);
