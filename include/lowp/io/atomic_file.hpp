// SPDX-License-Identifier: Apache-2.0
// A file that appears whole or not at all. POSIX.
#pragma once

#include <lowp/base/raise.hpp>

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
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace lowp {

inline namespace LOWP_UNIT {

/// Bytes go to a neighbour of `path`, which commit() gives its name (rename, POSIX.1-2017: whoever
/// opens the name finds the old file or the new one). Until then, whatever happens, the old file is
/// as it was. Without commit() the neighbour is removed; a process that is killed leaves it behind,
/// as `path.part-PROCESS-NUMBER`, where a name that leaves no room for that is cut.
///
/// An existing file's permissions are kept, and nobody but its owner may read the neighbour. A symbolic
/// link is followed, also to where no file is yet. What is no regular file
/// cannot be replaced, and is refused, as is a file that this process may not write.
/// Every function throws std::system_error (a std::runtime_error) that names the path.
class atomic_file {
 public:
  explicit atomic_file(std::string path) : path_(std::move(path)), target_(path_) {
    follow_links();
    struct stat old{};
    bool const exists = ::stat(target_.c_str(), &old) == 0;
    if (!exists && errno != ENOENT) fail(errno);
    if (exists && S_ISDIR(old.st_mode)) fail(EISDIR);
    if (exists && !S_ISREG(old.st_mode)) fail(EINVAL);
    if (exists && ::faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0) fail(errno);
    // Until it has the permissions of the file that it replaces, nobody else may read it.
    if (exists) permissions_ = old.st_mode & 07777;
    create(exists ? 0600 : 0666);
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
    if (permissions_) static_cast<void>(::fchmod(descriptor_, *permissions_));
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

  /// To the file that a link leads to, be it there or not, so that the link stays.
  void follow_links() {
    constexpr int most_links = 40;  // as Linux
    std::error_code not_there;
    for (int i = 0; std::filesystem::is_symlink(target_, not_there); ++i) {
      if (i == most_links) fail(ELOOP);
      auto const next = std::filesystem::read_symlink(target_, not_there);
      if (not_there) fail(not_there.value());
      target_ = (std::filesystem::path(target_).parent_path() / next).string();
    }
  }

  void create(::mode_t permissions) {
    // Another thread's, or what a killed process left.
    constexpr int most_neighbours = 10000;
    for (int i = 0; i < most_neighbours; ++i) {
      std::string name = neighbour(".part-" + std::to_string(::getpid()) + "-" + std::to_string(i));
      descriptor_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, permissions);
      if (descriptor_ >= 0) neighbour_ = std::move(name);
      if (descriptor_ >= 0 || errno != EEXIST) break;
    }
    if (descriptor_ < 0) fail(errno);
  }
  /// The target's path and `suffix`, but no more of its name than leaves room for that; characters of
  /// UTF-8 stay whole.
  [[nodiscard]] std::string neighbour(std::string const& suffix) const {
    long const found = ::pathconf(directory().c_str(), _PC_NAME_MAX);
    std::size_t const longest = found > 0 ? static_cast<std::size_t>(found) : 255;
    std::size_t const folder = target_.rfind('/') + 1;  // npos + 1 is 0
    std::size_t const name = target_.size() - folder;
    if (name + suffix.size() <= longest) return target_ + suffix;
    std::size_t end = folder + (suffix.size() < longest ? longest - suffix.size() : 0);
    while (end > folder && (target_[end] & 0xc0) == 0x80) --end;
    return target_.substr(0, end) + suffix;
  }
  [[nodiscard]] std::string directory() const {
    auto const parent = std::filesystem::path(target_).parent_path();
    return parent.empty() ? "." : parent.string();
  }

  void discard() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
    if (!neighbour_.empty()) std::remove(neighbour_.c_str());
    neighbour_.clear();
  }

  void synchronize_directory() {
    int const opened = ::open(directory().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (opened < 0) return;  // a directory that may be written and not read
    int const reason = ::fsync(opened) == 0 ? 0 : errno;
    ::close(opened);
    if (reason != 0 && reason != EINVAL) fail(reason);  // EINVAL: this file system cannot
  }

  std::string path_, target_, neighbour_;
  std::optional<::mode_t> permissions_;  ///< of the file that is replaced
  int descriptor_ = -1;
};

}  // namespace LOWP_UNIT

}  // namespace lowp
