// SPDX-License-Identifier: Apache-2.0
#include "index.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <lowp/safetensors/header.hpp>
#include <nlohmann/json.hpp>
#include <system_error>

#include "problem.hpp"

namespace {

using nlohmann::json;
namespace fs = std::filesystem;
using lowp::safetensors::detail::printable, lowp::safetensors::detail::shown;

constexpr std::size_t most_files = 1000;
constexpr int most_depth = 8;  // an index needs 2; the parser itself has no limit, and recurses

[[noreturn]] void refuse(std::string const& path, std::string const& why) {
  throw problem(fmt::format("'{}': {}", path, why));
}

json parsed(std::string const& path) {
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
  try {
    return json::parse(file, [&](int depth, json::parse_event_t, json&) {
      if (depth > most_depth) refuse(path, "it is no index: it is too deep");
      return true;
    });
  } catch (json::parse_error const& e) {
    refuse(path, fmt::format("it is no JSON at byte {}", e.byte));
  } catch (json::exception const&) {
    refuse(path, "it is no JSON that an index could have");  // such as a number beyond a double's
  }
}

// Nothing that leads out of the folder of the index.
bool is_plain_name(std::string const& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == name.npos &&
         name.find('\0') == name.npos;
}

}  // namespace

model_index read_index(std::string const& path) {
  json const index = parsed(path);
  auto const map = index.is_object() ? index.find("weight_map") : index.end();
  if (!index.is_object() || map == index.end() || !map->is_object())
    refuse(path, "it is no index: it has no object \"weight_map\"");
  model_index result;
  std::map<std::string, std::size_t> numbers;
  for (auto const& [tensor, file] : map->items()) {
    if (!file.is_string() || !is_plain_name(file.get_ref<std::string const&>()))
      refuse(path, fmt::format("tensor {}: {} is not the name of a file beside the index",
                               shown(tensor), printable(file.dump())));
    auto const [place, is_new] =
        numbers.try_emplace(file.get_ref<std::string const&>(), numbers.size());
    if (is_new) result.files.push_back(place->first);
    if (numbers.size() > most_files)
      refuse(path, fmt::format("it names more than {} files", most_files));
    result.tensors.emplace(tensor, place->second);
  }
  return result;
}
