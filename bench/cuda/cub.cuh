// SPDX-License-Identifier: Apache-2.0
// The transform of CUB, which comes with the toolkit.
#pragma once

#include "memory.cuh"

#include <cub/device/device_transform.cuh>
#include <lowp/value.hpp>

#include <cuda_bf16.h>

#include <span>

namespace bench {

/// N conversions as one element: CUB moves 2-byte results one at a time.
template <int N>
struct converted_by_cub {
  struct alignas(sizeof(float) * N) floats {
    float at[N];
  };
  struct alignas(sizeof(__nv_bfloat16) * N) narrow {
    __nv_bfloat16 at[N];
  };
  __device__ narrow operator()(floats const& x) const {
    narrow y;
#pragma unroll
    for (int i = 0; i < N; ++i) y.at[i] = __float2bfloat16_rn(x.at[i]);
    return y;
  }

  static void launch(cudaStream_t stream, std::span<float> from, std::span<lowp::bfloat16> to) {
    must(cub::DeviceTransform::Transform(reinterpret_cast<floats const*>(from.data()),
                                         reinterpret_cast<narrow*>(to.data()), from.size() / N,
                                         converted_by_cub{}, stream));
  }
};

}  // namespace bench
