// SPDX-License-Identifier: Apache-2.0
// A number as text for errors, without <string>.
#pragma once

#include <lowp/base/environment.hpp>

#include <charconv>

namespace lowp::detail::inline LOWP_UNIT {

/// The shortest text that reads back as the same number, for an error text.
struct shortest_text {
  char text[32];

  explicit shortest_text(auto value) {
    default_environment const environment;  // otherwise a subnormal may be "0"
    *std::to_chars(text, text + sizeof(text) - 1, value).ptr = '\0';
  }
};

}  // namespace lowp::detail::inline LOWP_UNIT
