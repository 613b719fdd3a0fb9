// SPDX-License-Identifier: Apache-2.0
// A file of GGUF: versions 2 and 3, as docs/gguf.md of ggml defines them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// A tensor as the file has it.
struct gguf_tensor {
  std::string name;
  std::vector<std::uint64_t> shape;  ///< in C order, the reverse of the file's
  std::uint32_t type = 0;            ///< its number in ggml.h
  std::uint64_t at = 0, room = 0;    ///< its first byte, and the bytes to the next tensor

  /// "tensor 'NAME'"
  [[nodiscard]] std::string what() const;
};

/// The place of a file in a model of several.
struct gguf_split {
  std::uint64_t number, count;  ///< from 0; files
  std::uint64_t tensors;        ///< of all files
};

/// Every function throws std::runtime_error that names the file and what was seen.
class gguf_shard {
 public:
  explicit gguf_shard(std::string path);

  [[nodiscard]] std::string const& path() const { return path_; }
  /// Returns the tensors in the order of their data. No two have one name.
  [[nodiscard]] std::vector<gguf_tensor> const& tensors() const { return tensors_; }
  /// Returns texts and numbers, without arrays and without the split.
  [[nodiscard]] std::map<std::string, std::string> const& metadata() const { return metadata_; }
  /// Returns nothing if the file is a model by itself.
  [[nodiscard]] std::optional<gguf_split> const& split() const { return split_; }
  void read_at(std::uint64_t offset, std::span<std::byte> out) const;
  [[noreturn]] void refuse(std::string const& why) const;

 private:
  class header;
  void read_header();
  void read_split();
  [[nodiscard]] std::optional<std::uint64_t> whole_number(char const* key) const;

  std::string path_;
  mutable std::ifstream in_;
  std::uint64_t size_ = 0;
  std::vector<gguf_tensor> tensors_;
  std::map<std::string, std::string> metadata_;
  std::optional<gguf_split> split_;
};
