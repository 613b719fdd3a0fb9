// SPDX-License-Identifier: Apache-2.0
// Built and never run: a kernel of the program's own, and one of the library's.
#include <lowp/cuda/cast.cuh>
#include <lowp/value.hpp>

__global__ void halve(lowp::bfloat16* x) { x[threadIdx.x] *= 0.5f; }

int main() {
  float* wide = nullptr;
  lowp::bfloat16* narrow = nullptr;
  lowp::cuda::cast(nullptr, lowp::cuda::view(wide, 0), lowp::cuda::view(narrow, 0));
  halve<<<1, 32>>>(narrow);
}
