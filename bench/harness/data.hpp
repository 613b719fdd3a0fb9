// SPDX-License-Identifier: Apache-2.0
// Input and output of the benchmarks.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <random>
#include <span>
#include <vector>

namespace bench {

/// A stream's memory: kept from case to case, replaced by a larger one on demand.
class block {
 public:
  std::byte* at_least(std::size_t bytes) {
    if (bytes <= size_) return memory_.get();
    size_ = (bytes + page - 1) / page * page;
    memory_.reset();
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(page, size_)));
    if (!memory_) throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
    // Otherwise small pages make the figures a matter of luck. Failure does no harm.
    madvise(memory_.get(), size_, MADV_HUGEPAGE);
#endif
    return memory_.get();
  }

 private:
  struct release {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  static constexpr std::size_t page = std::size_t{2} << 20;
  std::unique_ptr<std::byte, release> memory_;
  std::size_t size_ = 0;
};

/// The streams of one case, filled anew, so that updates in place start from the same state in
/// every repetition.
class data {
 public:
  /// n standard normal numbers, passed through `shape`. They repeat after 64 Ki elements, so that
  /// filling runs at the speed of a copy.
  template <class T, class Shape = std::identity>
  std::span<T> random(std::size_t n, Shape shape = {}) {
    std::size_t const shift = 7919 * used_;  // no two streams alike
    std::size_t const first = std::min(n, normal().size());
    std::span<T> const all{take<T>(n), n};
    for (std::size_t i = 0; i < first; ++i)
      all[i] = static_cast<T>(shape(normal()[(i + shift) % normal().size()]));
    for (std::size_t done = first; done < n; done += first)
      std::memcpy(&all[done], all.data(), std::min(first, n - done) * sizeof(T));
    return all;
  }

 private:
  // Each stream begins at another line of a page. If all had the same low 12 bits of address, loads
  // would wait for unrelated stores. All would compete for one set of the cache.
  template <class T>
  T* take(std::size_t n) {
    std::size_t const stagger = 17 * 64 * used_;
    return reinterpret_cast<T*>(next_block().at_least(n * sizeof(T) + stagger) + stagger);
  }

  block& next_block() {
    static std::vector<block> blocks;
    if (blocks.size() <= used_) blocks.resize(used_ + 1);
    return blocks[used_++];
  }

  static std::vector<float> const& normal() {
    static std::vector<float> const numbers = [] {
      std::mt19937 bits(20110516);
      std::normal_distribution<float> distribution;
      std::vector<float> result(std::size_t{64} << 10);
      for (float& x : result) x = distribution(bits);
      return result;
    }();
    return numbers;
  }

  std::size_t used_ = 0;
};

}  // namespace bench
