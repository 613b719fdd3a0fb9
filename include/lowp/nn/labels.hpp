// SPDX-License-Identifier: Apache-2.0
// Numbers of columns or rows, one for each row of a call: labels and ids.
#pragma once

#include <lowp/ops/arguments.hpp>

namespace lowp {

/// Labels: contiguous elements, std::int64_t as PyTorch has them or std::int32_t.
template <class R>
concept label_range =
    detail::array_range<R> && (std::same_as<std::ranges::range_value_t<R>, std::int64_t> ||
                               std::same_as<std::ranges::range_value_t<R>, std::int32_t>);

namespace detail {

template <class T>
using not_a_range_of_int64_or_int32 = fit<label_range<T>>;

inline namespace LOWP_UNIT {

/// Returns the error text of labels of which one is neither below `count` nor ignored.
template <class Label>
error_text check_labels(char const* function, char const* what, Label const* labels,
                        std::size_t rows, std::size_t count, std::int64_t ignored) {
  for (std::size_t row = 0; row < rows; ++row)
    if (labels[row] != ignored && static_cast<std::uint64_t>(labels[row]) >= count)
      return joined_text({function, ": the ", what, " of row ", row, " is ",
                          shortest_text(labels[row]).text, ", not from 0 to ",
                          shortest_text(static_cast<std::int64_t>(count) - 1).text,
                          " or ignore_index, ", shortest_text(ignored).text});
  return {};
}

}  // namespace LOWP_UNIT

}  // namespace detail

}  // namespace lowp
