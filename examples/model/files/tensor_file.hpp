// SPDX-License-Identifier: Apache-2.0
// A file of tensors, of any kind that the program reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <lowp/io/safetensors/header.hpp>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Tensors have their data in [begin, end) of a space that the file defines. Every function throws
/// std::runtime_error that names the file, the tensor and what was seen.
class tensor_file {
 public:
  using tensor = lowp::safetensors::tensor;
  virtual ~tensor_file() = default;

  [[nodiscard]] virtual std::string const& path() const = 0;
  /// Returns the paths of all files: one, or those of a split model.
  [[nodiscard]] virtual std::vector<std::string> files() const { return {path()}; }
  /// Returns the tensors in the order of their data.
  [[nodiscard]] virtual std::vector<tensor> const& tensors() const = 0;
  /// Returns null if no tensor has that name.
  [[nodiscard]] virtual tensor const* find(std::string_view name) const = 0;
  [[nodiscard]] virtual std::map<std::string, std::string> const& metadata() const = 0;
  /// Reads bytes of a tensor, starting at its byte `first`.
  virtual void read_bytes(tensor const& t, std::uint64_t first, std::span<std::byte> out) const = 0;
};

/// Opens a safetensors file, or a GGUF file if it begins with these letters. Of a split GGUF model,
/// it opens all files.
std::unique_ptr<tensor_file> open_tensors(std::string const& path);

/// @throws problem  `path` is a folder, or a file that Git LFS has not fetched
void check_is_file(std::string const& path);
