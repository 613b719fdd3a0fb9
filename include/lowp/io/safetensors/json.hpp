// SPDX-License-Identifier: Apache-2.0
// Converts a safetensors header from JSON text and to it. The reader refuses all but the one shape
// of a header, at once. So a hostile text costs no stack, and memory in proportion to its size.
#pragma once

#include <lowp/io/safetensors/header.hpp>

#include <nlohmann/json.hpp>

namespace lowp::safetensors::detail::inline LOWP_UNIT {

class header_reader {
 public:
  explicit header_reader(header& to) : to_(to) {}

  [[nodiscard]] error_text const& wrong() const { return wrong_; }

  bool start_object(std::size_t) {
    if (place_ == place::start) return go(place::names);
    if (place_ != place::name) return unexpected("an object");
    if (name_ == metadata_key) return begin_metadata() && go(place::metadata);
    now_ = {.name = name_};
    seen_ = {};
    return go(place::fields);
  }
  bool key(std::string& text) {
    if (place_ == place::fields) return field(text);
    name_ = std::move(text);
    return go(place_ == place::metadata ? place::metadata : place::name);
  }
  bool string(std::string& text) {
    if (place_ == place::metadata) {
      bool const is_new = to_.metadata.emplace(name_, std::move(text)).second;
      return is_new || refuse(shown(metadata_key) + " has " + shown(name_) + " twice");
    }
    if (place_ != place::dtype) return unexpected("a string");
    auto const type = dtype_named(text);
    if (!type) return refuse(what() + "unknown dtype " + shown(text));
    now_.type = *type;
    return go(place::fields);
  }
  bool start_array(std::size_t) {
    if (place_ == place::shape) return go(place::extents);
    if (place_ == place::offsets) return go(place::offset);
    return unexpected("an array");
  }
  bool number_unsigned(std::uint64_t number) {
    if (place_ == place::extents) return now_.shape.push_back(number), true;
    if (place_ != place::offset) return unexpected("a number");
    if (offsets_ < 2) (offsets_ == 0 ? now_.begin : now_.end) = number;
    ++offsets_;
    return true;
  }
  bool end_array() {
    if (place_ == place::offset && offsets_ != 2)
      return refuse(what() + "data_offsets has " + std::to_string(offsets_) + " numbers, not 2");
    return go(place::fields);
  }
  bool end_object() {
    if (place_ == place::fields) {
      for (std::size_t i = 0; i < fields; ++i)
        if (!seen_[i]) return refuse(what() + "it has no " + field_name[i]);
      to_.tensors.push_back(std::move(now_));
    }
    return go(place::names);
  }

  bool null() {
    if (place_ != place::name || name_ != metadata_key) return unexpected("null");
    return begin_metadata() && go(place::names);  // as the reference implementation has it
  }
  bool boolean(bool) { return unexpected("a truth value"); }
  bool number_integer(std::int64_t) { return unexpected("a negative number"); }
  bool number_float(double, std::string const& text) {
    return unexpected("the number " + printable(text));
  }
  bool binary(std::vector<std::uint8_t>&) { return unexpected("bytes"); }
  // The library's own words say no more than the position does.
  bool parse_error(std::size_t position, std::string const& last,
                   nlohmann::detail::exception const&) {
    return refuse("its header is no JSON at byte " + std::to_string(position) + ": " + shown(last));
  }

 private:
  // The parser's place: after a name, inside a tensor's object, after one of its keys, ...
  enum class place { start, names, name, metadata, fields, dtype, shape, extents, offsets, offset };
  static constexpr std::size_t fields = 3;
  static constexpr char const* field_name[fields] = {"dtype", "shape", "data_offsets"};

  bool go(place next) {
    place_ = next;
    return true;
  }
  bool begin_metadata() {  // a second one would need to be merged with the first
    return !std::exchange(seen_metadata_, true) || refuse(shown(metadata_key) + " is there twice");
  }
  bool field(std::string_view text) {
    constexpr place after[fields] = {place::dtype, place::shape, place::offsets};
    for (std::size_t i = 0; i < fields; ++i) {
      if (text != field_name[i]) continue;
      if (std::exchange(seen_[i], true))
        return refuse(what() + "it has " + field_name[i] + " twice");
      offsets_ = 0;
      return go(after[i]);
    }
    return refuse(what() + "it has " + shown(text) + ", which no tensor has");
  }
  bool refuse(std::string const& text) {
    wrong_ = text;
    return false;
  }
  bool unexpected(std::string const& found) {
    auto const in = [&](auto... places) { return ((place_ == places) || ...); };
    using enum place;
    if (in(start, names)) return refuse("its header is " + found + ", not an object");
    if (in(name)) return refuse(what() + "it is " + found + ", not an object");
    std::string const its = in(metadata) ? shown(metadata_key) + ": " + shown(name_)
                            : in(dtype)  ? what() + "dtype"
                                         : what() + field_name[in(shape, extents) ? 1 : 2];
    if (in(metadata, dtype)) return refuse(its + " is " + found + ", not a string");
    if (in(shape, offsets)) return refuse(its + " is " + found + ", not an array");
    return refuse(its + " has " + found + ", not integers of 64 bits from 0");
  }
  [[nodiscard]] std::string what() const { return "tensor " + shown(name_) + ": "; }

  header& to_;
  error_text wrong_;
  place place_ = place::start;
  std::string name_;  // of a tensor, or in the metadata
  tensor now_;
  std::array<bool, fields> seen_{};
  bool seen_metadata_ = false;
  int offsets_ = 0;
};

/// Parses a header. Returns the error text, empty if all is right.
/// @param text  the header as in the file, padding included
inline error_text parse(std::string_view text, header& to) {
  if (!text.starts_with('{')) return "its header does not begin with {";
  // The parser would stop there as if the text ended.
  std::size_t const nul = text.find('\0');
  if (nul != text.npos) return "its header has a zero byte at " + std::to_string(nul);
  header_reader reader(to);
  // The reader has the parser's own errors too.
  static_cast<void>(nlohmann::ordered_json::sax_parse(text.begin(), text.end(), &reader));
  return reader.wrong();
}

/// Returns the JSON text of a header. Spaces at its end align the data to 8 bytes.
/// @throws nlohmann::json::exception  a name or a text is not UTF-8
inline std::string to_json(header const& h) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  // Its own insertion would search for the name.
  auto& members = json.get_ref<nlohmann::ordered_json::object_t&>();
  if (!h.metadata.empty()) members.emplace_back(metadata_key, h.metadata);
  for (tensor const& t : h.tensors)
    members.emplace_back(t.name, nlohmann::ordered_json{{"dtype", name_of(t.type)},
                                                        {"shape", t.shape},
                                                        {"data_offsets", {t.begin, t.end}}});
  std::string text = json.dump();
  text.resize((text.size() + length_bytes - 1) / length_bytes * length_bytes, ' ');
  return text;
}

}  // namespace lowp::safetensors::detail::inline LOWP_UNIT
