// SPDX-License-Identifier: Apache-2.0
// Memory of the benchmarks: taken once, given out anew for each case.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <source_location>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace bench {

/// Tells a rehearsal on an emulated GPU, which needs hours for a second of a real one.
#if defined(LOWP_REHEARSAL)
inline constexpr bool is_rehearsal = true;
#else
inline constexpr bool is_rehearsal = false;
#endif

/// Tells a run of two minutes: each case has one size, a quarter of the whole one.
#if defined(LOWP_QUICK)
inline constexpr bool is_quick = true;
#else
inline constexpr bool is_quick = is_rehearsal;
#endif

inline void must(cudaError_t code,
                 std::source_location const& where = std::source_location::current()) {
  if (code == cudaSuccess) return;
  throw std::runtime_error(std::string(where.file_name()) + ":" + std::to_string(where.line()) +
                           ": " + cudaGetErrorName(code) + ": " + cudaGetErrorString(code));
}

enum class memory { device, pinned };

class arena {
 public:
  arena(memory kind, std::size_t bytes) : kind_(kind), size_(bytes) {
    void* data = nullptr;
    must(kind == memory::device ? cudaMalloc(&data, bytes) : cudaMallocHost(&data, bytes));
    data_ = static_cast<std::byte*>(data);
  }
  ~arena() { kind_ == memory::device ? cudaFree(data_) : cudaFreeHost(data_); }
  arena(arena const&) = delete;
  arena& operator=(arena const&) = delete;

  template <class T>
  std::span<T> take(std::size_t count) {
    std::size_t const bytes = (count * sizeof(T) + 511) / 512 * 512;
    if (size_ - used_ < bytes)
      throw std::runtime_error("the arena has " + std::to_string(size_) + " bytes, of which " +
                               std::to_string(used_) + " are used: no room for " +
                               std::to_string(bytes));
    auto* const data = reinterpret_cast<T*>(data_ + used_);
    used_ += bytes;
    return {data, count};
  }
  void give_back() { used_ = 0; }

 private:
  memory kind_;
  std::size_t size_, used_ = 0;
  std::byte* data_ = nullptr;
};

/// An operand in `sets` copies. Launches take turns on them, so that none finds in a cache what
/// another has left there. The first two are equal: one is computed on, the other remembers.
template <class T>
struct rotation {
  T* data;
  std::size_t count, sets;

  std::span<T> operator[](std::size_t launch) const {
    return {data + launch % sets * count, count};
  }
  std::span<T> all() const { return {data, count * sets}; }
};

/// Counts the sets that make the operand with this many bytes take 512 MiB, several times any L2.
inline std::size_t sets_of(std::size_t bytes) {
  constexpr std::size_t enough = is_rehearsal ? 0 : std::size_t{512} << 20;
  std::size_t const sets = (enough + bytes - 1) / bytes;
  return sets < 2 ? 2 : sets;
}

}  // namespace bench
