// SPDX-License-Identifier: Apache-2.0
// A file appears whole or not at all: whatever is refused and whenever the process dies.
#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <lowp/io.hpp>

#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "support/killed.hpp"
#include "support/scratch.hpp"

namespace {
// Arguments of the calls below, in their order.
std::vector<std::string> calls;

// The errors of the next calls, 0 for none; and a pwrite that writes a byte at most.
std::vector<int> errors_of_open, errors_of_pwrite, errors_of_fsync, errors_of_close;
bool writes_bytewise = false;

int next_of(std::vector<int>& errors) {
  if (errors.empty()) return 0;
  int const error = errors.front();
  errors.erase(errors.begin());
  return error;
}
}  // namespace

// The program's own definitions go before the C library's.
extern "C" int open(char const* path, int flags, ...) {
  errno = next_of(errors_of_open);
  if (errno != 0) return -1;
  std::va_list more;
  va_start(more, flags);
  auto const permissions = (flags & O_CREAT) != 0 ? va_arg(more, ::mode_t) : 0;
  va_end(more);
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, permissions));
}
extern "C" ssize_t pwrite(int descriptor, void const* bytes, std::size_t size, off_t offset) {
  errno = next_of(errors_of_pwrite);
  if (errno != 0) return -1;
  return ::syscall(SYS_pwrite64, descriptor, bytes, writes_bytewise ? 1 : size, offset);
}
extern "C" int fsync(int descriptor) {
  errno = next_of(errors_of_fsync);
  if (errno != 0) return -1;
  struct stat what{};
  ::fstat(descriptor, &what);
  calls.emplace_back(S_ISDIR(what.st_mode) ? "fsync folder" : "fsync file");
  return static_cast<int>(::syscall(SYS_fsync, descriptor));
}
extern "C" int close(int descriptor) {
  calls.emplace_back("close");
  ::syscall(SYS_close, descriptor);
  errno = next_of(errors_of_close);
  return errno == 0 ? 0 : -1;
}
extern "C" int rename(char const* from, char const* to) noexcept {
  calls.emplace_back("rename");
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

namespace {

using namespace lowp_test;

std::string const old_text = "the old file, which is longer than the new one";
std::string const new_text = "the new file";

std::span<std::byte const> bytes_of(std::string const& text) {
  return std::as_bytes(std::span(text));
}

// In two pieces, the last one first.
void save(std::string const& path) {
  lowp::atomic_file file(path);
  file.write_at(4, bytes_of(new_text).subspan(4));
  file.write_at(0, bytes_of(new_text).first(4));
  file.commit();
}

std::string refusal_of(std::string const& path) {
  try {
    save(path);
  } catch (std::system_error const& error) {
    return error.what();
  }
  return "not refused";
}

TEST(atomic_file, replaces_the_old_file_and_leaves_no_other) {
  scratch_folder const folder;
  std::string const path = folder.file("a");
  save(path);
  EXPECT_EQ(contents(path), new_text);
  set_contents(path, old_text);
  save(path);
  EXPECT_EQ(contents(path), new_text);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a"});
}

TEST(atomic_file, of_no_name_is_refused_before_the_work) {
  EXPECT_THROW(lowp::atomic_file(""), std::system_error);
}

TEST(atomic_file, writes_nothing_where_no_offset_reaches) {
  scratch_folder const folder;
  lowp::atomic_file file(folder.file("a"));
  try {
    file.write_at(std::uint64_t{1} << 63, bytes_of(new_text));
    FAIL();
  } catch (std::system_error const& error) {
    EXPECT_EQ(error.code().value(), EFBIG);
  }
}

TEST(atomic_file, without_commit_is_nothing) {
  scratch_folder const folder;
  set_contents(folder.file("a"), old_text);
  {
    lowp::atomic_file file(folder.file("a"));
    file.write_at(0, bytes_of(new_text));
    EXPECT_EQ(folder.names().size(), 2U);
    calls.clear();
  }
  EXPECT_EQ(calls, std::vector<std::string>{"close"});
  EXPECT_EQ(contents(folder.file("a")), old_text);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a"});
}

TEST(atomic_file, two_at_a_time_are_two) {
  scratch_folder const folder;
  lowp::atomic_file first(folder.file("a"));
  lowp::atomic_file second(folder.file("a"));
  first.write_at(0, bytes_of("first"));
  second.write_at(0, bytes_of("second"));
  second.commit();
  EXPECT_EQ(contents(folder.file("a")), "second");
  first.commit();
  EXPECT_EQ(contents(folder.file("a")), "first");
}

// The later one has the neighbour's name again.
TEST(atomic_file, done_or_failed_ends_without_harm_to_a_later_one) {
  scratch_folder const folder;
  for (int const error : {0, EIO}) {
    std::optional<lowp::atomic_file> first(folder.file("a"));
    errors_of_fsync = {error};
    try {
      first->commit();
      EXPECT_EQ(error, 0);
    } catch (std::system_error const&) {
      EXPECT_NE(error, 0);
    }
    lowp::atomic_file second(folder.file("a"));
    auto const names = folder.names();
    first.reset();
    EXPECT_EQ(folder.names(), names);
    second.write_at(0, bytes_of(new_text));
    second.commit();
    EXPECT_EQ(contents(folder.file("a")), new_text);
  }
}

TEST(atomic_file, keeps_permissions_and_links) {
  namespace fs = std::filesystem;
  scratch_folder const folder;
  set_contents(folder.file("a"), old_text);
  fs::permissions(folder.file("a"), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("a", folder.file("link"));
  save(folder.file("link"));
  EXPECT_TRUE(fs::is_symlink(folder.file("link")));
  EXPECT_EQ(contents(folder.file("a")), new_text);
  EXPECT_EQ(fs::status(folder.file("a")).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

// After a power failure there is either file, whole. The new one's bytes are on the disk before it
// has the name, and the name is, before commit() returns.
TEST(atomic_file, is_on_the_disk_before_it_has_the_name) {
  scratch_folder const folder;
  set_contents(folder.file("a"), old_text);
  calls.clear();
  save(folder.file("a"));
  EXPECT_EQ(calls,
            (std::vector<std::string>{"fsync file", "close", "rename", "fsync folder", "close"}));
}

TEST(atomic_file, is_private_until_it_has_the_name) {
  namespace fs = std::filesystem;
  scratch_folder const folder;
  std::string const path = folder.file("a");
  auto const before = ::umask(022);
  for (auto const mode : {0600U, 0640U, 0644U, 0666U, 0755U}) {
    set_contents(path, old_text);
    fs::permissions(path, static_cast<fs::perms>(mode));
    {
      lowp::atomic_file file(path);
      for (std::string const& name : folder.names())
        if (name != "a") {
          EXPECT_EQ(fs::status(folder.file(name)).permissions(), static_cast<fs::perms>(0600));
        }
      file.commit();
    }
    EXPECT_EQ(fs::status(path).permissions(), static_cast<fs::perms>(mode));
  }
  save(folder.file("new"));
  EXPECT_EQ(fs::status(folder.file("new")).permissions(), static_cast<fs::perms>(0644));
  ::umask(before);
}

TEST(atomic_file, follows_links_to_where_no_file_is) {
  namespace fs = std::filesystem;
  scratch_folder const folder;
  fs::create_directory(folder.file("sub"));
  fs::create_symlink("sub/second", folder.file("first"));
  fs::create_symlink("../a", folder.file("sub/second"));
  save(folder.file("first"));
  EXPECT_TRUE(fs::is_symlink(folder.file("first")));
  EXPECT_TRUE(fs::is_symlink(folder.file("sub/second")));
  EXPECT_FALSE(fs::is_symlink(folder.file("a")));
  EXPECT_EQ(contents(folder.file("a")), new_text);

  fs::create_symlink("nowhere/a", folder.file("lost"));
  EXPECT_NE(refusal_of(folder.file("lost")).find("No such file"), std::string::npos);
  EXPECT_TRUE(fs::is_symlink(folder.file("lost")));
  fs::create_symlink("circle", folder.file("circle"));
  EXPECT_NE(refusal_of(folder.file("circle")).find("symbolic links"), std::string::npos);
  EXPECT_TRUE(fs::is_symlink(folder.file("circle")));
}

TEST(atomic_file, takes_names_of_any_length) {
  scratch_folder const folder;
  for (std::size_t const size : {200U, 236U, 240U, 252U, 255U}) {
    std::string const name(size, 'n');
    save(folder.file(name));
    EXPECT_EQ(contents(folder.file(name)), new_text) << size;
  }
  EXPECT_EQ(folder.names().size(), 5U);
  EXPECT_NE(refusal_of(folder.file(std::string(256, 'n'))).find("name too long"),
            std::string::npos);
  EXPECT_THROW(lowp::atomic_file(folder.file(std::string(256, 'n'))), std::system_error);
  EXPECT_EQ(folder.names().size(), 5U);
}

// A process has a number of any length: the cut comes before each byte of a character.
TEST(atomic_file, cuts_no_character_of_a_name) {
  for (std::size_t const lead : {0U, 1U, 2U}) {
    scratch_folder const folder;
    std::string name(lead, 'n');
    while (name.size() + 3 <= 255) name += "\u2014";  // of three bytes
    lowp::atomic_file file(folder.file(name));
    ASSERT_EQ(folder.names().size(), 1U);
    std::string const found = folder.names()[0];
    EXPECT_EQ((found.find(".part-") - lead) % 3, 0U) << found;
    file.commit();
    EXPECT_EQ(folder.names(), std::vector<std::string>{name});
  }
}

TEST(atomic_file, in_the_current_folder) {
  scratch_folder const folder;
  auto const before = std::filesystem::current_path();
  std::filesystem::current_path(folder.file(""));
  save("a");
  std::filesystem::current_path(before);
  EXPECT_EQ(contents(folder.file("a")), new_text);
}

TEST(atomic_file, refuses_by_name_what_cannot_be_replaced) {
  scratch_folder const folder;
  EXPECT_EQ(refusal_of(folder.file("missing/a")), "lowp::atomic_file: cannot write '" +
                                                      folder.file("missing/a") +
                                                      "': No such file or directory");
  EXPECT_NE(refusal_of(folder.file("")).find("directory"), std::string::npos);
  ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
  // Never a device of the machine: a broken library would replace it.
  EXPECT_NE(refusal_of(folder.file("pipe")).find("Invalid argument"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_fifo(folder.file("pipe")));
  EXPECT_EQ(folder.names(), std::vector<std::string>{"pipe"});
}

// Root may write every file, so somebody else tries. The folder is everybody's: a rename would do
// it.
TEST(atomic_file, refuses_a_file_that_may_not_be_written) {
  namespace fs = std::filesystem;
  scratch_folder const folder;
  std::string const path = folder.file("a");
  set_contents(path, old_text);
  fs::permissions(folder.file(""), fs::perms::all);
  auto const save_as_somebody = [&](bool only_in_effect, char const* refusal) {
    pid_t const child = ::fork();
    if (child != 0) return end_of(child);
    constexpr unsigned nobody = 65534;
    bool const changed =
        ::geteuid() != 0 || (::setgroups(0, nullptr) == 0 && ::setegid(nobody) == 0 &&
                             (only_in_effect ? ::seteuid(nobody) : ::setuid(nobody)) == 0);
    if (!changed) ::_exit(2);
    save_and_exit([&] {
      if (refusal_of(path).find(refusal) != std::string::npos) throw std::runtime_error("refused");
    });
  };
  fs::permissions(path, fs::perms::owner_read);
  for (bool const only_in_effect : {false, true}) {
    end const how = save_as_somebody(only_in_effect, "Permission denied");
    if (how == end::unknown) GTEST_SKIP() << "nobody else can be asked here";
    EXPECT_EQ(how, end::refused);
    EXPECT_EQ(contents(path), old_text);
    EXPECT_EQ(folder.names(), std::vector<std::string>{"a"});
  }
  fs::permissions(path, static_cast<fs::perms>(0666));
  fs::permissions(folder.file(""), static_cast<fs::perms>(0333));  // cannot be synchronized
  EXPECT_EQ(save_as_somebody(false, "cannot write"), end::saved);
  fs::permissions(folder.file(""), fs::perms::all);
  EXPECT_EQ(contents(path), new_text);
}

TEST(atomic_file, goes_on_after_short_and_interrupted_calls) {
  scratch_folder const folder;
  errors_of_open = {EINTR};
  errors_of_fsync = {EINTR, 0, EINTR};
  writes_bytewise = true;
  errors_of_pwrite = {0, EINTR, 0, EINTR, EINTR};
  save(folder.file("a"));
  writes_bytewise = false;
  EXPECT_EQ(contents(folder.file("a")), new_text);
  EXPECT_TRUE(errors_of_open.empty() && errors_of_fsync.empty());
}

TEST(atomic_file, of_a_full_disk_is_the_old_one) {
  scratch_folder const folder;
  std::string const path = folder.file("a");
  set_contents(path, old_text);
  for (std::vector<int> const& errors : {std::vector{ENOSPC}, std::vector{0, ENOSPC}}) {
    errors_of_pwrite = errors;
    EXPECT_NE(refusal_of(path).find("No space left"), std::string::npos);
  }
  errors_of_fsync = {EIO};  // a disk may tell of it only now
  EXPECT_NE(refusal_of(path).find("Input/output error"), std::string::npos);
  errors_of_close = {EIO};  // or now
  EXPECT_NE(refusal_of(path).find("Input/output error"), std::string::npos);
  lowp::atomic_file incomplete(path);
  errors_of_pwrite = {ENOSPC};
  EXPECT_THROW(incomplete.write_at(0, bytes_of(new_text)), std::system_error);
  EXPECT_THROW(incomplete.commit(), std::system_error);
  EXPECT_EQ(contents(path), old_text);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a"});

  // The file has its name when the folder is synchronized.
  errors_of_fsync = {0, EIO};
  EXPECT_NE(refusal_of(path).find("Input/output error"), std::string::npos);
  EXPECT_EQ(contents(path), new_text);
  errors_of_fsync = {0, EINVAL};  // a file system without that
  save(path);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a"});
}

TEST(atomic_file, killed_or_refused_at_any_byte) {
  scratch_folder const folder;
  std::string const path = folder.file("a");
  set_contents(path, old_text);
  for (std::size_t bytes = 0; bytes < new_text.size(); ++bytes) {
    ASSERT_EQ(save_with_limit(bytes, at_limit::fails, [&] { save(path); }), end::refused) << bytes;
    ASSERT_EQ(contents(path), old_text) << bytes;
    ASSERT_EQ(folder.names().size(), 1U) << bytes;
  }
  for (std::size_t bytes = 0; bytes < new_text.size(); ++bytes) {
    ASSERT_EQ(save_with_limit(bytes, at_limit::dies, [&] { save(path); }), end::killed) << bytes;
    ASSERT_EQ(contents(path), old_text) << bytes;
  }
  // Files of killed processes are in nobody's way.
  ASSERT_EQ(save_with_limit(new_text.size(), at_limit::dies, [&] { save(path); }), end::saved);
  EXPECT_EQ(contents(path), new_text);
}

// A name may be cut, and other files may have names like it.
TEST(atomic_file, tells_what_other_processes_left) {
  for (std::string const& name : {std::string("a.part-7-7"), std::string(250, 'n')}) {
    scratch_folder const folder;
    std::string const path = folder.file(name);
    ASSERT_EQ(save_with_limit(1, at_limit::dies, [&] { save(path); }), end::killed);
    std::string const left = folder.file(folder.names().at(0));
    for (char const* other : {".part-", ".part-1", ".part-1-x", ".part-1-1.gz", "b.part-1-1"})
      set_contents(folder.file(name.substr(0, 9) + other), old_text);
    lowp::atomic_file const file(path), second(path);
    EXPECT_EQ(file.parts_of_others(), std::vector<std::string>{left});
    std::filesystem::create_symlink(name, folder.file("link"));
    EXPECT_EQ(lowp::atomic_file(folder.file("link")).parts_of_others(),
              std::vector<std::string>{left});
    std::filesystem::remove(left);
    EXPECT_TRUE(file.parts_of_others().empty());
  }
}

TEST(atomic_file, killed_at_any_system_call) {
  scratch_folder const folder;
  std::string const path = folder.file("a");
  int killed_before = 0;
  int killed_after = 0;
  for (int stops = 1;; ++stops) {
    set_contents(path, old_text);
    end const how = save_with_stops(stops, [&] { save(path); });
    if (how == end::unknown) GTEST_SKIP() << "no process may be watched here";
    std::string const found = contents(path);
    if (how == end::saved) {
      EXPECT_EQ(found, new_text);
      break;
    }
    ASSERT_EQ(how, end::killed);
    ASSERT_TRUE(found == old_text || found == new_text) << stops << ": " << found;
    ++(found == old_text ? killed_before : killed_after);
  }
  EXPECT_GT(killed_before, 8);  // open, write, fsync, close: in and out
  EXPECT_GT(killed_after, 0);
}

}  // namespace
