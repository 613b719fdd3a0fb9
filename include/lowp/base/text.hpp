// SPDX-License-Identifier: Apache-2.0
// Numbers as text for errors and reports.
#pragma once

#include <lowp/base/config.hpp>

#include <charconv>
#include <string>

namespace lowp::detail::inline LOWP_UNIT {

/// Returns the shortest text that reads back as the same number.
std::string text_of(auto value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), value).ptr};
}

/// Returns `value` with three significant digits, for a number that needs no more.
inline std::string rough_text_of(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), value, std::chars_format::general, 3).ptr};
}
inline std::string rough_text_of(float value) { return rough_text_of(static_cast<double>(value)); }
/// Returns a share in percent: 0.12345 gives "12.3 %".
inline std::string percent_of(double share) { return rough_text_of(100 * share) + " %"; }

}  // namespace lowp::detail::inline LOWP_UNIT
