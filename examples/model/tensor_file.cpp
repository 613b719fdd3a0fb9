// SPDX-License-Identifier: Apache-2.0
#include "tensor_file.hpp"

#include <array>
#include <filesystem>
#include <fstream>
#include <lowp/io/safetensors/file.hpp>
#include <system_error>

#include "gguf.hpp"

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

}  // namespace

std::unique_ptr<tensor_file> open_tensors(std::string const& path) {
  std::error_code not_there;
  std::array<char, 4> start{};
  if (std::filesystem::is_regular_file(path, not_there))
    std::ifstream(path, std::ios::binary).read(start.data(), start.size());
  if (start == std::array{'G', 'G', 'U', 'F'}) return std::make_unique<gguf_file>(path);
  return std::make_unique<safetensors_file>(path);
}
