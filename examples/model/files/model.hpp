// SPDX-License-Identifier: Apache-2.0
// A model on disk: a file of safetensors or GGUF, or several and an index of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "files/block_scales.hpp"
#include "files/tensor_file.hpp"

/// Returns the metadata key of a tensor's scale, by the convention of lowp/checkpoint.hpp. The key
/// scalar.NAME.scale holds a power of two as text: a value of tensor NAME is its element over it.
std::string key_of_scale(std::string_view name);
/// The NAME of such a key; nothing for any other key.
std::optional<std::string_view> tensor_of_scale(std::string_view key);

/// Every function throws std::runtime_error that names the file, the tensor and what was seen.
class model {
 public:
  struct entry {
    lowp::safetensors::tensor const* tensor = nullptr;
    std::size_t shard = 0;
    float scale = 1;                       ///< a value is an element over this
    block_scales const* blocks = nullptr;  ///< null if a value is an element over `scale`

    [[nodiscard]] std::string const& name() const { return tensor->name; }
    [[nodiscard]] lowp::safetensors::dtype type() const { return tensor->type; }
    /// "F32", "NVFP4 (ModelOpt)"
    [[nodiscard]] std::string type_text() const {
      return blocks != nullptr ? blocks->text() : std::string(name_of(type()));
    }
    /// Returns the bytes of the elements, without scales.
    [[nodiscard]] std::uint64_t bytes() const { return tensor->end - tensor->begin; }
    [[nodiscard]] std::uint64_t all_bytes() const;
    /// Returns the tensors of the file: one, or codes and scales.
    [[nodiscard]] std::vector<part> parts() const;
    [[nodiscard]] std::uint64_t count() const { return element_count(*tensor); }
    /// Tells if the metadata may have a scale for it: floating-point numbers without other scales.
    [[nodiscard]] bool takes_scale() const;
  };

  /// @param path  of a safetensors or GGUF file, or of the index of a sharded model (*.json: an
  ///              object whose "weight_map" has the file of each tensor, beside the index). Tensors
  ///              that an index does not name are left out
  explicit model(std::string path);

  /// A line about what the model is without, or may be; empty if there is nothing to say.
  [[nodiscard]] std::string const& note() const { return note_; }

  [[nodiscard]] std::string const& path() const { return path_; }
  /// Sorted by name: the same for one file and for its shards.
  [[nodiscard]] std::vector<entry> const& entries() const { return entries_; }
  /// Null if no tensor has that name.
  [[nodiscard]] entry const* find(std::string_view name) const;
  /// Collected from all shards; if two differ, the first counts.
  [[nodiscard]] std::map<std::string, std::string> const& metadata() const { return metadata_; }
  [[nodiscard]] std::uint64_t bytes() const;
  [[nodiscard]] bool is_sharded() const { return is_sharded_; }
  /// @throws problem  writing to `path` would replace the model or a part of it
  void spare(std::string const& path) const;

  void read(entry const& of, std::uint64_t first, std::span<std::byte> out) const {
    read(part{of.tensor, of.shard}, first, out);
  }
  void read(part const& of, std::uint64_t first, std::span<std::byte> out) const {
    shards_[of.shard]->read_bytes(*of.tensor, first, out);
  }

 private:
  void open_shards();
  void leave_out();
  [[nodiscard]] bool has_file_at(std::string const& path) const;
  void read_scale(entry& of) const;
  void join_blocks();
  void note_other_scales();

  std::string path_, note_;
  bool is_sharded_ = false;
  std::vector<std::unique_ptr<tensor_file>> shards_;
  std::vector<entry> entries_;
  std::deque<block_scales> blocks_;
  std::map<std::string, std::string> metadata_;
};
