// SPDX-License-Identifier: Apache-2.0
// Storages of parameters and moments: kahan, master, split_master, scaled, blocks_of; and resync.
#pragma once

#include <lowp/ops/resync.hpp>

namespace lowp {

namespace detail {

/// Makes a storage stand for its working copy, after something else wrote that copy: a checkpoint,
/// a broadcast. A NaN stays a NaN; all other codes of the copy stay as they are.
///
///     kahan         compensation = 0, beside value
///     master        weights = copy
///     split_master  low = 0, beside high
///
/// @param p  two arrays of n elements each. If the weights of a master are narrow, they have the
///           exponents and the precision of the copy
/// @throws std::invalid_argument  sizes differ, or the arrays overlap
template <class Executor>
struct resync_operation : operation<Executor> {
  template <with_working_copy S>
  LOWP_HOST_FN void operator()(S const& p) const {
    this->executor.refuse_if(resync_on(this->executor, p));
  }
};

}  // namespace detail

inline constexpr detail::resync_operation<simd::this_thread> resync{};

}  // namespace lowp
