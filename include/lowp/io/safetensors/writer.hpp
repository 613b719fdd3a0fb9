// SPDX-License-Identifier: Apache-2.0
// Writes a safetensors file, a piece at a time, whole or not at all.
#pragma once

#include <lowp/io/atomic_file.hpp>
#include <lowp/io/safetensors/json.hpp>

#include <stdexcept>

namespace lowp::safetensors::inline LOWP_UNIT {

/// A file in progress. Its header is known from the start. Elements are appended to the tensors in
/// any order of tensors. Nothing is at `path` before finish(): see atomic_file.
/// @throws std::runtime_error  from every function; it names the path, tensor and values seen
class writer {
 public:
  /// @param tensors  tensors to write. Their begin and end are chosen here: widest elements first,
  ///                 as in the reference implementation, so that each lies aligned
  writer(std::string path, std::vector<tensor> tensors,
         std::map<std::string, std::string> metadata = {})
      : file_(std::move(path)), header_{std::move(tensors), std::move(metadata)} {
    std::ranges::stable_sort(header_.tensors, std::greater(),
                             [](tensor const& t) { return bits_of(t.type); });
    std::uint64_t bytes = 0;
    for (tensor& t : header_.tensors) {
      auto const needed = detail::bytes_of(t.type, t.shape);
      t.begin = bytes;
      if (!needed || __builtin_add_overflow(bytes, *needed, &bytes))
        refuse("tensor " + detail::shown(t.name) + ": " + detail::shown(t.type, t.shape) +
               " is too large, or no whole number of bytes");
      t.end = bytes;
      if (t.name == metadata_key) refuse("no tensor can be called " + detail::shown(t.name));
      if (!by_name_.emplace(t.name, &t).second)
        refuse("tensor " + detail::shown(t.name) + " is there twice");
    }
    write_header();
  }

  /// Appends the next elements of the tensor with that name.
  template <stored T>
  void append(std::string_view name, std::span<T const> elements) {
    tensor const& t = find(name);
    if (t.type != dtype_of<T>)
      refuse("tensor " + detail::shown(name) + " is " + std::string(name_of(t.type)) +
             ", given elements of " + std::string(name_of(dtype_of<T>)));
    append_bytes(name, std::as_bytes(elements));
  }
  /// Appends the next bytes of a tensor of any type.
  void append_bytes(std::string_view name, std::span<std::byte const> bytes) {
    tensor& t = find(name);
    if (bytes.size() > t.end - t.begin)
      refuse("tensor " + detail::shown(name) + ": " + std::to_string(bytes.size()) +
             " bytes are too many, " + std::to_string(t.end - t.begin) + " are missing");
    file_.write_at(data_ + t.begin, bytes);
    t.begin += bytes.size();
  }

  void finish() {
    for (auto const& [name, t] : by_name_)
      if (t->begin != t->end)
        refuse("tensor " + detail::shown(name) + ": " + std::to_string(t->end - t->begin) +
               " bytes have not been written");
    file_.commit();
  }

 private:
  [[noreturn]] void refuse(std::string const& why) const {
    lowp::detail::raise<std::runtime_error>(
        "lowp::safetensors: " + detail::shown_path(file_.path()) + ": " + why);
  }
  tensor& find(std::string_view name) {
    auto const found = by_name_.find(name);
    if (found == by_name_.end()) refuse("tensor " + detail::shown(name) + " was not announced");
    return *found->second;
  }
  void write_header() {
    std::string text;
    try {
      text = detail::to_json(header_);
    } catch (nlohmann::json::exception const&) {
      refuse("a name or a text of its metadata is no UTF-8");
    }
    if (text.size() > most_header_bytes)
      refuse("its header would have " + std::to_string(text.size()) + " bytes, and may have " +
             std::to_string(most_header_bytes));
    std::uint64_t const length = text.size();
    file_.write_at(0, std::as_bytes(std::span(&length, 1)));
    file_.write_at(length_bytes, std::as_bytes(std::span(text)));
    data_ = length_bytes + length;
  }

  atomic_file file_;
  header header_;           // once it is written, `begin` moves to a tensor's next byte
  std::uint64_t data_ = 0;  // offset of the data
  std::map<std::string_view, tensor*> by_name_;
};

}  // namespace lowp::safetensors::inline LOWP_UNIT
