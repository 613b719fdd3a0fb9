// SPDX-License-Identifier: Apache-2.0
// Numbers in the text of errors and reports.
#pragma once

#include <lowp/base/config.hpp>

#include <charconv>
#include <string>

namespace lowp::detail {

inline namespace LOWP_UNIT {

/// The shortest text that is read back as the same number.
template <class T>
std::string text_of(T value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), value).ptr};
}

/// Three digits of a number that few are enough of.
inline std::string rough_text_of(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), value, std::chars_format::general, 3).ptr};
}
/// "12.3 %" of 0.12345
inline std::string percent_of(double share) { return rough_text_of(100 * share) + " %"; }

}  // namespace LOWP_UNIT

}  // namespace lowp::detail
