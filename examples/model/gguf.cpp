// SPDX-License-Identifier: Apache-2.0
#include "gguf.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

#include "problem.hpp"

namespace {

namespace st = lowp::safetensors;
using st::dtype;

// A text of more bytes is no name, and not kept as metadata.
constexpr std::uint64_t most_text = std::uint64_t{1} << 16;
constexpr std::uint32_t most_extents = 4;  // GGML_MAX_DIMS

// Types of ggml whose elements lie as safetensors has them, by their numbers in ggml.h.
std::optional<dtype> plain_type(std::uint32_t number) {
  switch (number) {
    case 0:
      return dtype::f32;
    case 1:
      return dtype::f16;
    case 24:
      return dtype::i8;
    case 25:
      return dtype::i16;
    case 26:
      return dtype::i32;
    case 27:
      return dtype::i64;
    case 28:
      return dtype::f64;
    case 30:
      return dtype::bf16;
    default:
      return {};
  }
}

constexpr std::uint32_t ggml_mxfp4 = 39, ggml_nvfp4 = 40;

}  // namespace

// A block of ggml-common.h: scales of a byte, then codes of four bits.
struct gguf_file::block {
  std::uint64_t elements, scales;
  dtype scale;
};

std::optional<gguf_file::block> gguf_file::block_of(std::uint32_t type) {
  if (type == ggml_mxfp4) return block{32, 1, dtype::f8_e8m0};
  if (type == ggml_nvfp4) return block{64, 4, dtype::f8_e4m3};
  return {};
}

// A tensor as the file has it.
struct gguf_file::listed {
  std::string name;
  std::vector<std::uint64_t> shape;
  std::uint32_t type = 0;
  std::uint64_t at = 0, room = 0;  // bytes from there to the next tensor

  [[nodiscard]] std::string what() const { return "tensor " + st::detail::shown(name); }
};

// Reads the header, from its front.
class gguf_file::header {
 public:
  explicit header(gguf_file& of) : of_(of), left_(of.size_) {}

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
        return skip_array(what), std::nullopt;
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
  listed tensor() {
    listed next;
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
  void skip_array(std::string const& what) {
    constexpr std::array<std::uint64_t, 13> sizes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    auto const type = number<std::uint32_t>(what);
    auto const count = number<std::uint64_t>(what);
    if (type == 8) {
      for (std::uint64_t i = 0; i < count; ++i) skip(number<std::uint64_t>(what), what);
      return;
    }
    std::uint64_t bytes = 0;
    if (type >= sizes.size() || sizes[type] == 0 ||
        __builtin_mul_overflow(count, sizes[type], &bytes))
      of_.refuse(fmt::format("{} is an array of {} values of type {}", what, count, type));
    skip(bytes, what);
  }

  gguf_file& of_;
  std::uint64_t left_;
};

gguf_file::gguf_file(std::string path) : path_(std::move(path)), in_(path_, std::ios::binary) {
  std::error_code none;
  size_ = std::filesystem::file_size(path_, none);
  if (none || !in_) refuse("cannot open it");
  header from(*this);
  from.skip(4, "its name of the format");
  auto const version = from.number<std::uint32_t>("its version");
  if (version != 2 && version != 3)
    refuse(fmt::format("it is GGUF of version {}, and 2 and 3 can be read", version));
  auto const tensors = from.number<std::uint64_t>("its number of tensors");
  auto const values = from.number<std::uint64_t>("its number of values");
  for (std::uint64_t i = 0; i < values; ++i) {
    auto const key = from.name("a key of its metadata");
    auto const type = from.number<std::uint32_t>(key);
    std::string const what = "value " + st::detail::shown(key);
    if (auto value = from.value(type, what); value && !metadata_.emplace(key, *value).second)
      refuse(what + " is there twice");
  }
  std::uint64_t const alignment = read_alignment();
  std::vector<listed> all;
  for (std::uint64_t i = 0; i < tensors; ++i) {
    all.push_back(from.tensor());
    if (all.back().at % alignment != 0)
      refuse(fmt::format("{} begins at {}, not at a multiple of {}", all.back().what(),
                         all.back().at, alignment));
  }
  std::uint64_t const data = (from.at() + alignment - 1) / alignment * alignment;
  if (data > size_ && !all.empty()) refuse("it ends with its header");
  std::ranges::stable_sort(all, {}, &listed::at);
  if (!all.empty() && all.back().at > size_ - data)
    refuse(fmt::format("{} begins at {} of {} bytes of data", all.back().what(), all.back().at,
                       size_ - data));
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].room = (i + 1 < all.size() ? all[i + 1].at : size_ - data) - all[i].at;
    all[i].at += data;
  }
  std::set<std::string> const lacking = name_factors(all);
  for (listed const& each : all) {
    if (auto const type = plain_type(each.type))
      add_plain(each, *type);
    else if (auto const blocks = block_of(each.type))
      add_blocks(each, *blocks, lacking.contains(each.name));
    else
      add(each.name, dtype::u8, {each.room}, each.room, {each.at});
  }
}

std::uint64_t gguf_file::read_alignment() const {
  std::uint64_t alignment = 32;
  auto const found = metadata_.find("general.alignment");
  if (found == metadata_.end()) return alignment;
  std::string const& text = found->second;
  char const* const end = text.data() + text.size();
  auto const read = std::from_chars(text.data(), end, alignment);
  if (read.ec != std::errc() || read.ptr != end || !std::has_single_bit(alignment))
    refuse("general.alignment is " + st::detail::shown(text) + ", not a power of two");
  return alignment;
}

// Gives the factors of NVFP4 the names of ModelOpt. Returns the tensors that have none.
std::set<std::string> gguf_file::name_factors(std::vector<listed>& all) {
  std::map<std::string, listed*> by_name;
  for (listed& each : all) by_name.emplace(each.name, &each);
  std::set<std::string> lacking;
  for (listed const& each : all) {
    if (each.type != ggml_nvfp4) continue;
    constexpr std::string_view weight = ".weight";
    std::string stem = each.name;
    if (stem.ends_with(weight)) stem.resize(stem.size() - weight.size());
    auto found = by_name.find(stem + ".scale");
    if (found == by_name.end()) found = by_name.find(each.name + ".scale");
    if (found == by_name.end())
      lacking.insert(each.name);
    else
      found->second->name = each.name + "_scale_2";
  }
  return lacking;
}

// Returns the number of blocks, which lie in the file.
std::uint64_t gguf_file::check_room(listed const& of, std::uint64_t elements,
                                    std::uint64_t bytes) const {
  std::uint64_t count = 1, needed = 0;
  bool is_too_large = false;
  for (std::uint64_t const extent : of.shape)
    is_too_large |= __builtin_mul_overflow(count, extent, &count);
  is_too_large |= __builtin_mul_overflow(count / elements, bytes, &needed);
  if (is_too_large || needed > of.room)
    refuse(fmt::format("{} has {} bytes in the file, too few for its extents {}", of.what(),
                       of.room, fmt::join(of.shape, " x ")));
  return count / elements;
}

void gguf_file::add_plain(listed const& of, dtype type) {
  std::uint64_t const size = bits_of(type) / 8;
  add(of.name, type, of.shape, check_room(of, 1, size) * size, {of.at});
}

void gguf_file::add_blocks(listed const& of, block const& each, bool lacks_factor) {
  if (of.shape.empty() || of.shape.back() % each.elements != 0)
    refuse(fmt::format("{} has rows of {} values, no whole blocks of {}", of.what(),
                       of.shape.empty() ? 1 : of.shape.back(), each.elements));
  std::uint64_t const codes = each.elements / 2, bytes = each.scales + codes;
  std::uint64_t const number = check_room(of, each.elements, bytes);
  auto shape = of.shape;
  add(of.name, dtype::f4_e2m1, shape, number * codes,
      {of.at, bytes, each.scales, codes, codes / each.scales});
  shape.back() = shape.back() / each.elements * each.scales;
  add(of.name + "_scale", each.scale, shape, number * each.scales, {of.at, bytes, 0, each.scales});
  if (lacks_factor) add(of.name + "_scale_2", dtype::f32, {1}, sizeof(float), {});
}

void gguf_file::add(std::string name, dtype type, std::vector<std::uint64_t> shape,
                    std::uint64_t bytes, place const& where) {
  std::uint64_t const begin = tensors_.empty() ? 0 : tensors_.back().end;
  places_.insert_or_assign(begin, where);
  numbers_.emplace(name, tensors_.size());
  tensors_.push_back({std::move(name), type, std::move(shape), begin, begin + bytes});
}

gguf_file::tensor const* gguf_file::find(std::string_view name) const {
  auto const found = numbers_.find(name);
  return found == numbers_.end() ? nullptr : &tensors_[found->second];
}

void gguf_file::read_bytes(tensor const& t, std::uint64_t first, std::span<std::byte> out) const {
  if (out.empty()) return;
  place const& from = places_.at(t.begin);
  if (from.at == 0) {  // the factor that the file leaves out
    float const one = 1;
    std::ranges::copy(std::as_bytes(std::span(&one, 1)).subspan(first, out.size()), out.begin());
    return;
  }
  if (from.block == from.taken) return read_at(from.at + first, out);
  std::uint64_t const begin = first / from.taken;
  std::uint64_t const end = (first + out.size() + from.taken - 1) / from.taken;
  std::vector<std::byte> blocks((end - begin) * from.block), taken;
  read_at(from.at + begin * from.block, blocks);
  taken.reserve((end - begin) * from.taken);
  for (std::size_t i = 0; i < blocks.size(); i += from.block) {
    auto const bytes = std::span(blocks).subspan(i + from.skipped, from.taken);
    for (std::size_t j = 0; j < bytes.size(); ++j) {
      if (from.split == 0) {
        // ggml takes this scale, a NaN of e4m3, as zero.
        bool const is_zero = t.type == dtype::f8_e4m3 && bytes[j] == std::byte{0x7f};
        taken.push_back(is_zero ? std::byte{0} : bytes[j]);
        continue;
      }
      std::size_t const start = j / from.split * from.split, k = j % from.split;
      auto const code = [&](std::size_t element) {
        std::byte const both = bytes[start + element % from.split];
        return (element < from.split ? both : both >> 4) & std::byte{0xf};
      };
      taken.push_back(code(2 * k) | code(2 * k + 1) << 4);
    }
  }
  std::copy_n(taken.begin() + static_cast<std::ptrdiff_t>(first - begin * from.taken), out.size(),
              out.begin());
}

void gguf_file::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  in_.clear();
  in_.seekg(static_cast<std::streamoff>(offset));
  in_.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size()));
  if (!in_)
    refuse(fmt::format("{} bytes from {} on cannot be read: is it cut?", out.size(), offset));
}

void gguf_file::refuse(std::string const& why) const {
  throw problem(fmt::format("{}: {}", st::detail::shown_path(path_), why));
}
