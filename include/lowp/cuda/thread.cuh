// SPDX-License-Identifier: Apache-2.0
// A GPU thread, as the kernel sees it, and its conversion instructions.
#pragma once

#include <lowp/base/hide_macros.inc>

#include <lowp/cuda/tuning.hpp>
#include <lowp/format/basic_float.hpp>

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#error "lowp/cuda needs sm_80 or newer: give nvcc -arch=sm_80, or that of your GPU"
#endif

namespace lowp::cuda {

/// Conversions of two values at a time (PTX ISA 9.0, 9.7.9 "cvt").
struct gpu_conversions {
#if defined(__CUDA_ARCH__)
#define LOWP_ENCODE(type, codes, in, instruction)                                            \
  LOWP_FN static std::uint32_t encode(std::type_identity<type>, float first, float second) { \
    codes pair;                                                                              \
    asm(instruction " %0, %1, %2;" : "=" in(pair) : "f"(second), "f"(first));                \
    return pair;                                                                             \
  }
  LOWP_ENCODE(bfloat16, std::uint32_t, "r", "cvt.rn.bf16x2.f32")
  LOWP_ENCODE(float16, std::uint32_t, "r", "cvt.rn.f16x2.f32")
#if __CUDA_ARCH__ >= 890
  LOWP_ENCODE(float8_e4m3fn, std::uint16_t, "h", "cvt.rn.satfinite.e4m3x2.f32")
  LOWP_ENCODE(float8_e5m2, std::uint16_t, "h", "cvt.rn.satfinite.e5m2x2.f32")
#endif
#undef LOWP_ENCODE

// cvt.rs rounds stochastically with given random bits, but not by the rule of lowp. A program that
// defines LOWP_CUDA_CVT_RS uses it if the target has it. The results are BITS THAT DIFFER from
// those of the processor and of other GPUs. The same seed still gives the same bits there.
#if defined(LOWP_CUDA_CVT_RS) && \
    (defined(__CUDA_ARCH_FEAT_SM100_ALL) || defined(__CUDA_ARCH_FEAT_SM103_ALL))
#define LOWP_ENCODE_STOCHASTIC(type, instruction)                                            \
  LOWP_FN static std::uint32_t encode(std::type_identity<type>, float first, float second,   \
                                      std::uint32_t random) {                                \
    std::uint32_t pair;                                                                      \
    asm(instruction " %0, %1, %2, %3;" : "=r"(pair) : "f"(second), "f"(first), "r"(random)); \
    return pair;                                                                             \
  }
  LOWP_ENCODE_STOCHASTIC(bfloat16, "cvt.rs.bf16x2.f32")
  LOWP_ENCODE_STOCHASTIC(float16, "cvt.rs.f16x2.f32")
#undef LOWP_ENCODE_STOCHASTIC
#endif

#if __CUDA_ARCH__ >= 1000 && defined(__CUDA_ARCH_FAMILY_SPECIFIC__)
  /// Encodes eight numbers to nearest even; what is too large becomes the largest code.
  LOWP_FN static std::uint32_t nibbles(std::type_identity<float4_e2m1fn>, float const (&x)[8]) {
    std::uint32_t codes;
    asm("{\n.reg .b8 a, b, c, d;\n"
        "cvt.rn.satfinite.e2m1x2.f32 a, %2, %1;\n"
        "cvt.rn.satfinite.e2m1x2.f32 b, %4, %3;\n"
        "cvt.rn.satfinite.e2m1x2.f32 c, %6, %5;\n"
        "cvt.rn.satfinite.e2m1x2.f32 d, %8, %7;\n"
        "mov.b32 %0, {a, b, c, d};\n}"
        : "=r"(codes)
        : "f"(x[0]), "f"(x[1]), "f"(x[2]), "f"(x[3]), "f"(x[4]), "f"(x[5]), "f"(x[6]), "f"(x[7]));
    return codes;
  }
#endif

// The larger codes of two pairs without signs. A NaN is larger than any number.
#define LOWP_LARGER(type, instruction)                                           \
  LOWP_FN static std::uint32_t larger(std::type_identity<type>, std::uint32_t a, \
                                      std::uint32_t b) {                         \
    std::uint32_t pair;                                                          \
    asm(instruction " %0, %1, %2;" : "=r"(pair) : "r"(a), "r"(b));               \
    return pair;                                                                 \
  }
  LOWP_LARGER(bfloat16, "max.NaN.bf16x2")
  LOWP_LARGER(float16, "max.NaN.f16x2")
#undef LOWP_LARGER

  LOWP_FN static void decode(std::type_identity<float16>, std::uint32_t pair, float& first,
                             float& second) {
    widen(static_cast<std::uint16_t>(pair), first);
    widen(static_cast<std::uint16_t>(pair >> 16), second);
  }
  /// Decodes codes as float16 with these high halves.
  LOWP_FN static void decode(std::type_identity<float8_e5m2>, std::uint32_t pair, float& first,
                             float& second) {
    widen(static_cast<std::uint16_t>(pair << 8), first);
    widen(static_cast<std::uint16_t>(pair & 0xff00), second);
  }
#if __CUDA_ARCH__ >= 890
  LOWP_FN static void decode(std::type_identity<float8_e4m3fn>, std::uint32_t pair, float& first,
                             float& second) {
    std::uint32_t halves;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(static_cast<std::uint16_t>(pair)));
    decode(std::type_identity<float16>{}, halves, first, second);
  }
#endif

 private:
  LOWP_FN static void widen(std::uint16_t half, float& x) {
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(half));
  }
#endif
};

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
  /// Stores 8 or 16 bytes by one instruction: nvcc splits some assignments of them into words.
  template <class T>
  __device__ void write(unsigned char* at, T const& x) const {
    if constexpr (sizeof(T) == 16)
      asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(at)),
                   "r"(x.word[0]), "r"(x.word[1]), "r"(x.word[2]), "r"(x.word[3])
                   : "memory");
    else if constexpr (sizeof(T) == 8)
      asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(at)),
                   "r"(x.word[0]), "r"(x.word[1])
                   : "memory");
    else
      *reinterpret_cast<T*>(at) = x;
  }
  __device__ void barrier() const { __syncthreads(); }
  __device__ void warp_barrier() const { __syncwarp(); }
  __device__ std::uint32_t exchanged(std::uint32_t x, unsigned distance) const {
    return __shfl_xor_sync(0xffffffff, x, distance);
  }
  template <int Distance>
  __device__ std::uint32_t exchanged(std::uint32_t x) const {
    static_assert(Distance < 32);
    return exchanged(x, Distance);
  }
  __device__ bool any_of_warp(bool x) const { return __any_sync(0xffffffff, x); }

  /// Returns N objects for the block, or one for each of its threads, uninitialized.
  template <class T, int N = tuning::block_threads>
  __device__ T* shared() const {
    alignas(T) __shared__ unsigned char bytes[N * sizeof(T)];
    return reinterpret_cast<T*>(bytes);
  }

  /// Returns N words for the block, uninitialized.
  template <int N>
  __device__ std::uint32_t* counters() const {
    __shared__ std::uint32_t words[N];
    return words;
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

  template <class Make>  // nvcc beside clang takes a function of auto for the host's
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

#include <lowp/base/restore_macros.inc>
