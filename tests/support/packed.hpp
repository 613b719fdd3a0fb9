// SPDX-License-Identifier: Apache-2.0
// Packed codes, bit by bit.
#pragma once

#include <gtest/gtest.h>
#include <lowp/cast.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "pages.hpp"

namespace lowp_test {

template <class T, class Order>
struct packed_kind {
  using type = T;
  using order = Order;
  using view = lowp::packed<T, Order>;
  static constexpr bool is_split = std::is_same_v<Order, lowp::split_order>;
  static constexpr unsigned bits = T::descriptor.bits();
  // The sizes that the order allows are multiples of this.
  static constexpr std::size_t unit = is_split ? 32 : 1;

  static std::size_t bytes_of(std::size_t size) { return (size * bits + 7) / 8; }
  static std::vector<std::uint8_t> pack(std::span<T const> codes) {
    std::vector<std::uint8_t> bytes(bytes_of(codes.size()));
    for (std::size_t i = 0; i < codes.size(); ++i)
      for (unsigned b = 0; b < bits; ++b) {
        std::size_t const place =
            is_split ? i / 32 * 128 + i % 16 * 8 + (i % 32 < 16 ? 0 : 4) + b : i * bits + b;
        auto const bit = static_cast<unsigned>(codes[i].bits()) >> b & 1U;
        bytes[place / 8] = static_cast<std::uint8_t>(bytes[place / 8] | bit << place % 8);
      }
    return bytes;
  }
};

// Packed codes on a page between two that no one may touch: at its end, or `lead` bytes after its
// start.
template <class Kind>
class packed_pages {
 public:
  typename Kind::view put(std::span<typename Kind::type const> codes, bool at_end,
                          std::size_t lead) {
    auto const bytes = Kind::pack(codes);
    size_ = bytes.size();
    begin_ = at_end ? separate_pages::size - size_ : lead;
    std::memset(pages_.page(0), canary, separate_pages::size);
    if (size_ != 0) std::memcpy(pages_.page(0) + begin_, bytes.data(), size_);
    auto const elements = codes.size();
    if (elements * Kind::bits % 8 != 0)  // what the unused bits held does not matter
      pages_.page(0)[begin_ + size_ - 1] |=
          static_cast<std::uint8_t>(0xff << elements * Kind::bits % 8);
    return {std::span(pages_.page(0) + begin_, size_), elements};
  }
  // The bytes hold `codes` and zeros in unused bits, and nothing around them has changed.
  [[nodiscard]] testing::AssertionResult holds(std::span<typename Kind::type const> codes) const {
    auto const want = Kind::pack(codes);
    for (std::size_t i = 0; i < separate_pages::size; ++i) {
      bool const inside = i >= begin_ && i < begin_ + size_;
      unsigned const wanted = inside ? want[i - begin_] : unsigned{canary};
      if (pages_.page(0)[i] != wanted)
        return testing::AssertionFailure()
               << "byte " << i - begin_ << " of " << codes.size()
               << " codes: " << unsigned{pages_.page(0)[i]} << ", not " << wanted;
    }
    return testing::AssertionSuccess();
  }

 private:
  static constexpr unsigned char canary = 0xa5;
  separate_pages pages_{1};
  std::size_t begin_ = 0, size_ = 0;
};

}  // namespace lowp_test
