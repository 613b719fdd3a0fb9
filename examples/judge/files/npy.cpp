// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>

#include "files/column.hpp"
#include "model/files/problem.hpp"
#include "model/files/text.hpp"

namespace judge {

namespace {

constexpr std::string_view magic = "\x93NUMPY";

[[noreturn]] void refuse(std::string const& path, std::string const& why) {
  throw problem("'" + path + "': " + why);
}

/// Returns the text after a key up to its comma or the end of its tuple.
std::string value_of_key(std::string const& path, std::string_view header, std::string_view key) {
  std::size_t at = header.find("'" + std::string(key) + "'");
  if (at == header.npos) refuse(path, "its header has no '" + std::string(key) + "'");
  at = header.find(':', at);
  at = header.find_first_not_of(" ", at == header.npos ? at : at + 1);
  if (at == header.npos) refuse(path, "its header ends after '" + std::string(key) + "'");
  std::size_t const end = header[at] == '(' ? header.find(')', at) : header.find_first_of(",}", at);
  if (end == header.npos) refuse(path, "its header ends within '" + std::string(key) + "'");
  std::string text(header.substr(at, end - at));
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

std::uint64_t count_of(std::string const& path, std::string_view shape) {
  std::uint64_t count = 1;
  if (!shape.starts_with('(')) refuse(path, "its shape is '" + std::string(shape) + "', no tuple");
  char const *at = shape.data() + 1, *const end = shape.data() + shape.size();
  while (at != end) {
    std::uint64_t n = 0;
    auto const [rest, error] = std::from_chars(at, end, n);
    if (error != std::errc() || (n != 0 && count > std::numeric_limits<std::int64_t>::max() / n))
      refuse(path, "its shape is '" + std::string(shape) + ")', which is not readable");
    count *= n;
    at = std::find_if(rest, end, [](char c) { return c != ',' && c != ' '; });
  }
  return count;
}

}  // namespace

npy read_npy_header(std::string const& path, std::span<std::byte const> bytes) {
  auto const byte = [&](std::size_t i) { return static_cast<std::size_t>(bytes[i]); };
  if (bytes.size() < 10 || std::memcmp(bytes.data(), magic.data(), magic.size()) != 0)
    refuse(path, "it does not begin as a .npy file");
  bool const is_first = byte(6) == 1;
  std::size_t const start = is_first ? 10 : 12;
  if (byte(6) < 1 || byte(6) > 3 || bytes.size() < start)
    refuse(path, "it is version " + std::to_string(byte(6)) + " of .npy; 1 to 3 are known");
  std::size_t length = byte(8) | byte(9) << 8;
  if (!is_first) length |= byte(10) << 16 | byte(11) << 24;
  if (length > bytes.size() - start)
    refuse(path, "it has " + std::to_string(bytes.size()) + " bytes, and its header needs " +
                     std::to_string(start + length) + ": it is truncated");
  std::string_view const header(reinterpret_cast<char const*>(bytes.data()) + start, length);

  npy a;
  a.descr = value_of_key(path, header, "descr");
  a.offset = start + length;
  if (value_of_key(path, header, "fortran_order") != "False")
    refuse(path, "it is in Fortran order; save numpy.ascontiguousarray(x)");
  std::string const d = a.descr.size() > 2 ? a.descr.substr(1, a.descr.size() - 2) : "";
  if (d.starts_with('>')) refuse(path, "it is big-endian (" + d + "); little-endian is due");
  if (d.size() != 3 || std::string_view("<|=").find(d[0]) == std::string_view::npos ||
      std::string_view("fiuV").find(d[1]) == std::string_view::npos ||
      std::string_view("1248").find(d[2]) == std::string_view::npos)
    refuse(path, "its elements are " + one_line(a.descr) + ", no numbers of 1, 2, 4 or 8 bytes");
  a.descr = d;
  a.kind = d[1];
  a.bytes = static_cast<unsigned>(d[2] - '0');
  a.count = count_of(path, value_of_key(path, header, "shape"));
  std::uint64_t const has = (bytes.size() - a.offset) / a.bytes;
  if (a.count != has || (bytes.size() - a.offset) % a.bytes != 0)
    refuse(path, "its shape has " + std::to_string(a.count) + " elements, and its data " +
                     std::to_string(bytes.size() - a.offset) + " bytes, " +
                     std::to_string(a.bytes) + " each");
  return a;
}

std::string npy_header(number_type const& type, std::uint64_t count) {
  bool const is_numpys = type.name == "float64" || type.name == "float32" || type.name == "float16";
  // ml_dtypes saves its own types so.
  std::string const descr = (is_numpys           ? "<f"
                             : type.bytes() == 1 ? "|V"
                                                 : "<V") +
                            std::to_string(type.bytes());
  std::string text = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" +
                     std::to_string(count) + ",), }";
  text.append(63 - (10 + text.size()) % 64, ' ') += '\n';
  std::string header(magic);
  header +=
      {'\1', '\0', static_cast<char>(text.size() % 256), static_cast<char>(text.size() / 256)};
  return header + text;
}

}  // namespace judge
