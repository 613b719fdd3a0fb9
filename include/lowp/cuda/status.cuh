// SPDX-License-Identifier: Apache-2.0
// The outcome of a call: a value for builds without exceptions, an exception for the others.
#pragma once

#include <lowp/ops/arguments.hpp>

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>
#include <utility>

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
#if defined(__cpp_exceptions)
    if (code_ != cudaSuccess) throw error(code_, "lowp::cuda::" + what_);
    throw std::invalid_argument("lowp::cuda::" + what_);
#else
    __builtin_trap();
#endif
  }

 private:
  std::string what_;
  cudaError_t code_ = cudaSuccess;
};

}  // namespace lowp::cuda
