// SPDX-License-Identifier: Apache-2.0
// A file appears whole or not at all: whatever is refused and whenever the process dies.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <lowp/atomic_file.hpp>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "killed.hpp"
#include "scratch.hpp"

namespace {

using namespace lowp_test;

const std::string old_text = "the old file, which is longer than the new one";
const std::string new_text = "the new file";

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// In two pieces, the last one first.
void save(const std::string& path) {
  lowp::atomic_file file(path);
  file.write_at(4, bytes_of(new_text).subspan(4));
  file.write_at(0, bytes_of(new_text).first(4));
  file.commit();
}

std::string refusal_of(const std::string& path) {
  try {
    save(path);
  } catch (const std::system_error& error) {
    return error.what();
  }
  return "not refused";
}

TEST(atomic_file, replaces_the_old_file_and_leaves_no_other) {
  const scratch_folder folder;
  const std::string path = folder.file("a");
  save(path);
  EXPECT_EQ(contents(path), new_text);
  set_contents(path, old_text);
  save(path);
  EXPECT_EQ(contents(path), new_text);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a"});
}

TEST(atomic_file, without_commit_is_nothing) {
  const scratch_folder folder;
  set_contents(folder.file("a"), old_text);
  {
    lowp::atomic_file file(folder.file("a"));
    file.write_at(0, bytes_of(new_text));
    EXPECT_EQ(folder.names().size(), 2U);
  }
  EXPECT_EQ(contents(folder.file("a")), old_text);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a"});
}

TEST(atomic_file, two_at_a_time_are_two) {
  const scratch_folder folder;
  lowp::atomic_file first(folder.file("a"));
  lowp::atomic_file second(folder.file("a"));
  first.write_at(0, bytes_of("first"));
  second.write_at(0, bytes_of("second"));
  second.commit();
  EXPECT_EQ(contents(folder.file("a")), "second");
  first.commit();
  EXPECT_EQ(contents(folder.file("a")), "first");
}

TEST(atomic_file, keeps_permissions_and_links) {
  namespace fs = std::filesystem;
  const scratch_folder folder;
  set_contents(folder.file("a"), old_text);
  fs::permissions(folder.file("a"), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("a", folder.file("link"));
  save(folder.file("link"));
  EXPECT_TRUE(fs::is_symlink(folder.file("link")));
  EXPECT_EQ(contents(folder.file("a")), new_text);
  EXPECT_EQ(fs::status(folder.file("a")).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST(atomic_file, in_the_current_folder) {
  const scratch_folder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.file(""));
  save("a");
  std::filesystem::current_path(before);
  EXPECT_EQ(contents(folder.file("a")), new_text);
}

TEST(atomic_file, refuses_by_name_what_cannot_be_replaced) {
  const scratch_folder folder;
  EXPECT_EQ(refusal_of(folder.file("missing/a")), "lowp::atomic_file: cannot write '" +
                                                      folder.file("missing/a") +
                                                      "': No such file or directory");
  EXPECT_NE(refusal_of(folder.file("")).find("directory"), std::string::npos);
  EXPECT_NE(refusal_of("/dev/null").find("Invalid argument"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
  EXPECT_NE(refusal_of(folder.file("pipe")).find("Invalid argument"), std::string::npos);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"pipe"});
}

TEST(atomic_file, refuses_a_file_that_may_not_be_written) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write every file";
  const scratch_folder folder;
  set_contents(folder.file("a"), old_text);
  std::filesystem::permissions(folder.file("a"), std::filesystem::perms::owner_read);
  EXPECT_NE(refusal_of(folder.file("a")).find("Permission denied"), std::string::npos);
  EXPECT_EQ(contents(folder.file("a")), old_text);
}

TEST(atomic_file, killed_or_refused_at_any_byte) {
  const scratch_folder folder;
  const std::string path = folder.file("a");
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
  // What killed processes left is in nobody's way.
  ASSERT_EQ(save_with_limit(new_text.size(), at_limit::dies, [&] { save(path); }), end::saved);
  EXPECT_EQ(contents(path), new_text);
}

TEST(atomic_file, killed_at_any_system_call) {
  const scratch_folder folder;
  const std::string path = folder.file("a");
  int killed_before = 0;
  int killed_after = 0;
  for (int stops = 1;; ++stops) {
    set_contents(path, old_text);
    const end how = save_with_stops(stops, [&] { save(path); });
    if (how == end::unknown) GTEST_SKIP() << "no process may be watched here";
    const std::string found = contents(path);
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
