// SPDX-License-Identifier: Apache-2.0
// Normal random numbers in device memory. Zeros would cost less power and raise the clocks.
#pragma once

#include "memory.cuh"

#include <lowp/cuda/lowp.cuh>

#include <cstdint>

namespace bench {

struct normal {
  float deviation;
  __device__ float operator()(float z) const { return deviation * z; }
};
/// The values of second moments.
struct squared_normal {
  float deviation;
  __device__ float operator()(float z) const { return deviation * z * (deviation * z); }
};
/// Labels of classes.
struct label {
  std::size_t classes;
  __device__ float operator()(float z) const {
    float const last = static_cast<float>(classes - 1);
    return fminf(fabsf(z) / 6 * last, last);
  }
};

/// Four from each block of Philox, by G. Box, M. Muller, "A note on the generation of random normal
/// deviates", 1958.
template <class T, class Shape>
__global__ void fill_kernel(T* data, std::uint64_t count, std::uint64_t all, std::uint32_t seed,
                            Shape shape) {
  std::uint64_t const threads = std::uint64_t{gridDim.x} * blockDim.x;
  std::uint64_t const thread = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (std::uint64_t first = thread * 4; first < all; first += threads * 4) {
    std::uint64_t const id = first < 2 * count ? first % count : first;
    std::uint32_t word[4] = {static_cast<std::uint32_t>(id), static_cast<std::uint32_t>(id >> 32)};
    lowp::philox4x32(word, lowp::philox_keys(seed, 0));
    for (int pair = 0; pair < 2; ++pair) {
      constexpr float unit = 0x1p-32f;
      float const u = (static_cast<float>(word[2 * pair]) + 1) * unit;
      float const radius = sqrtf(-2 * logf(fminf(u, 1)));
      float sine, cosine;
      sincospif(2 * static_cast<float>(word[2 * pair + 1]) * unit, &sine, &cosine);
      std::uint64_t const at = first + 2 * static_cast<std::uint64_t>(pair);
      if (at < all) data[at] = static_cast<T>(shape(radius * cosine));
      if (at + 1 < all) data[at + 1] = static_cast<T>(shape(radius * sine));
    }
  }
}

/// The first two sets are equal.
template <class T, class Shape>
void fill(cudaStream_t stream, rotation<T> const& to, std::uint32_t seed, Shape shape) {
  auto const one = [&](T* data, std::size_t count, std::size_t all, std::uint32_t of) {
    fill_kernel<<<4096, 256, 0, stream>>>(data, count, all, of, shape);
    must(cudaGetLastError());
  };
  if (to.count % 4 == 0)
    one(to.data, to.count, to.all().size(), seed);
  else  // numbers come in fours
    for (std::size_t i = 0; i < to.sets; ++i)
      one(to[i].data(), to.count, to.count,
          i < 2 ? seed : seed + static_cast<std::uint32_t>(i) * 997);
}

}  // namespace bench
