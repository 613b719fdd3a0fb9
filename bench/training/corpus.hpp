// SPDX-License-Identifier: Apache-2.0
// A text that a model learns to continue, byte by byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace training {

/// Bytes, numbered by their place among the distinct bytes of the text in ascending order.
class corpus {
 public:
  /// @throws std::runtime_error  there is no such file, or less in it than a model needs
  explicit corpus(std::string const& path);

  std::size_t vocabulary_size() const { return vocabulary_size_; }
  /// The first nine tenths, and the last.
  std::span<std::uint8_t const> training_part() const {
    return std::span(symbols_).first(held_out_);
  }
  std::span<std::uint8_t const> held_out_part() const {
    return std::span(symbols_).subspan(held_out_);
  }

 private:
  std::vector<std::uint8_t> symbols_;
  std::size_t vocabulary_size_ = 0, held_out_ = 0;
};

/// Stretches of `length` symbols, as contexts, and their targets. A target is the symbol after the
/// stretch. If there is a target for each symbol, it is the next symbol.
struct stretches {
  std::vector<std::uint8_t> contexts, targets;

  void append(std::span<std::uint8_t const> text, std::size_t position, std::size_t length,
              bool has_all_targets);
};

/// `count` stretches drawn for a step.
stretches drawn(std::span<std::uint8_t const> text, std::size_t count, std::size_t length,
                bool has_all_targets, std::uint64_t seed, std::uint64_t step);
/// `count` stretches, evenly spaced.
stretches spaced(std::span<std::uint8_t const> text, std::size_t count, std::size_t length,
                 bool has_all_targets);

}  // namespace training
