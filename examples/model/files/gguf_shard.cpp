// SPDX-License-Identifier: Apache-2.0
#include "files/gguf_shard.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <filesystem>
#include <lowp/io/safetensors/header.hpp>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "files/problem.hpp"
#include "files/tensor_file.hpp"

namespace {

using lowp::safetensors::detail::shown, lowp::safetensors::detail::shown_path;

// A text of more bytes is no name, and not kept as metadata.
constexpr std::uint64_t most_text = std::uint64_t{1} << 16;
constexpr std::uint32_t most_extents = 4;  // GGML_MAX_DIMS

constexpr char const* of_alignment = "general.alignment";
constexpr char const *of_number = "split.no", *of_count = "split.count",
                     *of_tensors = "split.tensors.count";

// Tells if the value of a key must be an integer here.
bool is_integer(std::string_view key) {
  return key == of_alignment || key == of_number || key == of_count || key == of_tensors;
}
bool is_integer(std::uint32_t type) { return type <= 5 || type == 10 || type == 11; }

}  // namespace

std::string gguf_tensor::what() const { return "tensor " + shown(name); }

// Reads the header, from its front.
class gguf_shard::header {
 public:
  explicit header(gguf_shard& of) : of_(of), left_(of.size_) {}

  [[nodiscard]] std::uint64_t at() const { return of_.size_ - left_; }

  template <class T>
  T number(std::string_view what) {
    T value{};
    take(sizeof(T), what);
    of_.in_.read(reinterpret_cast<char*>(&value), sizeof(T));
    return value;
  }
  void skip(std::uint64_t bytes, std::string_view what) {
    take(bytes, what);
    of_.in_.ignore(static_cast<std::streamsize>(bytes));
  }
  // Returns nothing if the text is longer than `most_text`.
  std::optional<std::string> text(std::string_view what) {
    auto const length = number<std::uint64_t>(what);
    if (length > most_text) return skip(length, what), std::nullopt;
    take(length, what);
    std::string text(static_cast<std::size_t>(length), '\0');
    of_.in_.read(text.data(), static_cast<std::streamsize>(length));
    return text;
  }
  std::string name(std::string_view what) {
    if (auto found = text(what)) return std::move(*found);
    of_.refuse(fmt::format("{} has more than {} bytes", what, most_text));
  }

  // Returns a value of the metadata as text; nothing if it is an array.
  std::optional<std::string> value(std::uint32_t type, std::string const& what) {
    switch (type) {
      case 0:
        return fmt::to_string(number<std::uint8_t>(what));
      case 1:
        return fmt::to_string(number<std::int8_t>(what));
      case 2:
        return fmt::to_string(number<std::uint16_t>(what));
      case 3:
        return fmt::to_string(number<std::int16_t>(what));
      case 4:
        return fmt::to_string(number<std::uint32_t>(what));
      case 5:
        return fmt::to_string(number<std::int32_t>(what));
      case 6:
        return fmt::to_string(number<float>(what));
      case 7:
        return fmt::to_string(number<std::uint8_t>(what) != 0);
      case 8:
        return text(what);
      case 9:
        skip_array(what);
        return std::nullopt;
      case 10:
        return fmt::to_string(number<std::uint64_t>(what));
      case 11:
        return fmt::to_string(number<std::int64_t>(what));
      case 12:
        return fmt::to_string(number<double>(what));
      default:
        of_.refuse(fmt::format("{} has type {}: there are 0 to 12", what, type));
    }
  }
  gguf_tensor tensor() {
    gguf_tensor next;
    next.name = name("a tensor's name");
    std::string const what = next.what();
    auto const extents = number<std::uint32_t>(what);
    if (extents > most_extents)
      of_.refuse(fmt::format("{} has {} extents, and may have {}", what, extents, most_extents));
    next.shape.resize(extents);
    for (std::uint32_t i = extents; i-- > 0;) next.shape[i] = number<std::uint64_t>(what);
    next.type = number<std::uint32_t>(what);
    next.at = number<std::uint64_t>(what);
    return next;
  }

 private:
  void take(std::uint64_t bytes, std::string_view what) {
    if (bytes > left_)
      of_.refuse(
          fmt::format("{} would need {} bytes, and the file has {} more", what, bytes, left_));
    left_ -= bytes;
  }
  // The elements of an array may be arrays.
  void skip_array(std::string const& what, unsigned depth = 0) {
    constexpr unsigned most_depth = 16;
    constexpr std::uint32_t array = 9;
    constexpr std::array<std::uint64_t, 13> sizes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    auto const type = number<std::uint32_t>(what);
    auto const count = number<std::uint64_t>(what);
    if (type == 8) {
      for (std::uint64_t i = 0; i < count; ++i) skip(number<std::uint64_t>(what), what);
      return;
    }
    if (type == array && depth < most_depth) {
      for (std::uint64_t i = 0; i < count; ++i) skip_array(what, depth + 1);
      return;
    }
    std::uint64_t bytes = 0;
    if (type >= sizes.size() || sizes[type] == 0 ||
        __builtin_mul_overflow(count, sizes[type], &bytes))
      of_.refuse(fmt::format("{} is an array of {} values of type {}", what, count, type));
    skip(bytes, what);
  }

  gguf_shard& of_;
  std::uint64_t left_;
};

gguf_shard::gguf_shard(std::string path) : path_(std::move(path)), in_(path_, std::ios::binary) {
  check_is_file(path_);
  std::error_code none;
  size_ = std::filesystem::file_size(path_, none);
  if (none || !in_) refuse("cannot open it");
  read_header();
  read_split();
}

void gguf_shard::read_header() {
  header from(*this);
  if (from.number<std::uint32_t>("its name of the format") != 0x46554747)  // GGUF
    refuse("it does not begin with GGUF");
  auto const version = from.number<std::uint32_t>("its version");
  if (version != 0 && (version & 0xffff) == 0)
    refuse(
        fmt::format("it is GGUF of version {} in big-endian order, and little-endian can be read: "
                    "gguf-convert-endian, of the package gguf, converts it",
                    version >> 24 | (version >> 8 & 0xff00)));
  if (version != 2 && version != 3)
    refuse(fmt::format("it is GGUF of version {}, and 2 and 3 can be read", version));
  auto const tensors = from.number<std::uint64_t>("its number of tensors");
  auto const values = from.number<std::uint64_t>("its number of values");
  for (std::uint64_t i = 0; i < values; ++i) {
    auto const key = from.name("a key of its metadata");
    auto const type = from.number<std::uint32_t>(key);
    std::string const what = "value " + shown(key);
    if (is_integer(key) && !is_integer(type))
      refuse(fmt::format("{} has type {}, not an integer's", what, type));
    if (auto value = from.value(type, what); value && !metadata_.emplace(key, *value).second)
      refuse(what + " is there twice");
  }
  std::uint64_t const alignment = whole_number(of_alignment).value_or(32);
  if (!std::has_single_bit(alignment))
    refuse(fmt::format("{} is '{}', not a power of two", of_alignment, alignment));
  std::set<std::string_view> names;
  for (std::uint64_t i = 0; i < tensors; ++i) {
    tensors_.push_back(from.tensor());
    if (tensors_.back().at % alignment != 0)
      refuse(fmt::format("{} begins at {}, not at a multiple of {}", tensors_.back().what(),
                         tensors_.back().at, alignment));
  }
  for (gguf_tensor const& each : tensors_)
    if (!names.insert(each.name).second) refuse(each.what() + " is there twice");
  std::uint64_t const data = (from.at() + alignment - 1) / alignment * alignment;
  if (data > size_ && !tensors_.empty()) refuse("it ends with its header");
  std::ranges::stable_sort(tensors_, {}, &gguf_tensor::at);
  if (!tensors_.empty() && tensors_.back().at > size_ - data)
    refuse(fmt::format("{} begins at {} of {} bytes of data", tensors_.back().what(),
                       tensors_.back().at, size_ - data));
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    tensors_[i].room =
        (i + 1 < tensors_.size() ? tensors_[i + 1].at : size_ - data) - tensors_[i].at;
    tensors_[i].at += data;
  }
}

// Takes these values out of the metadata: they would be false of the model.
void gguf_shard::read_split() {
  auto const count = whole_number(of_count);
  auto const number = whole_number(of_number), tensors = whole_number(of_tensors);
  for (char const* key : {of_number, of_count, of_tensors}) metadata_.erase(key);
  if (count.value_or(0) == 0) return;
  if (!number || !tensors)
    refuse(fmt::format("{} is {}, and there is no {}", of_count, *count,
                       number ? of_tensors : of_number));
  if (*number >= *count)
    refuse(fmt::format("{} is {}, and {} is {}", of_number, *number, of_count, *count));
  split_ = {*number, *count, *tensors};
}

std::optional<std::uint64_t> gguf_shard::whole_number(char const* key) const {
  auto const found = metadata_.find(key);
  if (found == metadata_.end()) return {};
  std::string const& text = found->second;
  std::uint64_t number = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc())
    refuse(fmt::format("{} is {}", key, text));
  return number;
}

void gguf_shard::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  in_.clear();
  in_.seekg(static_cast<std::streamoff>(offset));
  in_.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size()));
  if (!in_)
    refuse(fmt::format("{} bytes from {} on cannot be read: is it cut?", out.size(), offset));
}

void gguf_shard::refuse(std::string const& why) const {
  throw problem(fmt::format("{}: {}", shown_path(path_), why));
}
