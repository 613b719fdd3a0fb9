// SPDX-License-Identifier: Apache-2.0
// split and join: the two halves of a master.
#pragma once

#include <lowp/ops/split.hpp>

namespace lowp {

namespace detail {

/// Splits floats into the halves of split_master:
///
///     high[i]  in[i] rounded to nearest, ties away from zero
///     low[i]   the bits with which `join` restores in[i]
///
/// bfloat16 and std::uint16_t restore every float to the bit; a NaN becomes quiet. If both halves
/// have fewer bits than a float, their master is in[i] rounded by `rounding`. high[i] is then that
/// master rounded.
///
/// @param in         n floats
/// @param high, low  n elements each
/// @throws std::invalid_argument  sizes differ, or two ranges overlap
template <class Executor>
struct split_operation : operation<Executor> {
  template <input In, output High, low_halves Low, range_rounding R = nearest_even>
  LOWP_HOST_FN void operator()(In&& in, High&& high, Low&& low, R rounding = {},
                               overflow policy = default_overflow<element_of<High>>) const {
    this->executor.refuse_if(split_on(this->executor, in, high, low, rounding, policy));
  }
};

/// Joins: out[i] = the master with the halves high[i] and low[i].
///
/// @throws std::invalid_argument  sizes differ, or `out` overlaps a half
template <class Executor>
struct join_operation : operation<Executor> {
  template <input High, low_halves Low, output Out>
  LOWP_HOST_FN void operator()(High&& high, Low&& low, Out&& out) const {
    this->executor.refuse_if(join_on(this->executor, high, low, out));
  }
};

}  // namespace detail

inline constexpr detail::split_operation<simd::this_thread> split{};
inline constexpr detail::join_operation<simd::this_thread> join{};

}  // namespace lowp
