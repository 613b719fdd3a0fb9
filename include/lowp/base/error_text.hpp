// SPDX-License-Identifier: Apache-2.0
// The error text of a call's arguments. It is text and not an exception, because some callers build
// without exceptions.
#pragma once

#include <lowp/base/raise.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>

namespace lowp::detail {

inline namespace LOWP_UNIT {

/// An error text, empty if the arguments are valid. Its members are calls, so that checks that pass
/// cost little code.
class error_text : public std::string {
 public:
  error_text() = default;
  LOWP_COLD error_text(char const* text) : std::string(text) {}
  LOWP_COLD error_text(std::string&& text) : std::string(std::move(text)) {}
  LOWP_COLD error_text(std::string const& text) : std::string(text) {}
  LOWP_COLD error_text(error_text const& other) : std::string(other) {}
  LOWP_COLD error_text(error_text&& other) noexcept : std::string(std::move(other)) {}
  LOWP_COLD error_text& operator=(error_text const& other) {
    std::string::operator=(other);
    return *this;
  }
  LOWP_COLD error_text& operator=(error_text&& other) noexcept {
    std::string::operator=(std::move(other));
    return *this;
  }
  LOWP_COLD ~error_text() {}
};

struct text_piece {
  char const* text;
  std::uint64_t number = 0;

  LOWP_HOST_FN text_piece(char const* characters) : text(characters) {}
  LOWP_HOST_FN text_piece(std::uint64_t count) : text(nullptr), number(count) {}
};

LOWP_COLD inline std::string joined_text(std::initializer_list<text_piece> pieces) {
  std::string text;
  for (text_piece const& piece : pieces) {
    if (piece.text != nullptr) {
      text += piece.text;
    } else {  // std::to_string would take a fourth of all that a caller compiles for its errors
      char digits[20], *const end = digits + sizeof(digits), *first = end;
      std::uint64_t rest = piece.number;
      do *--first = static_cast<char>('0' + rest % 10);
      while ((rest /= 10) != 0);
      text.append(first, static_cast<std::size_t>(end - first));
    }
  }
  return text;
}

[[noreturn]] LOWP_COLD inline void refuse(error_text const& what) {
  raise<std::invalid_argument>(joined_text({"lowp::", what.c_str()}));
}
LOWP_HOST_FN void refuse_if(error_text const& what) {
  if (!what.empty()) refuse(what);
}

}  // namespace LOWP_UNIT

/// The part of an executor that answers wrong arguments: throws std::invalid_argument.
struct throwing {
  LOWP_HOST_FN static void refuse_if(error_text const& what) { detail::refuse_if(what); }
};

}  // namespace lowp::detail
