// SPDX-License-Identifier: Apache-2.0
// The contents of a checkpoint, without their types, and numbers as text that reads back to the
// same bits. A file is checked before it is loaded.
#pragma once

#include <lowp/base/text.hpp>
#include <lowp/format/charconv.hpp>
#include <lowp/io/safetensors/file.hpp>
#include <lowp/io/safetensors/writer.hpp>

#include <charconv>
#include <iterator>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace lowp {

namespace detail {

/// A truth value, or an integer of at most 64 bits that the standard library reads: it reads no
/// char16_t.
template <class T>
concept whole_scalar =
    std::same_as<T, bool> || (std::integral<T> && sizeof(T) <= sizeof(std::uint64_t) &&
                              requires(char const* text, std::remove_const_t<T>& value) {
                                std::from_chars(text, text, value);
                              });

template <class T>
inline constexpr bool is_whole_enumeration = false;
template <class T>
  requires std::is_enum_v<T>
inline constexpr bool is_whole_enumeration<T> = whole_scalar<std::underlying_type_t<T>>;

}  // namespace detail

/// A value that a checkpoint keeps as text: an integer of at most 64 bits, truth value,
/// enumeration, float or double. A file may give an enumeration any number of its underlying type.
/// Fix that type (`enum mode : int`): else a number beyond the enumerators' bits is undefined.
template <class T>
concept checkpoint_scalar = detail::whole_scalar<T> || detail::is_whole_enumeration<T> ||
                            std::same_as<T, float> || std::same_as<T, double>;

namespace detail::inline LOWP_UNIT {

template <class T>
using bits_of_scalar = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

/// The text around a NaN's bits, which are hexadecimal: decimal text would lose them.
inline constexpr std::string_view nan_before = "nan(0x", nan_after = ")";

template <class T>
std::string scalar_text(T value) {
  if constexpr (std::is_enum_v<T>) {
    return scalar_text(static_cast<std::underlying_type_t<T>>(value));
  } else if constexpr (std::same_as<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::integral<T>) {
    return text_of(value);
  } else {
    if (!unpack(static_cast<double>(value)).nan) return text_of(value);
    char text[16];
    auto const bits = __builtin_bit_cast(bits_of_scalar<T>, value);
    return std::string(nan_before)
        .append(text, std::to_chars(text, text + sizeof(text), bits, 16).ptr)
        .append(nan_after);
  }
}

/// Returns true if all of `text` is a T. Then stores it in *to unless `to` is null.
template <class T>
bool parse_scalar(std::string_view text, T* to) {
  char const* const end = text.data() + text.size();
  T value{};
  if constexpr (std::is_enum_v<T>) {
    std::underlying_type_t<T> number{};
    if (!parse_scalar(text, &number)) return false;
    value = static_cast<T>(number);
  } else if constexpr (std::same_as<T, bool>) {
    value = text == "true";
    if (!value && text != "false") return false;
  } else if constexpr (std::integral<T>) {
    auto const read = std::from_chars(text.data(), end, value);
    if (read.ec != std::errc() || read.ptr != end) return false;
  } else if (text.starts_with(nan_before) && text.ends_with(nan_after)) {
    bits_of_scalar<T> bits = 0;
    char const* const last = end - nan_after.size();
    auto const read = std::from_chars(text.data() + nan_before.size(), last, bits, 16);
    if (read.ec != std::errc() || read.ptr != last) return false;
    value = __builtin_bit_cast(T, bits);
    if (!unpack(static_cast<double>(value)).nan) return false;
  } else {
    auto const [number, stop] = scanner(text.data(), end).number();
    if (stop != end || text.empty() || number.nan) return false;
    value = nearest<T>(number);
    auto const magnitude = __builtin_bit_cast(bits_of_scalar<T>, value) << 1;
    bool const is_out_of_range = unpack(static_cast<double>(value)).infinite != number.infinite ||
                                 (magnitude == 0) != (number.significand == 0 && !number.infinite);
    if (is_out_of_range) return false;
  }
  if (to != nullptr) *to = value;
  return true;
}

/// The file's version. Metadata "scalar.NAME" are scalars. "format.NAME" gives the meaning of codes
/// that the file has only as integers.
inline constexpr char checkpoint_version[] = "1";
inline constexpr std::string_view version_key = "lowp.checkpoint", scalar_key = "scalar.",
                                  format_key = "format.";

/// The names that a file has for `specials`, in its order. A name stays when the enumeration grows.
inline constexpr std::string_view specials_names[] = {"ieee", "nan_all_ones", "nan_negative_zero",
                                                      "none", "p3109_extended"};
/// Older files have the numbers 0 to 3 in place of the first four names.
inline constexpr std::size_t numbered_specials = 4;
inline constexpr std::string_view before_specials = " specials ";

/// Returns the facts that give codes of the same width another meaning.
inline std::string format_text(format const& f) {
  std::string text = f.has_sign ? "e" : "unsigned e";
  text.append(std::to_string(f.exponent_bits)).append("m");
  text.append(std::to_string(f.significand_bits)).append(" bias ");
  text.append(std::to_string(f.bias)).append(before_specials);
  return text.append(specials_names[static_cast<std::size_t>(f.special_values)]);
}

/// Returns the name of `specials` that a file calls `word`, or an empty text if it is unknown here.
inline std::string_view specials_named(std::string_view word) {
  for (std::size_t i = 0; i < std::size(specials_names); ++i)
    if (word == specials_names[i] || (i < numbered_specials && word == std::to_string(i)))
      return specials_names[i];
  return {};
}

class checkpoint_state {
 public:
  struct tensor {
    std::vector<std::uint64_t> shape;
    safetensors::dtype type;
    std::string format;  ///< format of codes that the file has only as integers
    std::span<std::byte> bytes;
    std::byte high_byte{0xff};  ///< the bits that a code may have in its last byte
  };
  struct scalar {
    void* value;
    std::string (*text)(void const*);
    bool (*parse)(std::string_view, void*);  ///< into null: only checks
    char const* only = nullptr;              ///< the only text that a file may have
  };

  void add(std::string const& name, tensor t) {
    require_new(name);
    std::uint64_t const count = std::uint64_t{t.bytes.size()} * 8 / safetensors::bits_of(t.type);
    if (safetensors::detail::bytes_of(t.type, t.shape) != t.bytes.size())
      raise<std::invalid_argument>("lowp::checkpoint: '" + name + "' has " + std::to_string(count) +
                                   " elements, but its shape is " +
                                   safetensors::detail::shown(t.type, t.shape));
    tensors_.emplace(name, std::move(t));
  }
  void add(std::string const& name, scalar s) {
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
  std::map<std::string, scalar> scalars_;
};

}  // namespace detail::inline LOWP_UNIT

}  // namespace lowp
