// SPDX-License-Identifier: Apache-2.0
// Numbers between layers.
#pragma once

#include <lowp/cast.hpp>

#include <cstddef>
#include <span>
#include <vector>

#include "products.hpp"

namespace transformers {

using training::index;

/// Rows of `columns` elements, one for each token.
template <class T>
struct row_matrix {
  std::vector<T> elements;
  std::size_t columns;

  row_matrix(std::size_t rows, std::size_t width) : elements(rows * width), columns(width) {}
  explicit row_matrix(matrix const& m)
      : row_matrix(static_cast<std::size_t>(m.cols()), static_cast<std::size_t>(m.rows())) {
    lowp::cast(std::span(m.data(), elements.size()), elements);
  }
  std::size_t rows() const { return elements.size() / columns; }
  /// Returns the rows as columns.
  matrix floats() const {
    matrix m(index(columns), index(rows()));
    lowp::cast(elements, std::span(m.data(), elements.size()));
    return m;
  }
};

}  // namespace transformers
