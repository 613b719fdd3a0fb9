// SPDX-License-Identifier: Apache-2.0
// A place in a program's source: std::source_location, also for compilers that lack it.
#pragma once

#include <lowp/base/config.hpp>

#include <string>
#include <string_view>

namespace lowp::inline LOWP_UNIT {

struct source_place {
  char const* file = "";
  unsigned line = 0;

  /// Returns the place of the call, if used as a default argument.
  static constexpr source_place current(char const* file = __builtin_FILE(),
                                        unsigned line = __builtin_LINE()) {
    return {file, line};
  }

  constexpr source_place() = default;
  constexpr source_place(char const* file_name, unsigned line_number)
      : file(file_name), line(line_number) {}
  template <class Location>  // std::source_location
    requires requires(Location const& where) {
      where.file_name();
      where.line();
    }
  constexpr source_place(Location const& where)
      : file(where.file_name()), line(static_cast<unsigned>(where.line())) {}

  /// Returns the file name and the line, such as "model.cpp:31".
  [[nodiscard]] std::string text() const {
    std::string_view const path = file;
    return std::string(path.substr(path.find_last_of('/') + 1)) + ":" + std::to_string(line);
  }
};

}  // namespace lowp::inline LOWP_UNIT
