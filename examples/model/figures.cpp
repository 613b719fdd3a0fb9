// SPDX-License-Identifier: Apache-2.0
#include "figures.hpp"

#include <algorithm>

figures::figures(tensor_census const& all) : max_abs(all.max_abs) {
  lowp::range_census const& c = all.counts;
  count = c.count;
  zeros = c.zeros();
  nan = c.nan;
  infinite = c.infinite;
  overflow = c.overflow;
  subnormal = c.subnormal;
  flushed = c.flushed;
  max_relative_error = c.max_relative_error.value();
  mean_square_error = c.mean_square_error();
  auto const is_there = [](std::uint64_t many) { return many != 0; };
  auto const begin = std::begin(c.exponents.counts), end = std::end(c.exponents.counts);
  auto const first = std::find_if(begin, end, is_there);
  if (first == end) return;
  auto const last =
      std::find_if(std::make_reverse_iterator(end), std::make_reverse_iterator(begin), is_there);
  min_abs = all.min_abs;
  lowest = lowp::exponent_histogram::lowest + static_cast<int>(first - begin);
  exponents.assign(first, last.base());
}

double figures::share_flushed() const {
  std::uint64_t const numbers = count - nan - infinite - zeros;
  return numbers == 0 ? 0 : static_cast<double>(flushed) / static_cast<double>(numbers);
}
