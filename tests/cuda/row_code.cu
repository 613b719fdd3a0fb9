// SPDX-License-Identifier: Apache-2.0
// The kernels whose instructions row_code.py counts.
#include <lowp/cuda/lowp.cuh>

#include <cstddef>
#include <span>

void softmax(cudaStream_t stream, std::span<const lowp::bfloat16> in,
             std::span<lowp::bfloat16> out, std::size_t columns);
void softmax(cudaStream_t stream, std::span<const lowp::bfloat16> in,
             std::span<lowp::bfloat16> out, std::size_t columns) {
  lowp::cuda::softmax(stream, in, out, columns);
}
void softmax(cudaStream_t stream, std::span<const float> in, std::span<float> out,
             std::size_t columns);
void softmax(cudaStream_t stream, std::span<const float> in, std::span<float> out,
             std::size_t columns) {
  lowp::cuda::softmax(stream, in, out, columns);
}
