// SPDX-License-Identifier: Apache-2.0
// Rows with something between them that no one may read or write.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "pages.hpp"

namespace lowp_test {

// The rows with `between` elements of poison after each but the last.
template <class T>
std::vector<T> spread(std::vector<T> const& rows, std::size_t columns, std::size_t between,
                      std::type_identity_t<T> poison) {
  std::vector<T> all;
  for (std::size_t first = 0; first < rows.size(); first += columns) {
    if (first != 0) all.insert(all.end(), between, poison);
    auto const begin = rows.begin() + static_cast<std::ptrdiff_t>(first);
    all.insert(all.end(), begin, begin + static_cast<std::ptrdiff_t>(columns));
  }
  return all;
}

// The rows without the poison, every bit of which must still be there.
template <class T>
std::vector<T> gathered(std::vector<T> const& all, std::size_t columns, std::size_t between,
                        std::type_identity_t<T> poison) {
  std::vector<T> rows;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i % (columns + between) < columns)
      rows.push_back(all[i]);
    else
      EXPECT_EQ(std::memcmp(&all[i], &poison, sizeof poison), 0) << "element " << i;
  }
  return rows;
}

// Rows, each of which ends a page of its own. No one may touch the pages between them.
template <class T>
class rows_on_pages {
 public:
  rows_on_pages(std::size_t rows, std::size_t columns)
      : rows_(rows), columns_(columns), pages_(rows) {}

  // The elements from the first row to the last, whose rows begin `stride()` apart.
  [[nodiscard]] std::span<T> elements() const {
    return {row(0).data(), (rows_ - 1) * stride() + columns_};
  }
  [[nodiscard]] std::size_t stride() const { return 2 * separate_pages::size / sizeof(T); }
  [[nodiscard]] std::span<T> row(std::size_t r) const {
    return {reinterpret_cast<T*>(pages_.page(r) + separate_pages::size) - columns_, columns_};
  }

 private:
  std::size_t rows_, columns_;
  separate_pages pages_;
};

}  // namespace lowp_test
