// SPDX-License-Identifier: Apache-2.0
// Vectors that begin at a multiple of a cache line. Eigen sums in registers from the first aligned
// element on; its place must not depend on the allocator.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace training {

template <class T>
struct on_cache_line {
  using value_type = T;
  static constexpr std::align_val_t alignment{64};

  on_cache_line() = default;
  template <class U>
  on_cache_line(on_cache_line<U> const&) {}

  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), alignment));
  }
  void deallocate(T* data, std::size_t) { ::operator delete(data, alignment); }
  bool operator==(on_cache_line const&) const = default;
};

template <class T>
using numbers = std::vector<T, on_cache_line<T>>;

}  // namespace training
