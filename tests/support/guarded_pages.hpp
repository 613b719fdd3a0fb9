// SPDX-License-Identifier: Apache-2.0
// A range between two pages that no one may touch: reading or writing past its end is a crash.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <new>
#include <span>

#include "train/update/support.hpp"

namespace lowp_test {

// The place of a range on its page: its last element before the page's end, or its first element
// `lead` elements after the page's start.
struct place {
  std::size_t size = 0;
  bool at_end = true;
  std::size_t lead = 0;
};

// Every length to 300, against both guards; the address of the first element takes every value
// modulo 64 bytes that its size allows.
template <class Body>
void for_each_place(Body body) {
  for (std::size_t size = 0; size <= 300; ++size) {
    body(place{size, true, 0});
    body(place{size, false, size % 64});
  }
}

template <lowp::element T>
class guarded_pages {
 public:
  guarded_pages() {
    void* const pages = mmap(nullptr, 3 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    pages_ = static_cast<unsigned char*>(pages);
    if (mprotect(first(), page_, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  }
  guarded_pages(const guarded_pages&) = delete;
  guarded_pages& operator=(const guarded_pages&) = delete;
  ~guarded_pages() { munmap(pages_, 3 * page_); }

  // The first elements of `from`, at the given place.
  std::span<T> put(const tensor& from, const place& where) {
    size_ = where.size;
    begin_ = where.at_end ? page_ - size_ * sizeof(T) : where.lead * sizeof(T);
    std::memset(first(), canary, page_);
    for (std::size_t i = 0; i < size_; ++i) {
      const T x = slot_value<T>(from.codes[i]);
      std::memcpy(address(i), &x, sizeof x);
    }
    return {reinterpret_cast<T*>(address(0)), size_};
  }

  // The range holds the first elements of `want`, and nothing around it has changed.
  [[nodiscard]] testing::AssertionResult holds(const tensor& want, const char* slot) const {
    for (std::size_t i = 0; i < size_; ++i) {
      T x;
      std::memcpy(static_cast<void*>(&x), address(i), sizeof x);
      const testing::AssertionResult same = has_bits(x, want.codes[i]);
      if (!same)
        return testing::AssertionFailure()
               << slot << '[' << i << "] of " << size_ << ": " << same.message();
    }
    for (std::size_t i = 0; i < page_; ++i) {
      const bool inside = i >= begin_ && i < begin_ + size_ * sizeof(T);
      if (!inside && first()[i] != canary)
        return testing::AssertionFailure()
               << "something was written beside " << slot << " of " << size_;
    }
    return testing::AssertionSuccess();
  }

 private:
  static constexpr unsigned char canary = 0xa5;
  [[nodiscard]] unsigned char* first() const { return pages_ + page_; }
  [[nodiscard]] unsigned char* address(std::size_t i) const {
    return first() + begin_ + i * sizeof(T);
  }

  std::size_t page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  unsigned char* pages_ = nullptr;
  std::size_t begin_ = 0;
  std::size_t size_ = 0;
};

}  // namespace lowp_test
