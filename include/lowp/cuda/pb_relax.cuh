// SPDX-License-Identifier: Apache-2.0
// softmax_pb_relax over device memory, on a stream, to compare it with softmax.
#pragma once

#include <lowp/cuda/on_stream.cuh>
#include <lowp/pb_relax.hpp>

namespace lowp::cuda {

inline constexpr on_stream<detail::softmax_pb_relax_operation, true> softmax_pb_relax{};
inline constexpr on_stream<detail::softmax_pb_relax_operation, false> try_softmax_pb_relax{};

}  // namespace lowp::cuda
