// SPDX-License-Identifier: Apache-2.0
// The operations of lowp.hpp on all threads of an OpenMP team: same arguments, same refusals. The
// bits are the same for any number of threads, sums of a report included.
//
// If a process uses a team and then forks, the child lacks the team's threads. There GNU OpenMP
// waits for ever. Fork first, or call exec or omp_set_num_threads(1) in the child. LLVM's OpenMP
// starts new threads.
#pragma once

#include <lowp/base/hide_macros.inc>

#include <lowp/lowp.hpp>
#include <lowp/quantize.hpp>
#include <lowp/simd/openmp_team.hpp>
#include <lowp/watch.hpp>

namespace lowp::openmp {

#define LOWP_ON_TEAM(name) \
  inline constexpr detail::callable<detail::name##_operation<detail::openmp_team>> name{};
LOWP_OPERATIONS(LOWP_ON_TEAM)
LOWP_ON_TEAM(mean)
LOWP_ON_TEAM(norm)
LOWP_ON_TEAM(clip)
LOWP_ON_TEAM(tree_add)
#undef LOWP_ON_TEAM

inline constexpr detail::quantize_operation<detail::openmp_team> quantize{};
inline constexpr detail::dequantize_operation<detail::openmp_team> dequantize{};
inline constexpr detail::hadamard_operation<detail::openmp_team> hadamard{};

template <census_target To>
inline constexpr detail::callable<detail::census_to<detail::openmp_team, To>> census{};

/// Returns lowp::abs_range_of, computed by all threads.
template <census_target To = float, readable S>
[[nodiscard]] LOWP_HOST_FN abs_range abs_range_of(S&& in) {
  return detail::abs_range_from<To>(detail::openmp_team{}, in);
}

/// An overflow_watch that reads a tensor with all threads. The watch itself belongs to one thread.
template <census_target To = float>
using overflow_watch = lowp::overflow_watch<To, detail::openmp_team>;

}  // namespace lowp::openmp

#include <lowp/base/restore_macros.inc>
