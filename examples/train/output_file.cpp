// SPDX-License-Identifier: Apache-2.0
#include "output_file.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "problem.hpp"

namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(std::string const& path, std::string_view option, int reason) {
  throw problem(fmt::format("cannot write '{}' ({}): name another file with {}", path,
                            std::strerror(reason), option));
}

// By this name it would be a second view of the same file, at an offset of its own.
constexpr std::string_view standard_output = "/dev/stdout";

// A device or a pipe, which cannot be replaced and which even opening may disturb.
bool is_special(std::string const& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) && !fs::is_regular_file(path, ignored);
}

// Where the bytes go before they are all there.
class partial_file {
 public:
  partial_file(std::string const& path, std::string_view option) : path_(path), option_(option) {
    std::error_code ignored;
    if (is_special(path)) {
      file_ = std::fopen(path.c_str(), "wb");
    } else {
      // The file that a link leads to, so that the link stays.
      if (fs::is_symlink(path, ignored)) target_ = fs::canonical(path, ignored).string();
      if (target_.empty()) target_ = path;
      temporary_ = fmt::format("{}.part-{}", target_, ::getpid());
      file_ = std::fopen(temporary_.c_str(), "wbx");
    }
    if (file_ == nullptr) {
      int const reason = errno;
      temporary_.clear();  // it is somebody else's, if it exists
      refuse(path, option, reason);
    }
  }
  partial_file(partial_file const&) = delete;
  partial_file& operator=(partial_file const&) = delete;
  ~partial_file() {
    if (file_ != nullptr) std::fclose(file_);
    if (!temporary_.empty()) std::remove(temporary_.c_str());
  }

  void complete(std::string_view contents) {
    bool is_whole = std::fwrite(contents.data(), 1, contents.size(), file_) == contents.size();
    // A full disk may show only when the last bytes leave the buffer.
    is_whole = std::fclose(std::exchange(file_, nullptr)) == 0 && is_whole;
    if (is_whole && !temporary_.empty())
      is_whole = std::rename(temporary_.c_str(), target_.c_str()) == 0;
    if (!is_whole) refuse(path_, option_, errno);
    temporary_.clear();
  }

 private:
  std::string path_, option_, target_, temporary_;
  std::FILE* file_ = nullptr;
};

}  // namespace

void require_writable(std::string const& path, std::string_view option) {
  std::error_code ignored;
  if (path == standard_output) return;
  if (fs::is_directory(path, ignored)) refuse(path, option, EISDIR);
  // Renaming would replace a write-protected file too.
  if (fs::exists(path, ignored) && ::access(path.c_str(), W_OK) != 0) refuse(path, option, errno);
  if (!is_special(path)) partial_file const probe(path, option);
}

void write_whole(std::string const& path, std::string_view contents, std::string_view option) {
  if (path != standard_output) return partial_file(path, option).complete(contents);
  bool const is_whole = std::fwrite(contents.data(), 1, contents.size(), stdout) == contents.size();
  if (!is_whole || std::fflush(stdout) != 0) refuse(path, option, errno);
}
