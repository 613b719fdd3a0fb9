// SPDX-License-Identifier: Apache-2.0
// Shared by the programs of this folder: one option, and errors as one line.
#pragma once

#include <fmt/core.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <exception>
#include <lowp/io.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace cases {

/// The lines that a picture is drawn from; kept until the case is done.
class csv {
 public:
  template <class... Value>
  void line(fmt::format_string<Value...> format, Value&&... values) {
    text_ += fmt::format(format, std::forward<Value>(values)...);
    text_ += '\n';
  }
  std::string const& text() const { return text_; }

 private:
  std::string text_;
};

/// Runs `tell(csv&)`; with `--csv FILE`, writes the lines into that file, whole or not at all.
template <class Tell>
int run_program(int argc, char** argv, Tell const& tell) {
  try {
    std::string_view const option = argc > 1 ? argv[1] : "";
    if (argc != 1 && (argc != 3 || option != "--csv")) {
      fmt::print(stderr, "usage: {} [--csv FILE]\n", argv[0]);
      return 2;
    }
    csv lines;
    tell(lines);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
      throw std::runtime_error("cannot write to the standard output");
    if (argc == 3) {
      lowp::atomic_file file(argv[2]);
      file.write_at(0, std::as_bytes(std::span(lines.text())));
      file.commit();
    }
    return 0;
  } catch (std::exception const& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}

}  // namespace cases
