// SPDX-License-Identifier: Apache-2.0
// Makes text from an untrusted file fit for a terminal.
#pragma once

#include <lowp/base/config.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace lowp::safetensors::detail::inline LOWP_UNIT {

struct character {
  char32_t code = 0;
  std::size_t bytes = 0;  ///< 0 if there is no character
};

/// Returns the first character of a text, not empty, if it is well-formed (Unicode 15, table 3-7).
inline character first_character(std::string_view text) {
  auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned const lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  std::size_t const bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  char32_t code = lead & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3fU);
  }
  constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  bool const is_surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < least[bytes] || is_surrogate || code > 0x10ffff) return {};
  return {code, bytes};
}

/// Returns true if the character shows as itself, and does not turn the direction of the text.
inline bool is_shown(char32_t code) {
  constexpr struct {
    char32_t first, last;
  } invisible[] = {{0, 0x1f},        {0x7f, 0x9f},      {0x61c, 0x61c},   {0x180e, 0x180e},
                   {0x200b, 0x200f}, {0x2028, 0x202e},  {0x2060, 0x206f}, {0xfeff, 0xfeff},
                   {0xfff9, 0xfffb}, {0xe0000, 0xe0fff}};
  return std::ranges::none_of(
      invisible, [&](auto const& range) { return code >= range.first && code <= range.last; });
}

/// Returns pieces between which a line may be cut: characters, and escapes for all others.
inline std::vector<std::string> printable_pieces(std::string_view text) {
  constexpr char digit[] = "0123456789abcdef";
  std::vector<std::string> pieces;
  while (!text.empty()) {
    character const next = first_character(text);
    std::size_t const bytes = std::max<std::size_t>(next.bytes, 1);
    std::string piece(text.substr(0, bytes));
    if (next.bytes == 0 || !is_shown(next.code)) {
      piece.clear();
      for (char const c : text.substr(0, bytes)) {
        auto const byte = static_cast<unsigned char>(c);
        (piece += "\\x") += {digit[byte >> 4], digit[byte & 15]};
      }
    }
    pieces.push_back(std::move(piece));
    text.remove_prefix(bytes);
  }
  return pieces;
}

/// Returns at most `most` bytes of the text, and "..." if there are more.
inline std::string printable(std::string_view text, std::size_t most = 200) {
  std::string_view head = text.substr(0, most);
  // Cuts before a character, not within one.
  if (text.size() > most)
    for (int i = 0; i < 3 && (static_cast<unsigned char>(text[head.size()]) & 0xc0) == 0x80; ++i)
      head.remove_suffix(1);
  std::string out;
  for (std::string const& piece : printable_pieces(head)) out += piece;
  return out + (head.size() < text.size() ? "..." : "");
}

}  // namespace lowp::safetensors::detail::inline LOWP_UNIT
