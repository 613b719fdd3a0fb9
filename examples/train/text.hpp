// SPDX-License-Identifier: Apache-2.0
// The text that a model learns to continue, byte by byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// The number of bytes that a model sees before it predicts the next one.
inline constexpr std::size_t context_size = 8;

/// Bytes are numbered by their place in the vocabulary.
struct batch {
  std::vector<std::uint8_t> contexts;  ///< context_size for each target
  std::vector<std::uint8_t> targets;

  std::size_t size() const { return targets.size(); }
};

class text {
 public:
  /// @throws problem  there is no such file, or too little in it
  explicit text(std::string const& path);

  std::size_t size() const { return symbols_.size(); }
  /// The distinct bytes of the text in ascending order.
  std::string const& vocabulary() const { return vocabulary_; }

  /// Drawn at random from the first nine tenths. A function of (seed, step) alone: every mode sees
  /// the same data, and a resumed run has no generator to restore.
  batch training_batch(std::uint64_t seed, std::uint64_t step, std::size_t size) const;

  /// Evenly spaced, and the same at every call: from the training part, and from the last tenth,
  /// which no training batch touches.
  batch training_sample(std::size_t at_most) const { return sample(0, held_out_, at_most); }
  batch held_out_sample(std::size_t at_most) const { return sample(held_out_, size(), at_most); }

 private:
  batch sample(std::size_t first, std::size_t last, std::size_t at_most) const;
  void append(batch& b, std::size_t position) const;

  std::string vocabulary_;
  std::vector<std::uint8_t> symbols_;
  std::size_t held_out_ = 0;  // where the last tenth starts
};
