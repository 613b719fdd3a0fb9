// SPDX-License-Identifier: Apache-2.0
// Numbers of a file as bit patterns: .npy, safetensors, hex text or raw bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "formats.hpp"

namespace judge {

/// The bytes of a file, mapped: a file of 16 GB takes no memory.
class mapped {
 public:
  explicit mapped(std::string const& path);
  mapped(mapped const&) = delete;
  mapped& operator=(mapped const&) = delete;
  ~mapped();
  [[nodiscard]] std::span<std::byte const> bytes() const { return {data_, size_}; }

 private:
  std::byte const* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Elements of 1, 2, 4 or 8 bytes.
class column {
 public:
  column(std::string path, std::shared_ptr<mapped const> file, std::span<std::byte const> bytes,
         unsigned width)
      : path_(std::move(path)), file_(std::move(file)), bytes_(bytes), width_(width) {}
  column(std::string path, std::vector<std::byte> own, unsigned width)
      : path_(std::move(path)), own_(std::move(own)), bytes_(own_), width_(width) {}
  column(column&&) = default;

  [[nodiscard]] std::uint64_t size() const { return bytes_.size() / width_; }
  [[nodiscard]] std::uint64_t operator[](std::uint64_t i) const {
    std::uint64_t code = 0;
    for (unsigned k = 0; k < width_; ++k)
      code |= static_cast<std::uint64_t>(bytes_[i * width_ + k]) << (8 * k);
    return code;
  }
  [[nodiscard]] std::string const& path() const { return path_; }
  /// The same, with bytes of its own.
  [[nodiscard]] column owned() &&;

 private:
  std::string path_;
  std::shared_ptr<mapped const> file_;
  std::vector<std::byte> own_;
  std::span<std::byte const> bytes_;
  unsigned width_;
};

/// Reads numbers of a type. `path` may end in ":name", the name of a tensor of a safetensors file.
/// The end of the name says what the file is: .npy, .safetensors, .hex, .mem, .txt; else raw bytes.
/// @throws problem  the file is not that, or holds something else; it says what was due and seen
column read_numbers(std::string const& path, number_type const& due);

/// Writes a file whole or not at all. `code(i)` is element i. A name that ends in .hex or .bin gets
/// hex text or raw bytes, any other .npy.
void write_numbers(std::string const& path, number_type const& type, std::uint64_t count,
                   std::function<std::uint64_t(std::uint64_t)> const& code);
void write_text(std::string const& path, std::string const& text);

/// A .npy file's elements.
struct npy {
  char kind = 0;       ///< of NumPy: f, i, u or V
  unsigned bytes = 0;  ///< of an element
  std::string descr;   ///< as the file has it
  std::uint64_t count = 0;
  std::size_t offset = 0;  ///< of the data
};
npy read_npy_header(std::string const& path, std::span<std::byte const> bytes);
std::string npy_header(number_type const& type, std::uint64_t count);

/// Codes of hex text, as $readmemh takes it: comments, and addresses in order.
std::vector<std::byte> read_hex(std::string const& path, std::string_view text,
                                number_type const& due);

}  // namespace judge
