// SPDX-License-Identifier: Apache-2.0
#include "text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "problem.hpp"
#include "random.hpp"

namespace {

constexpr std::size_t least_size = 200;  // so that the last tenth has contexts and targets

std::string contents(std::string const& path) {
  // A folder opens like a file and fails only at the first read.
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path))
    throw problem(fmt::format("cannot read the text '{}': name a readable file with --text", path));
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

text::text(std::string const& path) {
  std::string const bytes = contents(path);
  if (bytes.size() < least_size)
    throw problem(fmt::format("the text '{}' has {} bytes: name one of at least {} with --text",
                              path, bytes.size(), least_size));
  bool is_used[256] = {};
  for (char const c : bytes) is_used[static_cast<unsigned char>(c)] = true;
  std::uint8_t number[256] = {};
  for (std::size_t byte = 0; byte < 256; ++byte) {
    if (!is_used[byte]) continue;
    number[byte] = static_cast<std::uint8_t>(vocabulary_.size());
    vocabulary_ += static_cast<char>(byte);
  }
  symbols_.reserve(bytes.size());
  for (char const c : bytes) symbols_.push_back(number[static_cast<unsigned char>(c)]);
  held_out_ = symbols_.size() - symbols_.size() / 10;
}

batch text::training_batch(std::uint64_t seed, std::uint64_t step, std::size_t size) const {
  std::uint64_t const positions = held_out_ - context_size;
  batch result;
  for (std::size_t i = 0; i < size; ++i) {
    std::uint64_t const word =
        random_word(seed, purpose::data, static_cast<std::uint32_t>(step), i);
    append(result, static_cast<std::size_t>(word * positions >> 32));
  }
  return result;
}

batch text::sample(std::size_t first, std::size_t last, std::size_t at_most) const {
  std::size_t const positions = last - first - context_size;
  std::size_t const count = std::min(positions, at_most);
  batch result;
  for (std::size_t i = 0; i < count; ++i) append(result, first + i * positions / count);
  return result;
}

void text::append(batch& b, std::size_t position) const {
  auto const context = symbols_.begin() + static_cast<std::ptrdiff_t>(position);
  b.contexts.insert(b.contexts.end(), context, context + context_size);
  b.targets.push_back(context[context_size]);
}
