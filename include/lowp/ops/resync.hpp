// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/ops/cast.hpp>
#include <lowp/ops/storage_operands.hpp>

namespace lowp {

namespace detail {

// The array of a storage that the model reads.
template <class P, class C>
LOWP_HOST_FN auto working_copy(kahan<P, C> const& storage) {
  return storage.value;
}
template <class W, class C>
LOWP_HOST_FN auto working_copy(master<W, C> const& storage) {
  return storage.copy;
}
template <class H, class L>
LOWP_HOST_FN auto working_copy(split_master<H, L> const& storage) {
  return storage.high;
}

template <class S>
concept with_working_copy =
    storage<S> && requires(std::remove_cvref_t<S> const& storage) { working_copy(storage); };

template <class Executor, class S>
[[nodiscard]] LOWP_HOST_FN error_text resync_on(Executor const& executor, S const& storage) {
  auto const parts = extents_of("p", storage);
  auto const copy = working_copy(storage);
  call_check check("resync");
  check.equal_sizes(parts);
  check.no_overlap(parts[0], parts[1]);
  check.reachable(executor, parts);
  if (check.failed()) return check.text();
  executor(make<identity>{}, parts[0].size, static_cast<simd::no_report*>(nullptr),
           operand_of<simd::access::write>(storage), operand_of<simd::access::read>(copy));
  return {};
}

}  // namespace detail

}  // namespace lowp
