// SPDX-License-Identifier: Apache-2.0
// The tensors of a transformer that continues a text.
#pragma once

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "task.hpp"

namespace training {

struct transformer_layout {
  static constexpr std::size_t width = 32, heads = 2, hidden = 128, blocks = 2, length = 32;
  /// Places of weights; the bias follows. Those of a block count from its place.
  enum place : std::size_t { norm1 = 2, qkv = 4, attended = 6, norm2 = 8, up = 10, down = 12 };
  static constexpr std::size_t of_block = 12, last_norm = 2 + blocks * of_block,
                               head = last_norm + 2;

  static std::vector<tensor_shape> shapes(std::size_t vocabulary_size) {
    std::vector<tensor_shape> all{{"symbol_embedding", width, vocabulary_size, 0.5f},
                                  {"position_embedding", width, length, 0.1f}};
    float const bound = 1 / std::sqrt(static_cast<float>(width));
    float const up_bound = 1 / std::sqrt(static_cast<float>(hidden));
    auto const add = [&](std::string const& name, std::size_t rows, std::size_t columns,
                         float within, float centre = 0) {
      all.push_back({name + ".weight", rows, columns, within, centre});
      all.push_back({name + ".bias", rows, 1, 0});
    };
    auto const add_norm = [&](std::string const& name) { add(name, width, 1, 0, 1); };
    for (std::size_t b = 0; b < blocks; ++b) {
      std::string const name = "block" + std::to_string(b + 1);
      add_norm(name + ".norm1");
      add(name + ".qkv", 3 * width, width, bound);
      add(name + ".attended", width, width, bound);
      add_norm(name + ".norm2");
      add(name + ".up", hidden, width, bound);
      add(name + ".down", width, hidden, up_bound);
    }
    add_norm("last_norm");
    add("head", vocabulary_size, width, bound);
    return all;
  }
};

}  // namespace training
