// SPDX-License-Identifier: Apache-2.0
// A range between two pages that no one may touch.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <span>

#include "pages.hpp"
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
inline void for_each_place(std::function<void(place const&)> const& body) {
  for (std::size_t size = 0; size <= 300; ++size) {
    body(place{size, true, 0});
    body(place{size, false, size % 64});
  }
}

template <lowp::element T>
class guarded_pages {
 public:
  // The first elements of `from`, at the given place.
  std::span<T> put(tensor const& from, place const& where) {
    size_ = where.size;
    begin_ = where.at_end ? separate_pages::size - size_ * sizeof(T) : where.lead * sizeof(T);
    std::memset(first(), canary, separate_pages::size);
    for (std::size_t i = 0; i < size_; ++i) {
      T const x = slot_value<T>(from.codes[i]);
      std::memcpy(address(i), &x, sizeof x);
    }
    return {reinterpret_cast<T*>(address(0)), size_};
  }

  // The range holds the first elements of `want`, and nothing around it has changed.
  [[nodiscard]] testing::AssertionResult holds(tensor const& want, char const* slot) const {
    for (std::size_t i = 0; i < size_; ++i) {
      T x;
      std::memcpy(static_cast<void*>(&x), address(i), sizeof x);
      testing::AssertionResult const same = has_bits(x, want.codes[i]);
      if (!same)
        return testing::AssertionFailure()
               << slot << '[' << i << "] of " << size_ << ": " << same.message();
    }
    for (std::size_t i = 0; i < separate_pages::size; ++i) {
      bool const inside = i >= begin_ && i < begin_ + size_ * sizeof(T);
      if (!inside && first()[i] != canary)
        return testing::AssertionFailure()
               << "something was written beside " << slot << " of " << size_;
    }
    return testing::AssertionSuccess();
  }

 private:
  static constexpr unsigned char canary = 0xa5;
  [[nodiscard]] unsigned char* first() const { return pages_.page(0); }
  [[nodiscard]] unsigned char* address(std::size_t i) const {
    return first() + begin_ + i * sizeof(T);
  }

  separate_pages pages_{1};
  std::size_t begin_ = 0;
  std::size_t size_ = 0;
};

}  // namespace lowp_test
