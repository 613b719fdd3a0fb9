// SPDX-License-Identifier: Apache-2.0
// Numbers as text for errors and reports.
#pragma once

#include <lowp/base/error_text.hpp>

#include <string>

namespace lowp::detail::inline LOWP_UNIT {

/// Returns the shortest text that reads back as the same number.
std::string text_of(auto value) { return shortest_text(value).text; }

/// Returns `value` with three significant digits, for a number that needs no more.
std::string rough_text_of(auto value) {
  return shortest_text(value, std::chars_format::general, 3).text;
}
LOWP_EXACT_BEGIN
LOWP_OPAQUE inline double hundredfold(double x) { return 100 * x; }
LOWP_EXACT_END
/// Returns a share in percent: 0.12345 gives "12.3 %".
inline error_text percent_of(double share) {
  default_environment const environment;
  return joined_text({shortest_text(hundredfold(share), std::chars_format::general, 3).text, " %"});
}

}  // namespace lowp::detail::inline LOWP_UNIT
