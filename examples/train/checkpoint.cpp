// SPDX-License-Identifier: Apache-2.0
#include "checkpoint.hpp"

#include <fmt/core.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "problem.hpp"

namespace {

// Numbers are written as they are in memory. In a file from a machine with the other byte order the
// magic number is reversed, so it is refused.
constexpr std::uint64_t magic = 0x31'74'70'6b'63'70'6c'00;
constexpr std::size_t number_size = sizeof(std::uint64_t);

// FNV-1a (G. Fowler, L. C. Noll, K.-P. Vo, D. Eastlake, 2019): enough against accidents.
std::uint64_t checksum(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (char const c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

void append(std::string& to, std::uint64_t number) {
  to.append(reinterpret_cast<char const*>(&number), number_size);
}
void append(std::string& to, std::string_view text) {
  append(to, text.size());
  to.append(text);
}

// Takes apart what append() put together. Checks sizes even though the checksum was right: a file
// made with ill intent must not read beyond its end either.
class reader {
 public:
  explicit reader(std::string_view bytes) : rest_(bytes) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    std::memcpy(&value, take(number_size).data(), number_size);
    return value;
  }
  std::string text() { return std::string(take(number())); }
  bool is_at_end() const { return rest_.empty(); }

 private:
  std::string_view take(std::uint64_t size) {
    if (size > rest_.size()) throw problem("a size in it is too large");
    std::string_view const taken = rest_.substr(0, static_cast<std::size_t>(size));
    rest_.remove_prefix(taken.size());
    return taken;
  }

  std::string_view rest_;
};

checkpoint from_bytes(std::string_view bytes) {
  if (bytes.size() < number_size || reader(bytes).number() != magic)
    throw problem("it is not a checkpoint of this program");
  if (bytes.size() < 2 * number_size || reader(bytes.substr(bytes.size() - number_size)).number() !=
                                            checksum(bytes.substr(0, bytes.size() - number_size)))
    throw problem("it is cut short or damaged");

  reader in(bytes.substr(0, bytes.size() - number_size));
  in.number();
  checkpoint c;
  c.seed = in.number();
  c.vocabulary = in.text();
  while (!in.is_at_end()) {
    checkpoint::entry& e = c.entries.emplace_back();
    e.mode = in.text();
    e.step = in.number();
    e.state = in.text();
  }
  if (c.entries.empty()) throw problem("there is no mode in it");
  return c;
}

}  // namespace

checkpoint::entry const& checkpoint::at(std::string_view mode) const {
  std::string known;
  for (entry const& e : entries) {
    if (e.mode == mode) return e;
    known.append(known.empty() ? "" : ", ").append(e.mode);
  }
  throw problem(
      fmt::format("the checkpoint has no mode '{}': choose among {} with --modes", mode, known));
}

std::string to_bytes(checkpoint const& c) {
  std::string bytes;
  append(bytes, magic);
  append(bytes, c.seed);
  append(bytes, c.vocabulary);
  for (checkpoint::entry const& e : c.entries) {
    append(bytes, e.mode);
    append(bytes, e.step);
    append(bytes, e.state);
  }
  append(bytes, checksum(bytes));
  return bytes;
}

checkpoint read_checkpoint(std::string const& path) {
  try {
    std::ifstream file(path, std::ios::binary);
    if (!file || std::filesystem::is_directory(path)) throw problem("it is not a readable file");
    return from_bytes(std::string(std::istreambuf_iterator<char>(file), {}));
  } catch (problem const& p) {
    throw problem(fmt::format("cannot resume from '{}': {}; name a file that --checkpoint wrote",
                              path, p.what()));
  }
}
