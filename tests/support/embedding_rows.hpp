// SPDX-License-Identifier: Apache-2.0
// Tables, and ids of their rows, for an embedding.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace lowp_test {

constexpr std::int64_t ignored_id = -100;

// Numbers of many magnitudes.
template <class T>
std::vector<T> numbers(std::size_t size, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<T> all(size);
  for (T& each : all) each = T(std::ldexp(normal(random), static_cast<int>(random() % 30) - 20));
  return all;
}

// Ids that come once, side by side, in every other row, or in hundreds of rows.
template <class Id>
std::vector<Id> some_ids(std::size_t rows, std::size_t table_rows, std::mt19937& random) {
  std::vector<Id> ids(rows);
  for (std::size_t r = 0; r < rows; ++r) {
    std::size_t const id = r % 3 == 0 ? table_rows / 2 : r % 7 == 1 ? 0 : random() % table_rows;
    ids[r] = r % 11 == 5 ? static_cast<Id>(ignored_id) : static_cast<Id>(id);
  }
  return ids;
}

}  // namespace lowp_test
