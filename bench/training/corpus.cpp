// SPDX-License-Identifier: Apache-2.0
#include "corpus.hpp"

#include <fstream>
#include <iterator>
#include <stdexcept>

#include "random.hpp"

namespace training {

corpus::corpus(std::string const& path) {
  constexpr std::size_t least_size = 10000;
  std::ifstream file(path, std::ios::binary);
  std::string const bytes{std::istreambuf_iterator<char>(file), {}};
  if (bytes.size() < least_size)
    throw std::runtime_error("the text '" + path + "' has " + std::to_string(bytes.size()) +
                             " bytes, and at least " + std::to_string(least_size) + " are needed");
  bool is_used[256] = {};
  for (char const c : bytes) is_used[static_cast<unsigned char>(c)] = true;
  std::uint8_t number[256] = {};
  for (std::size_t byte = 0; byte < 256; ++byte)
    if (is_used[byte]) number[byte] = static_cast<std::uint8_t>(vocabulary_size_++);
  for (char const c : bytes) symbols_.push_back(number[static_cast<unsigned char>(c)]);
  held_out_ = symbols_.size() - symbols_.size() / 10;
}

void stretches::append(std::span<std::uint8_t const> text, std::size_t position, std::size_t length,
                       bool has_all_targets) {
  auto const context = text.subspan(position, length);
  auto const after = text.subspan(position + 1, length);
  contexts.insert(contexts.end(), context.begin(), context.end());
  targets.insert(targets.end(), has_all_targets ? after.begin() : after.end() - 1, after.end());
}

stretches drawn(std::span<std::uint8_t const> text, std::size_t count, std::size_t length,
                bool has_all_targets, std::uint64_t seed, std::uint64_t step) {
  stretches result;
  for (std::size_t i = 0; i < count; ++i)
    result.append(text, random_below(text.size() - length, seed, step, i), length, has_all_targets);
  return result;
}

stretches spaced(std::span<std::uint8_t const> text, std::size_t count, std::size_t length,
                 bool has_all_targets) {
  stretches result;
  for (std::size_t i = 0; i < count; ++i)
    result.append(text, i * (text.size() - length) / count, length, has_all_targets);
  return result;
}

}  // namespace training
