// SPDX-License-Identifier: Apache-2.0
// resync, and the storages of parameters and moments: see storage_operands.hpp.
#pragma once

#include <lowp/ops/cast.hpp>
#include <lowp/ops/storage_operands.hpp>

namespace lowp::detail {

template <class S>
concept with_working_copy = storage<S> && requires(S const& s) { s.layout().working; };

template <class T>
using not_a_kahan_nor_a_master = fit<with_working_copy<T>>;

/// Makes a storage stand for its working copy, after something else wrote that copy: a checkpoint,
/// a broadcast. A NaN stays a NaN; all other codes of the copy stay as they are.
///
///     kahan             compensation = 0, beside value
///     master            weights = copy
///     split_master      low = 0, beside high
///     corrected_master  error_bits = 0, beside value
///
/// @param p  two arrays of n elements each. If the weights of a master are narrow, they have the
///           exponents and the precision of the copy
/// @throws std::invalid_argument  sizes differ, or the arrays overlap
template <class Executor>
struct resync_operation : operation<Executor> {
  using calls = call<needs<names::p, not_a_kahan_nor_a_master>>;

  template <with_working_copy S>
  LOWP_HOST_FN void operator()(S const& p) const {
    auto const copy = std::get<decltype(p.layout())::working>(p.parts());
    auto const both = write("p", p);
    if (is_right(this->executor, "resync", make<identity>{}, both))
      this->executor(call_of(make<identity>{}, no_report, both, read("copy", copy)));
  }
};

}  // namespace lowp::detail

namespace lowp {
inline constexpr detail::callable<detail::resync_operation<simd::this_thread>> resync{};
}  // namespace lowp
