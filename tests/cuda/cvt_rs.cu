// SPDX-License-Identifier: Apache-2.0
// A stochastic cast, for a target that has an instruction for it whose bits differ.
#include <lowp/cuda/lowp.cuh>

#include <cstddef>

void cast(cudaStream_t stream, float const* in, lowp::bfloat16* out, std::size_t size);
void cast(cudaStream_t stream, float const* in, lowp::bfloat16* out, std::size_t size) {
  lowp::cuda::cast(stream, lowp::cuda::view(in, size), lowp::cuda::view(out, size),
                   lowp::stochastic{1});
}
