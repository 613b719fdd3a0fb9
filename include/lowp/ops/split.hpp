// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/ops/cast.hpp>
#include <lowp/ops/storage_operands.hpp>

#include <type_traits>

namespace lowp {

namespace detail {

template <class Executor, class In, class High, class Low, class R = nearest_even>
[[nodiscard]] LOWP_HOST_FN error_text
split_on(Executor const& executor, In&& in, High&& high, Low&& low, R rounding = {},
         overflow policy = default_overflow<element_of<High>>) {
  split_master const halves{high, low};
  auto const from = extents_of("in", in);
  auto const to = std::array{extent("high", high), extent("low", low)};
  auto const all = joined(from, to);
  call_check check("split");
  check.equal_sizes(all);
  check_overlap(check, to, from);
  check.reachable(executor, all);
  if (check.failed()) return check.text();
  executor(make<identity>{}, from[0].size, static_cast<simd::no_report*>(nullptr),
           operand_of<simd::access::write>(halves, rounding, policy),
           operand_of<simd::access::read>(in));
  return {};
}

template <class Executor, class High, class Low, class Out>
[[nodiscard]] LOWP_HOST_FN error_text join_on(Executor const& executor, High&& high, Low&& low,
                                              Out&& out) {
  using H = element_of<High>;
  using L = std::ranges::range_value_t<Low>;
  split_master<H const, L const> const halves{high, low};
  auto const from = std::array{extent("high", high), extent("low", low)};
  auto const to = extents_of("out", out);
  auto const all = joined(from, to);
  call_check check("join");
  check.equal_sizes(all);
  for (extent const& part : from) check.no_overlap(part, to[0]);
  check.reachable(executor, all);
  if (check.failed()) return check.text();
  executor(make<identity>{}, to[0].size, static_cast<simd::no_report*>(nullptr),
           operand_of<simd::access::write>(out), operand_of<simd::access::read>(halves));
  return {};
}

template <class R>
concept low_halves = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
                     low_half<std::ranges::range_value_t<R>>;

}  // namespace detail

}  // namespace lowp
