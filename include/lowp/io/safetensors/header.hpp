// SPDX-License-Identifier: Apache-2.0
// The contents of a safetensors header, and checks of their consistency.
#pragma once

#include <lowp/io/safetensors/dtype.hpp>
#include <lowp/io/safetensors/printable.hpp>
#include <lowp/ops/arguments.hpp>

#include <bit>
#include <map>
#include <set>
#include <tuple>

static_assert(std::endian::native == std::endian::little, "the format's numbers are little-endian");

namespace lowp::safetensors::inline LOWP_UNIT {

/// A tensor in C order. Its bytes are [begin, end) of the data, which follow the header.
struct tensor {
  std::string name;
  dtype type = dtype::f32;
  std::vector<std::uint64_t> shape{};  ///< outermost extent first; empty for a scalar
  std::uint64_t begin = 0, end = 0;
};

struct header {
  std::vector<tensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// The limit of the reference implementation.
inline constexpr std::uint64_t most_header_bytes = 100'000'000;
inline constexpr std::uint64_t length_bytes = 8;
/// The key that names no tensor.
inline constexpr std::string_view metadata_key = "__metadata__";

/// Returns the number of elements of a validated tensor.
inline std::uint64_t element_count(tensor const& t) {
  return (t.end - t.begin) * 8 / bits_of(t.type);
}

}  // namespace lowp::safetensors::inline LOWP_UNIT

namespace lowp::safetensors::detail::inline LOWP_UNIT {

using lowp::detail::error_text;

/// The front of a file that Git LFS has not fetched.
inline constexpr std::string_view lfs_pointer = "version https://git-lfs.github.com/spec/v1\n";
inline constexpr char not_pulled[] = "it is a Git LFS pointer: fetch the file with git lfs pull";

/// Returns a text, quoted, or its first `most` bytes. Appends, because g++ 12 at -O3 invents a
/// -Wrestrict for "'" + text.
inline std::string shown(std::string_view text, std::size_t most = 200) {
  return std::string("'").append(printable(text, most)).append("'");
}
inline std::string shown_path(std::string_view path) { return shown(path, path.size()); }

/// Returns "F32 [2, 3]".
inline std::string shown(dtype type, std::vector<std::uint64_t> const& shape) {
  constexpr std::size_t most = 8;
  std::string text(name_of(type));
  text += " [";
  for (std::size_t i = 0; i < std::min(shape.size(), most); ++i)
    text.append(i == 0 ? "" : ", ").append(std::to_string(shape[i]));
  return text + (shape.size() > most ? ", ...]" : "]");
}

/// Returns "data_offsets [0, 24]".
inline std::string shown_offsets(tensor const& t) {
  return "data_offsets [" + std::to_string(t.begin) + ", " + std::to_string(t.end) + "]";
}

inline error_text check_size(tensor const& t) {
  auto const bytes = bytes_of(t.type, t.shape);
  auto const what = [&] { return "tensor " + shown(t.name) + ": "; };
  if (!bytes)
    return what() + shown(t.type, t.shape) + " is more than 2^64 bits, or no whole number of bytes";
  if (t.begin > t.end) return what() + shown_offsets(t) + " end before they begin";
  if (t.end - t.begin == *bytes) return {};
  return what() + shown_offsets(t) + " are " + std::to_string(t.end - t.begin) + " bytes, but " +
         shown(t.type, t.shape) + " has " + std::to_string(*bytes);
}

/// Returns an error text unless the tensors cover each byte of the data once.
inline error_text check_cover(std::vector<tensor> const& tensors, std::uint64_t data_bytes) {
  std::uint64_t covered = 0;
  tensor const* last = nullptr;
  std::vector<tensor const*> order;
  for (tensor const& t : tensors) order.push_back(&t);
  std::ranges::stable_sort(order, {}, [](auto* t) { return std::tuple(t->begin, t->end); });
  for (tensor const* t : order) {
    if (t->end > data_bytes)
      return "tensor " + shown(t->name) + ": " + shown_offsets(*t) + " reach beyond the data, " +
             std::to_string(data_bytes) + " bytes";
    if (t->begin < covered)
      return "tensor " + shown(t->name) + ": " + shown_offsets(*t) + " overlap those of " +
             shown(last->name) + ", " + shown_offsets(*last);
    if (t->begin > covered)
      return "bytes " + std::to_string(covered) + " to " + std::to_string(t->begin) +
             " of the data, before tensor " + shown(t->name) + ", belong to no tensor";
    covered = t->end;
    last = t;
  }
  if (covered == data_bytes) return {};
  return "the tensors have " + std::to_string(covered) + " bytes, and the data " +
         std::to_string(data_bytes);
}

/// Returns the first contradiction in a header before data of this size, or an empty text.
inline error_text check_header(header const& h, std::uint64_t data_bytes) {
  std::set<std::string_view> names;
  for (tensor const& t : h.tensors)
    if (!names.insert(t.name).second) return "tensor " + shown(t.name) + " is there twice";
  for (tensor const& t : h.tensors)
    if (error_text const wrong = check_size(t); !wrong.empty()) return wrong;
  return check_cover(h.tensors, data_bytes);
}

}  // namespace lowp::safetensors::detail::inline LOWP_UNIT
