// SPDX-License-Identifier: Apache-2.0
#include "output_file.hpp"

#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <lowp/io.hpp>
#include <memory>
#include <span>
#include <system_error>

#include "problem.hpp"

namespace {

[[noreturn]] void refuse(std::string const& path, std::string_view option, int reason) {
  throw problem(fmt::format("cannot write '{}' ({}): name another file with {}", path,
                            std::strerror(reason), option));
}

// By this name it would be a second view of the same file, at an offset of its own.
constexpr std::string_view standard_output = "/dev/stdout";

// A device or a pipe, which cannot be replaced and which even opening may disturb.
bool is_special(std::string const& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  return fs::exists(path, ignored) && !fs::is_regular_file(path, ignored) &&
         !fs::is_directory(path, ignored);
}

struct closes {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

void write_all(std::FILE* to, std::string_view contents, std::string const& path,
               std::string_view option) {
  bool const is_whole = std::fwrite(contents.data(), 1, contents.size(), to) == contents.size();
  // A full disk may show only when the last bytes leave the buffer.
  if (!is_whole || std::fflush(to) != 0) refuse(path, option, errno);
}

}  // namespace

void require_writable(std::string const& path, std::string_view option) try {
  if (path != standard_output && !is_special(path)) lowp::atomic_file const probe(path);
} catch (std::system_error const& error) {
  refuse(path, option, error.code().value());
}

void write_whole(std::string const& path, std::string_view contents, std::string_view option) try {
  if (path == standard_output) return write_all(stdout, contents, path, option);
  if (is_special(path)) {
    std::unique_ptr<std::FILE, closes> const file(std::fopen(path.c_str(), "wb"));
    if (file == nullptr) refuse(path, option, errno);
    return write_all(file.get(), contents, path, option);
  }
  lowp::atomic_file file(path);
  file.write_at(0, std::as_bytes(std::span(contents)));
  file.commit();
} catch (std::system_error const& error) {
  refuse(path, option, error.code().value());
}
