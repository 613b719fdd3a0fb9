// SPDX-License-Identifier: Apache-2.0
// The contents of a checkpoint. A file is checked before it is loaded.
#pragma once

#include <lowp/io/checkpoint/saved.hpp>
#include <lowp/io/safetensors/file.hpp>
#include <lowp/io/safetensors/writer.hpp>

namespace lowp::detail::inline LOWP_UNIT {

/// The file's version. Metadata "scalar.NAME" are scalars. "format.NAME" gives the meaning of codes
/// that the file has only as integers.
inline constexpr char checkpoint_version[] = "1";
inline constexpr std::string_view version_key = "lowp.checkpoint", scalar_key = "scalar.",
                                  format_key = "format.";

/// Older files have the numbers 0 to 3 in place of the first four names.
inline constexpr std::size_t numbered_specials = 4;

/// Returns the name of `specials` that a file calls `word`, or an empty text if it is unknown here.
inline std::string_view specials_named(std::string_view word) {
  for (std::size_t i = 0; i < std::size(specials_names); ++i)
    if (word == specials_names[i] || (i < numbered_specials && word == std::to_string(i)))
      return specials_names[i];
  return {};
}

class checkpoint_state {
  struct tensor {
    std::vector<std::uint64_t> shape;
    safetensors::dtype type;
    std::string format;
    std::span<std::byte> bytes;
    std::byte high_byte;
  };

 public:
  void add(std::string const& name, saved_tensor const& t) {
    require_new(name);
    tensor own{
        {t.shape.begin(), t.shape.end()}, t.type, std::string(t.format), t.bytes, t.high_byte};
    if (safetensors::detail::bytes_of(own.type, own.shape) != t.bytes.size())
      raise<std::invalid_argument>(
          "lowp::checkpoint: '" + name + "' has " +
          std::to_string(std::uint64_t{t.bytes.size()} * 8 / safetensors::bits_of(t.type)) +
          " elements, but its shape is " + safetensors::detail::shown(own.type, own.shape));
    tensors_.emplace(name, std::move(own));
  }
  void add(std::string const& name, saved_scalar const& s) {
    require_new(name);
    scalars_.emplace(name, s);
  }

  void save(std::string const& path) const {
    std::vector<safetensors::tensor> all;
    for (auto const& [name, t] : tensors_)
      all.push_back({.name = name, .type = t.type, .shape = t.shape});
    safetensors::writer out(path, std::move(all), metadata());
    for (auto const& [name, t] : tensors_) out.append_bytes(name, t.bytes);
    out.finish();
  }

  void load(std::string const& path) const {
    safetensors::file const file(path);
    error_text wrong = check_metadata(file);
    if (wrong.empty()) wrong = check_tensors(file);
    if (wrong.empty()) wrong = check_scalars(file);
    if (wrong.empty()) wrong = check_codes(file);
    if (!wrong.empty())
      raise<std::runtime_error>("lowp::checkpoint: " + safetensors::detail::shown_path(path) +
                                ": " + wrong.c_str());
    for (auto const& [name, t] : tensors_) file.read_bytes(file.at(name), 0, t.bytes);
    for (auto const& [name, s] : scalars_) s.parse(*text_of(file, scalar_key, name), s.value);
  }

 private:
  void require_new(std::string const& name) const {
    if (tensors_.count(name) + scalars_.count(name) != 0)
      raise<std::invalid_argument>("lowp::checkpoint: '" + name + "' is there twice");
  }

  [[nodiscard]] std::map<std::string, std::string> metadata() const {
    std::map<std::string, std::string> all;
    all.emplace(version_key, checkpoint_version);
    for (auto const& [name, s] : scalars_)
      all.emplace(std::string(scalar_key) + name, s.text(s.value));
    for (auto const& [name, t] : tensors_)
      if (!t.format.empty()) all.emplace(std::string(format_key) + name, t.format);
    return all;
  }

  static std::string const* text_of(safetensors::file const& file, std::string_view key,
                                    std::string_view name = "") {
    auto const found = file.metadata().find(std::string(key).append(name));
    return found == file.metadata().end() ? nullptr : &found->second;
  }
  static std::string shown(std::string_view text) { return safetensors::detail::shown(text); }

  static error_text check_metadata(safetensors::file const& file) {
    std::string const* const version = text_of(file, version_key);
    if (version == nullptr)
      return "it is no checkpoint: its metadata have no " + shown(version_key);
    if (*version == checkpoint_version) return {};
    return "it is a checkpoint of version " + shown(*version) + ", not " +
           shown(checkpoint_version);
  }

  [[nodiscard]] error_text check_tensors(safetensors::file const& file) const {
    for (auto const& [name, wanted] : tensors_) {
      safetensors::tensor const* const t = file.find(name);
      if (t == nullptr) return "tensor " + shown(name) + " is missing";
      if (t->type != wanted.type || t->shape != wanted.shape)
        return "tensor " + shown(name) + " is " + safetensors::detail::shown(t->type, t->shape) +
               ", not " + safetensors::detail::shown(wanted.type, wanted.shape);
      std::string const* const stored = text_of(file, format_key, name);
      std::string its = stored == nullptr ? "" : *stored;
      if (std::size_t const before = its.find(before_specials); before != its.npos) {
        std::size_t const at = before + before_specials.size();
        std::string const word = its.substr(at);
        if (specials_named(word).empty())
          return "tensor " + shown(name) + " has the format " + shown(its) + ", and its specials " +
                 shown(word) + " are unknown here";
        its.replace(at, its.npos, specials_named(word));
      }
      if (its != wanted.format)
        return "tensor " + shown(name) + " has the format " + shown(its) + ", not " +
               shown(wanted.format);
    }
    for (safetensors::tensor const& t : file.tensors())
      if (tensors_.count(t.name) == 0) return "tensor " + shown(t.name) + " is not in this model";
    return {};
  }

  /// A code may have fewer bits than its bytes. from_bits would drop the others.
  [[nodiscard]] error_text check_codes(safetensors::file const& file) const {
    std::vector<std::byte> piece(1 << 16);
    for (auto const& [name, t] : tensors_) {
      std::size_t const width = safetensors::bits_of(t.type) / 8, size = t.bytes.size();
      for (std::size_t first = 0, count; t.high_byte != std::byte{0xff} && first < size;
           first += count) {
        count = size - first < piece.size() ? size - first : piece.size();
        file.read_bytes(file.at(name), first, std::span(piece).first(count));
        for (std::size_t i = width - 1; i < count; i += width)
          if ((piece[i] & ~t.high_byte) != std::byte{0})
            return "element " + std::to_string((first + i) / width) + " of tensor " + shown(name) +
                   " has more bits than the format " + shown(t.format) + ": its last byte is " +
                   std::to_string(std::to_integer<int>(piece[i]));
      }
    }
    return {};
  }

  [[nodiscard]] error_text check_scalars(safetensors::file const& file) const {
    for (auto const& [name, wanted] : scalars_) {
      std::string const* const text = text_of(file, scalar_key, name);
      if (text == nullptr) return "scalar " + shown(name) + " is missing";
      if (wanted.only != nullptr && *text != wanted.only)
        return "scalar " + shown(name) + " is " + shown(*text) + ", not " + shown(wanted.only);
      if (!wanted.parse(*text, nullptr))
        return "scalar " + shown(name) + " is " + shown(*text) + ", which its type cannot hold";
    }
    for (auto const& [key, text] : file.metadata())
      if (key.starts_with(scalar_key) && scalars_.count(key.substr(scalar_key.size())) == 0)
        return "scalar " + shown(key.substr(scalar_key.size())) + " is not in this model";
    return {};
  }

  std::map<std::string, tensor> tensors_;
  std::map<std::string, saved_scalar> scalars_;
};

}  // namespace lowp::detail::inline LOWP_UNIT
