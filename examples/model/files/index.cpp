// SPDX-License-Identifier: Apache-2.0
#include "files/index.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <lowp/io/safetensors/header.hpp>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "files/problem.hpp"
#include "files/tensor_file.hpp"

namespace {

using nlohmann::json;
namespace fs = std::filesystem;
using lowp::safetensors::detail::shown;

[[noreturn]] void refuse(std::string const& path, std::string const& why) {
  throw problem(fmt::format("'{}': {}", path, why));
}

// Nothing that leads out of the folder of the index.
bool is_plain_name(std::string const& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == name.npos &&
         name.find('\0') == name.npos;
}

// Called by the parser. It keeps only the last keys, however large the index is.
class index_reader : public json::json_sax_t {
 public:
  index_reader(std::string const& path,
               std::function<void(std::string const&, std::string const&)> const& each)
      : path_(path), each_(each) {}

  bool start_object(std::size_t) override {
    if (depth_ == 1 && key_ == "weight_map")
      is_map_ = has_map_ = true;
    else if (depth_ != 0)
      other_value("an object");
    ++depth_;
    return true;
  }
  bool end_object() override {
    is_map_ = --depth_ != 1 && is_map_;
    return true;
  }
  bool start_array(std::size_t) override {
    other_value("an array");
    ++depth_;
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool key(std::string& name) override {
    if (depth_ == 1)
      key_ = std::move(name);
    else if (is_tensor())
      tensor_ = std::move(name);
    return true;
  }
  bool string(std::string& text) override {
    if (!is_tensor()) return other_value("a string");
    if (!is_plain_name(text)) refuse_entry(shown(text));
    has_tensor_ = true;
    each_(tensor_, text);
    return true;
  }

  bool null() override { return other_value("null"); }
  bool boolean(bool) override { return other_value("a truth value"); }
  bool number_integer(std::int64_t) override { return other_value("a number"); }
  bool number_unsigned(std::uint64_t) override { return other_value("a number"); }
  bool number_float(double, std::string const&) override { return other_value("a number"); }
  bool binary(json::binary_t&) override { return other_value("bytes"); }
  bool parse_error(std::size_t position, std::string const&, json::exception const&) override {
    refuse(path_, fmt::format("it is no JSON at byte {}", position));
  }

  void finish() const {
    if (!has_map_) refuse(path_, "it is no index: it has no object \"weight_map\"");
    if (!has_tensor_) refuse(path_, "its \"weight_map\" names no tensor");
  }

 private:
  [[nodiscard]] bool is_tensor() const { return is_map_ && depth_ == 2; }
  [[noreturn]] void refuse_entry(std::string const& what) const {
    refuse(path_, fmt::format("tensor {}: {} is not the name of a file beside the index",
                              shown(tensor_), what));
  }
  // Skips a value that nobody asks for, unless it is in the place of another.
  bool other_value(char const* what) const {
    if (is_tensor()) refuse_entry(what);
    if (depth_ == 0 || (depth_ == 1 && key_ == "weight_map"))
      refuse(path_, "it is no index: it has no object \"weight_map\"");
    return true;
  }

  std::string const& path_;
  std::function<void(std::string const&, std::string const&)> const& each_;
  std::string key_, tensor_;
  std::size_t depth_ = 0;
  bool is_map_ = false, has_map_ = false, has_tensor_ = false;
};

}  // namespace

void read_index(std::string const& path,
                std::function<void(std::string const&, std::string const&)> const& each) {
  check_is_file(path);
  std::error_code error;
  bool const is_file = fs::is_regular_file(path, error);
  if (error) refuse(path, "cannot open it: " + error.message());
  if (!is_file) refuse(path, "it is no regular file");
  auto const size = fs::file_size(path, error);
  if (!error && size > lowp::safetensors::most_header_bytes)
    refuse(path, fmt::format("it has {} bytes, and an index may have {}", size,
                             lowp::safetensors::most_header_bytes));
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse(path, "cannot open it");
  index_reader reader(path, each);
  static_cast<void>(json::sax_parse(file, &reader));
  reader.finish();
}
