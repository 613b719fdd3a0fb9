// SPDX-License-Identifier: Apache-2.0
// A grid of GPU threads on a stream, and the outcome of a call: a value for builds without
// exceptions, an exception for the others.
#pragma once

#include <lowp/base/hide_macros.inc>

#include <lowp/cuda/grid.hpp>
#include <lowp/cuda/thread.cuh>

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace lowp::cuda {

/// An error from CUDA: the call and CUDA's own text.
class error : public std::runtime_error {
 public:
  error(cudaError_t code, std::string const& what) : std::runtime_error(what), code_(code) {}
  cudaError_t code() const { return code_; }

 private:
  cudaError_t code_;
};

/// The outcome of a call: nothing, or an error. It has only errors of the launch itself. CUDA
/// reports errors in a running kernel at the next synchronization.
class status {
 public:
  status() = default;
  /// Holds an error text about arguments; nothing was launched.
  explicit status(detail::error_text what) : what_(std::move(what)) {}
  /// Holds the result of a CUDA call.
  status(char const* call, cudaError_t code) : code_(code) {
    if (code != cudaSuccess)
      what_ = std::string(call) + ": " + cudaGetErrorName(code) + ": " + cudaGetErrorString(code);
  }

  [[nodiscard]] bool ok() const { return what_.empty(); }
  /// Returns cudaSuccess also if arguments were wrong.
  [[nodiscard]] cudaError_t code() const { return code_; }
  /// Returns the error text, empty if ok.
  [[nodiscard]] std::string const& message() const { return what_; }

  /// @throws std::invalid_argument  arguments were wrong
  /// @throws lowp::cuda::error      CUDA refused
  void or_throw() const {
    if (ok()) return;
    if (code_ != cudaSuccess) detail::raise<error>(code_, "lowp::cuda::" + what_);
    detail::raise<std::invalid_argument>("lowp::cuda::" + what_);
  }

 private:
  std::string what_;
  cudaError_t code_ = cudaSuccess;
};

template <class Call>
__global__ void __launch_bounds__(tuning::block_threads, Call::least_blocks)
    kernel(__grid_constant__ Call const call) {
  call.run(gpu_thread{});
}

class gpu_grid {
 public:
  explicit gpu_grid(cudaStream_t stream) : stream_(stream) {}

  static constexpr unsigned threads() { return tuning::block_threads; }

  /// Returns the dynamic shared memory of each of some blocks in a multiprocessor.
  [[nodiscard]] std::size_t shared_bytes(int blocks = tuning::blocks_with_rows) {
    int const of_block = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    int const of_multiprocessor = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    int const share = of_multiprocessor / blocks;
    int const most = of_block < share ? of_block : share;
    return most > other_shared_bytes ? static_cast<std::size_t>(most - other_shared_bytes) : 0;
  }

  template <class Report, class Call>
  void run(Call const& call) {
    static_assert(sizeof(Call) <= parameter_bytes);
    auto const* const code = reinterpret_cast<void const*>(kernel<Call>);
    std::uint64_t most = 0x7fffffff;
    if constexpr (is_reported<Report>)
      most = blocks_at_once(code) * tuning::reporting_turns;
    else if constexpr (requires { requires Call::has_few_blocks; })
      most = tuning::few_blocks;
    std::uint32_t dynamic_bytes = 0;
    if constexpr (requires { call.dynamic_bytes; }) dynamic_bytes = call.dynamic_bytes;
    launch(code, &call, call.table.tiles < most ? call.table.tiles : most, dynamic_bytes);
  }

  void copy(void* to, void const* from, std::size_t bytes) {
    outcome_ =
        status("cudaMemcpyAsync", cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_));
  }

  /// Returns the reason that the device cannot reach an address, empty if it can. An error of CUDA
  /// is the outcome.
  [[nodiscard]] detail::error_text unreachable(void const* address) {
    cudaPointerAttributes attributes{};
    cudaError_t const code = cudaPointerGetAttributes(&attributes, address);
    if (code != cudaSuccess) {
      if (outcome_.ok()) outcome_ = status("cudaPointerGetAttributes", code);
      return outcome_.message();
    }
    if (attributes.type != cudaMemoryTypeUnregistered) return {};
    if (attribute(cudaDevAttrPageableMemoryAccess) != 0) return {};
    return "is in host memory that the device cannot reach";
  }

  void refuse(detail::error_text const& what) {
    if (outcome_.ok()) outcome_ = status(what);
  }
  [[nodiscard]] status const& outcome() const { return outcome_; }

 private:
  /// The limit of a row kernel's other shared memory and of CUDA's own.
  static constexpr int other_shared_bytes = 4 << 10;

  [[nodiscard]] int attribute(cudaDeviceAttr which) {
    int device = 0, value = 0;
    cudaError_t code = cudaGetDevice(&device);
    if (code == cudaSuccess) code = cudaDeviceGetAttribute(&value, which, device);
    if (outcome_.ok()) outcome_ = status("cudaDeviceGetAttribute", code);
    return value;
  }
  /// Returns the blocks of a kernel for which the device has room.
  [[nodiscard]] std::uint64_t blocks_at_once(void const* code) {
    int const multiprocessors = attribute(cudaDevAttrMultiProcessorCount);
    int blocks = 0;
    cudaError_t const error =
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, code, threads(), 0);
    if (outcome_.ok()) outcome_ = status("cudaOccupancyMaxActiveBlocksPerMultiprocessor", error);
    return static_cast<std::uint64_t>(blocks) * static_cast<std::uint64_t>(multiprocessors);
  }
  /// No template: each kernel would compile it anew.
  void launch(void const* code, void const* call, std::uint64_t blocks,
              std::uint32_t dynamic_bytes) {
    constexpr std::uint32_t always_allowed = (48 << 10) - other_shared_bytes;
    if (outcome_.ok() && dynamic_bytes > always_allowed)
      outcome_ = status("cudaFuncSetAttribute",
                        cudaFuncSetAttribute(code, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(dynamic_bytes)));
    if (!outcome_.ok()) return;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(blocks));
    config.blockDim = dim3(tuning::block_threads);
    config.dynamicSmemBytes = dynamic_bytes;
    config.stream = stream_;
    void* arguments[] = {const_cast<void*>(call)};
    outcome_ = status("cudaLaunchKernelExC", cudaLaunchKernelExC(&config, code, arguments));
  }

  cudaStream_t stream_;
  status outcome_;
};

}  // namespace lowp::cuda

#include <lowp/base/restore_macros.inc>
