// SPDX-License-Identifier: Apache-2.0
// How a call went: for those who build without exceptions, and as an exception for the others.
#pragma once

#include <lowp/ops/arguments.hpp>

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace lowp::cuda {

/// What CUDA refused: the call and CUDA's own text.
class error : public std::runtime_error {
 public:
  error(cudaError_t code, std::string const& what) : std::runtime_error(what), code_(code) {}
  cudaError_t code() const { return code_; }

 private:
  cudaError_t code_;
};

/// Nothing, or what was wrong. Only an error of a launch itself is seen: what happens while a kernel
/// runs is CUDA's to report, at the next synchronization.
class status {
 public:
  status() = default;
  /// Wrong arguments; nothing was launched.
  explicit status(detail::error_text what) : what_(std::move(what)) {}
  /// The answer of a CUDA call.
  status(char const* call, cudaError_t code) : code_(code) {
    if (code != cudaSuccess)
      what_ = std::string(call) + ": " + cudaGetErrorName(code) + ": " + cudaGetErrorString(code);
  }

  [[nodiscard]] bool ok() const { return what_.empty(); }
  /// cudaSuccess also where arguments were wrong.
  [[nodiscard]] cudaError_t code() const { return code_; }
  /// Empty if ok.
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
