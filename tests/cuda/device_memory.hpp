// SPDX-License-Identifier: Apache-2.0
// Ranges in device memory with canaries around them, and the fixture that skips a test without a
// GPU.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace lowp_test {

inline void must(cudaError_t code) {
  if (code != cudaSuccess) throw std::runtime_error(cudaGetErrorString(code));
}

class on_a_gpu : public testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
      GTEST_SKIP() << "SKIPPED: there is no GPU";
  }
};

template <class T>
bool same_bits(std::vector<T> const& a, std::vector<T> const& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

// `size` elements that begin `lead` elements after an address aligned to 256 bytes.
template <class T>
class device_range {
 public:
  explicit device_range(std::vector<T> const& from, std::size_t lead = 0)
      : lead_(lead), size_(from.size()), bytes_((lead + from.size()) * sizeof(T) + 2 * margin) {
    must(cudaMalloc(&memory_, bytes_));
    must(cudaMemset(memory_, canary, bytes_));
    if (size_ != 0)
      must(cudaMemcpy(data(), from.data(), size_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  device_range(device_range const&) = delete;
  device_range& operator=(device_range const&) = delete;
  ~device_range() { cudaFree(memory_); }

  [[nodiscard]] T* data() const {
    return reinterpret_cast<T*>(static_cast<unsigned char*>(memory_) + margin) + lead_;
  }
  [[nodiscard]] std::size_t size() const { return size_; }

  // Copies the range to the processor. Nothing beside it may have changed.
  [[nodiscard]] std::vector<T> read() const {
    must(cudaDeviceSynchronize());
    std::vector<unsigned char> all(bytes_);
    must(cudaMemcpy(all.data(), memory_, bytes_, cudaMemcpyDeviceToHost));
    std::size_t const begin = margin + lead_ * sizeof(T);
    for (std::size_t i = 0; i < bytes_; ++i)
      if ((i < begin || i >= begin + size_ * sizeof(T)) && all[i] != canary) {
        ADD_FAILURE() << "something was written beside a range of " << size_;
        break;
      }
    std::vector<T> out(size_);
    if (size_ != 0)
      std::memcpy(static_cast<void*>(out.data()), all.data() + begin, size_ * sizeof(T));
    return out;
  }

 private:
  static constexpr unsigned char canary = 0xa5;
  static constexpr std::size_t margin = 256;
  std::size_t lead_, size_, bytes_;
  void* memory_ = nullptr;
};

// An object in device memory.
template <class T>
class device_object {
 public:
  explicit device_object(T const& x = {}) {
    must(cudaMalloc(&memory_, sizeof(T)));
    set(x);
  }
  device_object(device_object const&) = delete;
  device_object& operator=(device_object const&) = delete;
  ~device_object() { cudaFree(memory_); }

  void set(T const& x) const { must(cudaMemcpy(memory_, &x, sizeof x, cudaMemcpyHostToDevice)); }
  [[nodiscard]] T get() const {
    must(cudaDeviceSynchronize());
    T x;
    must(cudaMemcpy(&x, memory_, sizeof x, cudaMemcpyDeviceToHost));
    return x;
  }
  [[nodiscard]] T* data() const { return static_cast<T*>(memory_); }

 private:
  void* memory_ = nullptr;
};

}  // namespace lowp_test
