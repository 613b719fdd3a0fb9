// SPDX-License-Identifier: Apache-2.0
#include <charconv>

#include "files/column.hpp"
#include "model/files/problem.hpp"
#include "model/files/text.hpp"

namespace judge {

std::vector<std::byte> read_hex(std::string const& path, std::string_view text,
                                number_type const& due) {
  std::vector<std::byte> codes;
  std::size_t line = 1;
  auto const refuse = [&](std::string const& why) {
    throw problem("'" + path + "', line " + std::to_string(line) + ": " + why);
  };
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\n') ++line;
    if (std::string_view(" \t\r\n,").find(text[at]) != std::string_view::npos) {
      ++at;
      continue;
    }
    if (text.substr(at).starts_with("//") || text[at] == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    std::size_t const end = std::min(text.find_first_of(" \t\r\n,", at), text.size());
    std::string_view const token = text.substr(at, end - at);
    at = end;
    std::string_view digits = token;
    if (digits.starts_with('@')) digits.remove_prefix(1);
    if (digits.starts_with("0x") || digits.starts_with("0X")) digits.remove_prefix(2);
    std::uint64_t code = 0;
    auto const [rest, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (error != std::errc() || rest != digits.data() + digits.size() || digits.empty())
      refuse("'" + one_line(std::string(token)) + "' is no hex number");
    if (token.starts_with('@')) {
      if (code != codes.size() / due.bytes())
        refuse("address " + std::string(token) + " after " +
               std::to_string(codes.size() / due.bytes()) + " codes: they are due in order");
      continue;
    }
    if (code > due.code_mask())
      refuse("'" + std::string(token) + "' has more than the " + std::to_string(due.bits()) +
             " bits of " + std::string(due.name));
    for (unsigned k = 0; k < due.bytes(); ++k)
      codes.push_back(static_cast<std::byte>(code >> (8 * k)));
  }
  return codes;
}

}  // namespace judge
