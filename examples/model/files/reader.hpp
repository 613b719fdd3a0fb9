// SPDX-License-Identifier: Apache-2.0
// The elements of a tensor as numbers, a piece at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "files/model.hpp"

/// Reads a tensor whose type facts_of() knows. A piece is the values of consecutive elements,
/// scales included. F64 comes as doubles, and so does what has a scale or a factor. Everything else
/// comes as floats. Products with scales are exact; a quotient is rounded to double.
class reader {
 public:
  /// Elements of a piece. A multiple of 2^14, so that a census of pieces has the bits of a whole
  /// one's.
  static constexpr std::size_t most = std::size_t{1} << 18;

  /// @param factor  a power of two that values are multiplied by
  reader(model const& from, model::entry const& of, float factor = 1);

  /// The next piece; false after the last.
  bool next();
  /// The number of the piece's first element.
  [[nodiscard]] std::uint64_t first() const { return first_; }
  [[nodiscard]] bool is_double() const { return is_double_; }
  /// The piece. Of doubles: rounded to odd, from which rounding to any narrower format gives what
  /// rounding the double does.
  std::span<float const> floats();
  /// The piece, if is_double().
  [[nodiscard]] std::span<double const> doubles() const { return {doubles_.data(), size_}; }
  [[nodiscard]] std::uint64_t bytes() const { return std::uint64_t{size_} * bits_ / 8; }
  /// Returns what element i of the piece is a code times: 1 over the scale of the tensor, or the
  /// scale of its block. A scale of zero counts as its format's smallest.
  [[nodiscard]] double unit_at(std::size_t i) const;

 private:
  void decode();
  void decode_blocks();
  [[nodiscard]] float factor_at(std::uint64_t element) const;
  /// Returns the number of the block that has the element.
  [[nodiscard]] std::uint64_t block_at(std::uint64_t element) const;

  model const& from_;
  model::entry const& of_;
  float factor_;
  bool is_double_;
  unsigned bits_;  // of an element
  std::size_t size_ = 0;
  std::uint64_t first_ = 0, count_;
  std::vector<std::byte> bytes_;
  std::vector<float> floats_;
  std::vector<double> doubles_;
  std::vector<float> scales_;  // of the piece's blocks, from number first_block_
  std::uint64_t first_block_ = 0;
};
