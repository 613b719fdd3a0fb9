// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/base/error_text.hpp>
#include <lowp/base/text.hpp>
#include <lowp/measure/census/census_report.hpp>

#include <string>

namespace lowp::inline LOWP_UNIT {

/// Returns the text of a census, without its histogram, in three lines:
///
///     1000 elements, 5 of them 0; magnitudes from 0.000213 to 9.83e+04
///     overflow 10, flushed 0, subnormal 12; already infinite 0, NaN 0
///     relative error up to 0.00049, mean square error 0.0312
[[nodiscard]] inline std::string text(range_census const& all) {
  std::string lines = detail::joined_text({all.count, " elements, ", all.zeros(), " of them 0"});
  if (all.exponents.total() != 0)
    lines.append("; magnitudes from ")
        .append(detail::rough_text_of(all.min_abs.value()))
        .append(" to ")
        .append(detail::rough_text_of(all.max_abs.value()));
  lines +=
      detail::joined_text({"\noverflow ", all.overflow, ", flushed ", all.flushed, ", subnormal ",
                           all.subnormal, "; already infinite ", all.infinite, ", NaN ", all.nan});
  return lines.append("\nrelative error up to ")
      .append(detail::rough_text_of(all.max_relative_error.value()))
      .append(", mean square error ")
      .append(detail::rough_text_of(all.mean_square_error()));
}

}  // namespace lowp::inline LOWP_UNIT
