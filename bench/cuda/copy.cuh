// SPDX-License-Identifier: Apache-2.0
// The copy ceiling: the time in which the same device copies as many bytes, read and written ones
// together.
#pragma once

#include "fill.cuh"
#include "timing.cuh"

#include <cstddef>
#include <cstdint>
#include <string>

namespace bench {

/// `Rows` accesses of 16 bytes by each thread, all loads first.
template <int Rows>
__global__ void __launch_bounds__(256)
    copy_kernel(uint4* to, uint4 const* from, std::uint64_t count) {
  std::uint64_t const first = std::uint64_t{blockIdx.x} * 256 * Rows + threadIdx.x;
  uint4 row[Rows];
#pragma unroll
  for (int i = 0; i < Rows; ++i)
    if (first + i * 256 < count) row[i] = from[first + i * 256];
#pragma unroll
  for (int i = 0; i < Rows; ++i)
    if (first + i * 256 < count) to[first + i * 256] = row[i];
}

/// Seconds of one copy by each of two ways.
struct copy_times {
  double memcpy = 0, kernel = 0;
};

/// Half of the bytes are read and half are written.
inline copy_times time_copies(cudaStream_t stream, arena& device, std::size_t bytes) {
  std::size_t const half = bytes / 32 * 16, sets = sets_of(half), count = half / sizeof(uint4);
  device.give_back();
  rotation<float> const from{device.take<float>(half / 4 * sets).data(), half / 4, sets};
  rotation<float> const to{device.take<float>(half / 4 * sets).data(), half / 4, sets};
  fill(stream, from, 1, normal{1});
  copy_times result;
  result.memcpy =
      time_launches(stream, sets, [&](cudaStream_t on, std::size_t i) {
        must(cudaMemcpyAsync(to[i].data(), from[i].data(), half, cudaMemcpyDeviceToDevice, on));
      }).median;
  result.kernel = time_launches(stream, sets, [&](cudaStream_t on, std::size_t i) {
                    copy_kernel<4><<<static_cast<unsigned>((count + 1023) / 1024), 256, 0, on>>>(
                        reinterpret_cast<uint4*>(to[i].data()),
                        reinterpret_cast<uint4 const*>(from[i].data()), count);
                    must(cudaGetLastError());
                  }).median;
  double const rest = static_cast<double>(bytes) / static_cast<double>(2 * half);
  return {result.memcpy * rest, result.kernel * rest};
}

/// The faster way, before a case and after it.
struct copy_ceiling {
  std::string way;
  double before, after;

  copy_ceiling(copy_times const& first, copy_times const& last) {
    bool const is_kernel = first.kernel + last.kernel < first.memcpy + last.memcpy;
    way = is_kernel ? "kernel" : "cudaMemcpyAsync";
    before = is_kernel ? first.kernel : first.memcpy;
    after = is_kernel ? last.kernel : last.memcpy;
  }
  double seconds() const { return (before + after) / 2; }
};

}  // namespace bench
