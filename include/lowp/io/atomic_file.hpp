// SPDX-License-Identifier: Apache-2.0
// A file that appears whole or not at all. POSIX.
#pragma once

#include <lowp/base/error_text.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace lowp::inline LOWP_UNIT {

/// A file in progress. Bytes go to a neighbour of `path`. commit() gives the neighbour that name
/// (rename, POSIX.1-2017: a reader of the name finds the old file or the new one). Until then the
/// old file is unchanged, whatever happens. Without commit() the neighbour is removed. A killed
/// process leaves it as `path.part-PROCESS-NUMBER`; a name too long for that is cut. Where files
/// have a limit (ulimit -f), ignore SIGXFSZ, which else kills the process.
///
/// An existing file keeps its permissions. Only its owner may read the neighbour. A symbolic link
/// is followed, also to a file that does not exist. An existing file must be regular, and this
/// process must be allowed to write it.
/// @throws std::system_error  (a std::runtime_error) from every function; it names the path
class atomic_file {
 public:
  explicit atomic_file(std::string path) : path_(std::move(path)), target_(path_) {
    follow_links();
    struct stat old{};
    bool const exists = ::stat(target_.c_str(), &old) == 0;
    if (!exists && (errno != ENOENT || target_.empty())) fail(errno);
    if (exists && S_ISDIR(old.st_mode)) fail(EISDIR);
    if (exists && !S_ISREG(old.st_mode)) fail(EINVAL);
    if (exists && ::faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0) fail(errno);
    // Nobody else may read it before it has the permissions of the file that it replaces.
    if (exists) permissions_ = old.st_mode & 07777;
    create(exists ? 0600 : 0666);
  }
  atomic_file(atomic_file const&) = delete;
  atomic_file& operator=(atomic_file const&) = delete;
  ~atomic_file() { discard(); }

  [[nodiscard]] std::string const& path() const { return path_; }

  /// Writes bytes, the first at `offset`. Bytes that are never written read as zero.
  void write_at(std::uint64_t offset, std::span<std::byte const> bytes) {
    while (!bytes.empty()) {
      if (!std::in_range<::off_t>(offset)) fail(EFBIG);  // off_t may have 32 bits
      ssize_t const written =
          ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) fail(written < 0 ? errno : EIO);
      offset += static_cast<std::uint64_t>(written);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }

  /// Returns the neighbours that other processes have left of the file, or write now. Remove one
  /// if its process has ended.
  [[nodiscard]] std::vector<std::string> parts_of_others() const {
    std::vector<std::string> found;
    std::error_code unreadable;
    std::string const here = directory(), own = part_of_process();
    for (std::filesystem::directory_iterator each(here, unreadable), end;
         !unreadable && each != end; each.increment(unreadable)) {
      std::string const name = each->path().filename().string();
      std::string const suffix = name.substr(std::min(name.rfind(part), name.size()));
      if (suffix.empty() || suffix.starts_with(own)) continue;
      bool const is_numbers = suffix.find_first_not_of("0123456789-", part.size()) == suffix.npos;
      std::string path = neighbour(suffix);
      if (is_numbers && path.substr(target_.rfind('/') + 1) == name)
        found.push_back(std::move(path));
    }
    return found;
  }

  /// Puts the bytes on the disk and the file in its place. If it throws, the old file is in place,
  /// except if the directory cannot be synchronized. Then the new file is in place, and after a
  /// power failure either may be.
  void commit() {
    if (permissions_) static_cast<void>(::fchmod(descriptor_, *permissions_));
    while (::fsync(descriptor_) != 0)
      if (errno != EINTR) fail(errno);
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

  /// Follows links to the file, which need not exist, so that the links stay.
  void follow_links() {
    constexpr int most_links = 40;  // the limit of Linux
    std::error_code not_there;
    for (int i = 0; std::filesystem::is_symlink(target_, not_there); ++i) {
      if (i == most_links) fail(ELOOP);
      auto const next = std::filesystem::read_symlink(target_, not_there);
      if (not_there) fail(not_there.value());
      target_ = (std::filesystem::path(target_).parent_path() / next).string();
    }
  }

  static constexpr std::string_view part = ".part-";
  static std::string part_of_process() {
    return std::string(part) + std::to_string(::getpid()) + "-";
  }
  void create(::mode_t permissions) {
    // Another thread's file, or that of a killed process, may have the name.
    constexpr int most_neighbours = 10000;
    for (int i = 0; i < most_neighbours; ++i) {
      std::string name = neighbour(part_of_process() + std::to_string(i));
      descriptor_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, permissions);
      if (descriptor_ >= 0) neighbour_ = std::move(name);
      if (descriptor_ >= 0 || (errno != EEXIST && errno != EINTR)) break;
    }
    if (descriptor_ < 0) fail(errno);
  }
  /// Returns the target's path and `suffix`. Cuts the name to leave room for the suffix, but never
  /// within a UTF-8 character.
  [[nodiscard]] std::string neighbour(std::string const& suffix) const {
    long const found = ::pathconf(directory().c_str(), _PC_NAME_MAX);
    std::size_t const longest = found > 0 ? static_cast<std::size_t>(found) : 255;
    std::size_t const folder = target_.rfind('/') + 1;  // npos + 1 is 0
    std::size_t const room = suffix.size() < longest ? longest - suffix.size() : 0;
    std::size_t end = std::min(target_.size(), folder + room);
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
    if (opened < 0) return;  // a writable directory may be unreadable
    int reason = 0;
    do reason = ::fsync(opened) == 0 ? 0 : errno;
    while (reason == EINTR);
    ::close(opened);
    if (reason != 0 && reason != EINVAL) fail(reason);  // EINVAL: the file system lacks it
  }

  std::string path_, target_, neighbour_;
  std::optional<::mode_t> permissions_;  ///< permissions of the file to replace
  int descriptor_ = -1;
};

}  // namespace lowp::inline LOWP_UNIT
