// SPDX-License-Identifier: Apache-2.0
// What is wrong with the arguments of a call, as text. Text and not an exception, because some callers
// build without those.
#pragma once

#include <lowp/raise.hpp>

#include <cstddef>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>

namespace lowp::detail {

inline namespace LOWP_UNIT {

/// Empty if nothing is wrong. Its members are calls, so that checks that pass cost little code.
class problem : public std::string {
 public:
  problem() = default;
  LOWP_COLD problem(char const* text) : std::string(text) {}
  LOWP_COLD problem(std::string&& text) : std::string(std::move(text)) {}
  LOWP_COLD problem(std::string const& text) : std::string(text) {}
  LOWP_COLD problem(problem const& other) : std::string(other) {}
  LOWP_COLD problem(problem&& other) noexcept : std::string(std::move(other)) {}
  LOWP_COLD problem& operator=(problem const& other) {
    std::string::operator=(other);
    return *this;
  }
  LOWP_COLD problem& operator=(problem&& other) noexcept {
    std::string::operator=(std::move(other));
    return *this;
  }
  LOWP_COLD ~problem() {}
};

/// Characters or a number.
struct text_piece {
  char const* text;
  std::size_t number = 0;

  LOWP_HOST_FN text_piece(char const* characters) : text(characters) {}
  LOWP_HOST_FN text_piece(std::size_t n) : text(nullptr), number(n) {}
};

LOWP_COLD inline std::string joined_text(std::initializer_list<text_piece> pieces) {
  std::string text;
  for (text_piece const& piece : pieces) {
    if (piece.text != nullptr)
      text += piece.text;
    else
      text += std::to_string(piece.number);
  }
  return text;
}

[[noreturn]] LOWP_COLD inline void refuse(problem const& what) {
  raise<std::invalid_argument>("lowp::" + what);
}
LOWP_HOST_FN void refuse_if(problem const& what) {
  if (!what.empty()) refuse(what);
}

}  // namespace LOWP_UNIT

}  // namespace lowp::detail
