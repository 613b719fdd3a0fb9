// SPDX-License-Identifier: Apache-2.0
// The bar is there on a terminal, gone at the end, and nowhere else.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "tool.hpp"

namespace {

using namespace lowp_test;

// The program's words on standard error, if that is a terminal of this kind.
std::string said_on_a_terminal(char const* kind, std::vector<std::string> arguments) {
  int const master = ::posix_openpt(O_RDWR | O_NOCTTY);
  EXPECT_TRUE(master >= 0 && ::grantpt(master) == 0 && ::unlockpt(master) == 0);
  ::setenv("TERM", kind, 1);
  text_stream const out;
  std::FILE* const err = std::fopen(::ptsname(master), "w");
  EXPECT_NE(err, nullptr);
  EXPECT_EQ(run(std::move(arguments), out.file(), err), status::yes);
  std::fflush(err);
  std::string text;
  pollfd ready{master, POLLIN, 0};
  while (::poll(&ready, 1, 100) == 1 && (ready.revents & POLLIN) != 0) {
    char buffer[4096];
    ssize_t const got = ::read(master, buffer, sizeof buffer);
    if (got <= 0) break;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  std::fclose(err);
  ::close(master);
  EXPECT_EQ(out.text().find('\r'), std::string::npos);
  return text;
}

class terminal : public model_tool {
 protected:
  void SetUp() override { write(model, {of("w", std::vector<float>(3'000'000, 1.0f))}); }
};

TEST_F(terminal, has_a_bar) {
  std::vector<std::vector<std::string>> const commands{{"audit", model, "--to", "float16"},
                                                       {"convert", model, out, "--to", "float16"},
                                                       {"diff", model, model}};
  for (auto const& command : commands) {
    std::string const text = said_on_a_terminal("xterm", command);
    EXPECT_TRUE(text.starts_with("\r" + command[0] + " [")) << text;
    EXPECT_TRUE(has(text, " % of "));
    EXPECT_TRUE(text.ends_with("\r\x1b[K")) << "the bar stays";
    EXPECT_EQ(text.find('\n'), text.npos);
    EXPECT_EQ(said_on_a_terminal("dumb", command), "");
    EXPECT_EQ(tool(command).err, "");
  }
}

}  // namespace
