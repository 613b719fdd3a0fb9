// SPDX-License-Identifier: Apache-2.0
// pb_relax.hpp over device memory, on a stream: for comparison with softmax.
#pragma once

#include <lowp/cuda/try.cuh>
#include <lowp/nn/pb_relax.hpp>

#include <cstddef>
#include <utility>

namespace lowp::cuda {

/// As lowp::softmax_pb_relax.
template <class In, class Out>
[[nodiscard]] status try_softmax_pb_relax(cudaStream_t stream, In&& in, Out&& out,
                                          std::size_t columns, float alpha) {
  return run_on(stream, [&](auto const& executor) {
    return detail::softmax_pb_relax_on(executor, viewed(in), viewed(out), columns, alpha);
  });
}

/// The same; what is wrong is thrown, as the functions of lowp.cuh do.
template <class... Arguments>
void softmax_pb_relax(cudaStream_t stream, Arguments&&... arguments) {
  try_softmax_pb_relax(stream, std::forward<Arguments>(arguments)...).or_throw();
}

}  // namespace lowp::cuda
