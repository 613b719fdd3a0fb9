// SPDX-License-Identifier: Apache-2.0
#include "files/tensor_file.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <lowp/io/safetensors/file.hpp>
#include <system_error>

#include "files/gguf.hpp"
#include "files/problem.hpp"

namespace {

class safetensors_file final : public tensor_file {
 public:
  explicit safetensors_file(std::string const& path) : file_(path) {}
  [[nodiscard]] std::string const& path() const override { return file_.path(); }
  [[nodiscard]] std::vector<tensor> const& tensors() const override { return file_.tensors(); }
  [[nodiscard]] tensor const* find(std::string_view name) const override {
    return file_.find(name);
  }
  [[nodiscard]] std::map<std::string, std::string> const& metadata() const override {
    return file_.metadata();
  }
  void read_bytes(tensor const& t, std::uint64_t first, std::span<std::byte> out) const override {
    file_.read_bytes(t, first, out);
  }

 private:
  lowp::safetensors::file file_;
};

namespace fs = std::filesystem;
using lowp::safetensors::detail::shown_path;

// The first bytes of a file, or none.
std::string front_of(std::string const& path) {
  std::error_code not_there;
  std::string front(lowp::safetensors::detail::lfs_pointer.size(), '\0');
  if (fs::is_regular_file(path, not_there))
    std::ifstream(path, std::ios::binary)
        .read(front.data(), static_cast<std::streamsize>(front.size()));
  return front;
}

// Names what the user may mean with a folder: an index before single files.
std::string models_in(std::string const& folder) {
  constexpr std::size_t most = 4;
  std::vector<std::string> indexes, files;
  std::error_code unreadable;
  for (fs::directory_iterator each(folder, unreadable), end; !unreadable && each != end;
       each.increment(unreadable)) {
    std::string const path = each->path().string();
    if (path.ends_with(".safetensors.index.json")) indexes.push_back(shown_path(path));
    if (path.ends_with(".safetensors") || path.ends_with(".gguf"))
      files.push_back(shown_path(path));
  }
  std::vector<std::string>& found = indexes.empty() ? files : indexes;
  if (found.empty()) return "with no index and no model";
  std::ranges::sort(found);
  std::size_t const all = found.size();
  found.resize(std::min(all, most));
  return fmt::format("name its {} {}{}", indexes.empty() ? "file" : "index",
                     fmt::join(found, " or "), all > most ? " or another" : "");
}

}  // namespace

void check_is_file(std::string const& path) {
  std::error_code not_there;
  if (fs::is_directory(path, not_there))
    throw problem(fmt::format("{}: it is a folder: {}", shown_path(path), models_in(path)));
  if (front_of(path) == lowp::safetensors::detail::lfs_pointer)
    throw problem(fmt::format("{}: {}", shown_path(path), lowp::safetensors::detail::not_pulled));
}

std::unique_ptr<tensor_file> open_tensors(std::string const& path) {
  check_is_file(path);
  if (front_of(path).starts_with("GGUF")) return std::make_unique<gguf_file>(path);
  return std::make_unique<safetensors_file>(path);
}
