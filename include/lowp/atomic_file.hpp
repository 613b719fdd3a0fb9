// SPDX-License-Identifier: Apache-2.0
// A file that appears whole or not at all. POSIX.
#pragma once

#include <lowp/raise.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace lowp {

inline namespace LOWP_UNIT {

/// Bytes go to a neighbour of `path`, which commit() gives its name (rename, POSIX.1-2017: whoever
/// opens the name finds the old file or the new one). Until then, whatever happens, the old file is
/// as it was. Without commit() the neighbour is removed; a process that is killed leaves it behind,
/// as `path.part-PROCESS-NUMBER`.
///
/// An existing file's permissions are kept, a symbolic link is followed. What is no regular file
/// cannot be replaced, and is refused, as is a file that this process may not write.
/// Every function throws std::system_error (a std::runtime_error) that names the path.
class atomic_file {
 public:
  explicit atomic_file(std::string path) : path_(std::move(path)), target_(path_) {
    // The file that a link leads to, so that the link stays.
    std::error_code not_there;
    if (std::filesystem::is_symlink(path_, not_there)) {
      auto const resolved = std::filesystem::canonical(path_, not_there);
      if (!not_there) target_ = resolved.string();
    }
    struct stat old{};
    bool const exists = ::stat(target_.c_str(), &old) == 0;
    if (exists && S_ISDIR(old.st_mode)) fail(EISDIR);
    if (exists && !S_ISREG(old.st_mode)) fail(EINVAL);
    if (exists && ::access(target_.c_str(), W_OK) != 0) fail(errno);
    create();
    if (exists) static_cast<void>(::fchmod(descriptor_, old.st_mode & 07777));
  }
  atomic_file(atomic_file const&) = delete;
  atomic_file& operator=(atomic_file const&) = delete;
  ~atomic_file() { discard(); }

  [[nodiscard]] std::string const& path() const { return path_; }

  /// @param offset  of the first byte; what is never written reads as zero
  void write_at(std::uint64_t offset, std::span<std::byte const> bytes) {
    while (!bytes.empty()) {
      ssize_t const written =
          ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) fail(written < 0 ? errno : EIO);
      offset += static_cast<std::uint64_t>(written);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }

  /// Puts the bytes on the disk and the file in its place. If it throws, the old file is there, but
  /// for one case: the new file is in its place and its directory could not be synchronized, so that
  /// after a power failure either may be found.
  void commit() {
    if (::fsync(descriptor_) != 0) fail(errno);
    if (::close(std::exchange(descriptor_, -1)) != 0) fail(errno);
    if (std::rename(neighbour_.c_str(), target_.c_str()) != 0) fail(errno);
    neighbour_.clear();
    synchronize_directory();
  }

 private:
  [[noreturn]] void fail(int reason) {
    discard();
    detail::raise<std::system_error>(std::error_code(reason, std::generic_category()),
                                     "lowp::atomic_file: cannot write '" + path_ + "'");
  }

  void create() {
    // Another thread's, or what a killed process left.
    constexpr int most_neighbours = 10000;
    for (int i = 0; i < most_neighbours; ++i) {
      std::string name = target_ + ".part-" + std::to_string(::getpid()) + "-" + std::to_string(i);
      descriptor_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (descriptor_ >= 0) neighbour_ = std::move(name);
      if (descriptor_ >= 0 || errno != EEXIST) break;
    }
    if (descriptor_ < 0) fail(errno);
  }

  void discard() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
    if (!neighbour_.empty()) std::remove(neighbour_.c_str());
    neighbour_.clear();
  }

  void synchronize_directory() {
    auto const directory = std::filesystem::path(target_).parent_path();
    int const opened =
        ::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (opened < 0) return;  // a directory that may be written and not read
    int const reason = ::fsync(opened) == 0 ? 0 : errno;
    ::close(opened);
    if (reason != 0 && reason != EINVAL) fail(reason);  // EINVAL: this file system cannot
  }

  std::string path_, target_, neighbour_;
  int descriptor_ = -1;
};

}  // namespace LOWP_UNIT

}  // namespace lowp
