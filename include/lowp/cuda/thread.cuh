// SPDX-License-Identifier: Apache-2.0
// A GPU thread, as the kernel sees it.
#pragma once

#include <lowp/cuda/convert.cuh>
#include <lowp/cuda/tuning.hpp>

#include <cstdint>

namespace lowp::cuda {

struct gpu_thread {
  // A function that runs on the host too would need a second body, without a GPU's words.
  using hardware = gpu_conversions;

  __device__ unsigned thread() const { return threadIdx.x; }
  __device__ static constexpr unsigned threads() { return tuning::block_threads; }
  __device__ std::uint64_t block() const { return blockIdx.x; }
  __device__ std::uint64_t blocks() const { return gridDim.x; }
  template <class T>
  __device__ T read(unsigned char const* at) const {
    return *reinterpret_cast<T const*>(at);
  }
  /// Stores 16 bytes by one instruction: nvcc splits some assignments of them into words.
  template <class T>
  __device__ void write(unsigned char* at, T const& x) const {
    if constexpr (sizeof(T) == 16)
      asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(at)),
                   "r"(x.word[0]), "r"(x.word[1]), "r"(x.word[2]), "r"(x.word[3])
                   : "memory");
    else
      *reinterpret_cast<T*>(at) = x;
  }
  __device__ void barrier() const { __syncthreads(); }
  __device__ void warp_barrier() const { __syncwarp(); }
  template <int N>
  __device__ std::uint32_t max_among(std::uint32_t x) const {
    static_assert(N <= 32 && (N & (N - 1)) == 0);
    LOWP_UNROLL
    for (int distance = N / 2; distance != 0; distance /= 2) {
      std::uint32_t const other = __shfl_xor_sync(0xffffffff, x, distance);
      x = other > x ? other : x;
    }
    return x;
  }
  template <int Distance>
  __device__ std::uint32_t exchanged(std::uint32_t x) const {
    static_assert(Distance < 32);
    return __shfl_xor_sync(0xffffffff, x, Distance);
  }

  /// Returns one object for each thread of the block, uninitialized.
  template <class T>
  __device__ T* shared() const {
    alignas(T) __shared__ unsigned char bytes[tuning::block_threads * sizeof(T)];
    return reinterpret_cast<T*>(bytes);
  }

  /// Returns N words for the block, uninitialized.
  template <int N>
  __device__ std::uint32_t* counters() const {
    __shared__ std::uint32_t words[N];
    return words;
  }

  template <int N>
  __device__ float* shared_floats() const {
    __shared__ float floats[N];
    return floats;
  }
  /// Returns as much memory as the launch requests, aligned to 16 bytes, uninitialized.
  __device__ unsigned char* dynamic_memory() const {
    extern __shared__ uint4 lowp_dynamic_memory[];
    return reinterpret_cast<unsigned char*>(lowp_dynamic_memory);
  }

  /// Keeps an address in shared memory in a register. Compilers would compute it at each use.
  template <class T>
  __device__ T* register_address(T* shared) const {
    auto const address = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
    return static_cast<T*>(__cvta_shared_to_generic(lanes::hidden(address)));
  }

  template <class Make>
  __device__ auto once(Make const& make) const {
    if constexpr (requires { make.is_costly; }) {
      using function = decltype(make());
      alignas(function) __shared__ unsigned char bytes[sizeof(function)];
      if (threadIdx.x == 0) *reinterpret_cast<function*>(bytes) = make();
      __syncthreads();
      return *reinterpret_cast<function const*>(bytes);
    } else {
      return make();
    }
  }

  struct atomics {
    __device__ std::uint64_t add(std::uint64_t& word, std::uint64_t x) const {
      static_assert(sizeof(unsigned long long) == sizeof(std::uint64_t));
      return atomicAdd(reinterpret_cast<unsigned long long*>(&word), x);
    }
    __device__ std::uint32_t add(std::uint32_t& word, std::uint32_t x) const {
      return atomicAdd(&word, x);
    }
    __device__ std::uint32_t max(std::uint32_t& word, std::uint32_t x) const {
      return atomicMax(&word, x);
    }
  };
};

}  // namespace lowp::cuda
