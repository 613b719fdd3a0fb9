// SPDX-License-Identifier: Apache-2.0
// GGUF, the files of llama.cpp.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "files/gguf_shard.hpp"
#include "files/tensor_file.hpp"

/// A GGUF file, seen as safetensors would have it. Of a split model, it is all files, which
/// llama.cpp calls NAME-00001-of-00002.gguf and so on:
///
///     in the file                   here
///     NAME MXFP4                    NAME F4, NAME_scale F8_E8M0
///     NAME.weight NVFP4             NAME.weight F4, NAME.weight_scale F8_E4M3
///     NAME.scale F32, or nothing    NAME.weight_scale_2 F32: a factor, one an expert, or 1
///     NAME of other blocks          NAME U8: its bytes; those to the next tensor if the type is
///                                   not known
///
/// A block has its scales first: 32 elements in 1 + 16 bytes, or 64 in 4 + 32. The codes of a scale
/// are split: byte j has element j in its low bits. Its high bits have the element half of them
/// further. Here they are in the order of safetensors. Extents are in C order, the reverse of the
/// file's. Metadata are texts and numbers, without arrays.
class gguf_file final : public tensor_file {
 public:
  explicit gguf_file(std::string path);

  [[nodiscard]] std::string const& path() const override { return path_; }
  [[nodiscard]] std::vector<std::string> files() const override;
  [[nodiscard]] std::vector<tensor> const& tensors() const override { return tensors_; }
  [[nodiscard]] tensor const* find(std::string_view name) const override;
  [[nodiscard]] std::map<std::string, std::string> const& metadata() const override {
    return metadata_;
  }
  void read_bytes(tensor const& t, std::uint64_t first, std::span<std::byte> out) const override;

 private:
  /// The bytes [skipped, skipped + taken) of each block of `block` bytes. The first begins at `at`.
  struct place {
    std::uint64_t at = 0, block = 1, skipped = 0, taken = 1;
    std::uint64_t split = 0;  ///< bytes that hold the codes of one scale; 0 if codes are not split
    gguf_shard const* shard = nullptr;
  };

  struct listed;
  struct block;
  static std::optional<block> block_of(std::uint32_t type);
  void open_shards();
  void check_split(gguf_shard const& of, gguf_split const& wanted) const;
  static std::set<std::string> name_factors(std::vector<listed>& all);
  static std::uint64_t check_room(listed const& of, std::uint64_t elements, std::uint64_t bytes);
  static void check_rows(listed const& of, std::uint64_t elements);
  void add_plain(listed const& of, lowp::safetensors::dtype type);
  void add_bytes(listed const& of);
  void add_blocks(listed const& of, block const& each, bool lacks_factor);
  void add(listed const& of, std::string name, lowp::safetensors::dtype type,
           std::vector<std::uint64_t> shape, std::uint64_t bytes, place where);

  std::string path_;
  std::vector<std::unique_ptr<gguf_shard>> shards_;
  std::vector<tensor> tensors_;
  std::map<std::string, std::size_t, std::less<>> numbers_;  // of a tensor's name
  std::map<std::uint64_t, place> places_;                    // of a tensor's `begin`
  std::map<std::string, std::string> metadata_;
};
