// SPDX-License-Identifier: Apache-2.0
// Memory of tensors for rows.cpp, elements.cpp and blocks.cpp, whose functions functional.py calls.
// Each returns null, or an error text that lives until the thread's next call. nvcc compiles them
// for a GPU.
#pragma once

#ifdef __CUDACC__
#include <lowp/cuda/lowp.cuh>
#else
#include <lowp/openmp.hpp>
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>

namespace {

using size = std::size_t;

// Calls take all threads, or PyTorch's current stream on a GPU.
#ifdef __CUDACC__
thread_local cudaStream_t stream;
#define LOWP_TEAM_CALL(name) \
  void name(auto&&... a) { lowp::cuda::name(stream, a...); }

void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}
void copy(void const* from, void* to, size bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream));
}
#else
#define LOWP_TEAM_CALL(name) \
  void name(auto&&... a) { lowp::openmp::name(a...); }

void copy(void const* from, void* to, size bytes) { std::memcpy(to, from, bytes); }
#endif

/// dtypes in the order of DTYPES in functional.py.
enum class dtype : int { float32, bfloat16, float16, float8_e4m3fn, float8_e5m2 };
enum class rounding : int { nearest, stochastic, stochastic_fast };

/// Calls function(mode) with the rounding mode of a call.
void with_rounding(rounding mode, std::uint64_t seed, std::uint64_t stream, auto const& function) {
  if (mode == rounding::stochastic) return function(lowp::stochastic{seed, stream, 0});
  if (mode == rounding::stochastic_fast) return function(lowp::stochastic_fast{seed, stream, 0});
  function(lowp::nearest_even{});
}
template <class T>
std::span<T const> read(void const* data, size n) {
  return {static_cast<T const*>(data), n};
}
template <class T>
std::span<T> write(void* data, size n) {
  return {static_cast<T*>(data), n};
}

/// Elements of a piece that stays in a core's first cache, as float and in 16 bits.
constexpr size piece = 4096;

/// Calls function(first, count) for pieces of n elements, on all threads.
void for_each_piece(size n, size in_piece, auto const& function) {
  size const pieces = (n + in_piece - 1) / in_piece;
  std::exception_ptr error;
  auto const take = [&](size i) {
    try {
      function(i * in_piece, std::min(in_piece, n - i * in_piece));
    } catch (...) {
#pragma omp critical
      error = std::current_exception();
    }
  };
  if (pieces < 16) {
    for (size i = 0; i < pieces; ++i) take(i);
  } else {
#pragma omp parallel for schedule(static)
    for (size i = 0; i < pieces; ++i) take(i);
  }
  if (error) std::rethrow_exception(error);
}

char const* error_of(auto const& call) {
  thread_local std::string text;
  try {
    call();
    return nullptr;
  } catch (std::exception const& error) {
    text = error.what();
  }
  return text.c_str();
}

}  // namespace

#ifdef __CUDACC__
/// Takes the stream of this thread's next calls.
extern "C" void lowp_on_stream(void* its) { stream = static_cast<cudaStream_t>(its); }
#endif
