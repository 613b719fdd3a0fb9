// SPDX-License-Identifier: Apache-2.0
// Products of matrices, random numbers, and a text to learn: what a whole model needs beside the
// library.
#pragma once

#include <lowp/lowp.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using floats = std::vector<float>;

constexpr std::size_t characters = 28, context = 32, sequences = 4, tokens = sequences * context;

// Multiplies pairs of matrices, which lie one after the other; `t` transposes. A real model calls
// its BLAS.
enum class form { ab, abt, atb };
inline floats product(form how, floats const& a, std::size_t a_columns, floats const& b,
                      std::size_t b_columns, std::size_t pairs = 1) {
  bool const at = how == form::atb, bt = how == form::abt;
  std::size_t const a_rows = a.size() / pairs / a_columns, b_rows = b.size() / pairs / b_columns;
  std::size_t const rows = at ? a_columns : a_rows, inner = at ? a_rows : a_columns;
  std::size_t const columns = bt ? b_rows : b_columns;
  std::size_t const b_down = bt ? 1 : b_columns, b_across = bt ? b_columns : 1;
  floats c(pairs * rows * columns);
  for (std::size_t row = 0; row < pairs * rows; ++row)
    for (std::size_t k = 0; k < inner; ++k) {
      std::size_t const pair = row / rows, i = row % rows;
      float const each =
          a[pair * a_rows * a_columns + (at ? k * a_columns + i : i * a_columns + k)];
      float const* const right = &b[pair * b_rows * b_columns + k * b_down];
      for (std::size_t j = 0; j < columns; ++j) c[row * columns + j] += each * right[j * b_across];
    }
  return c;
}

// Returns a source of random numbers that a seed names.
inline auto random_numbers(std::uint32_t seed) {
  return [seed, i = 0u]() mutable { return lowp::philox4x32({i++, 0, 0, 0}, {seed, 0})[0]; };
}

struct batch {
  std::vector<int> in, place, next;  // characters, their places, and those that follow them
};

// Makes sentences as "the small fox likes one owl. " from a number: a restart needs no more.
inline batch sentences(std::uint64_t number) {
  constexpr char const* words[][3] = {{"the ", "one ", "no "},
                                      {"red ", "small ", "old "},
                                      {"fox", "owl", "badger"},
                                      {" sees ", " likes ", " knows "},
                                      {". ", ". ", ". "}};
  auto random = random_numbers(static_cast<std::uint32_t>(number));
  batch all;
  for (std::size_t i = 0; i < sequences; ++i) {
    std::string line;
    while (line.size() <= 2 * context)
      for (int const kind : {0, 1, 2, 3, 0, 1, 2, 4}) line += words[kind][random() % 3];
    auto const id = [&](std::size_t at) {
      return int(std::string("abcdefghijklmnopqrstuvwxyz .").find(line[at]));
    };
    std::size_t const start = random() % context;
    for (std::size_t j = 0; j < context; ++j) {
      all.in.push_back(id(start + j));
      all.place.push_back(int(j));
      all.next.push_back(id(start + j + 1));
    }
  }
  return all;
}
