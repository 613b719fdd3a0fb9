// SPDX-License-Identifier: Apache-2.0
#include "vectors.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "files/column.hpp"
#include "inputs.hpp"
#include "judgement.hpp"
#include "model/files/problem.hpp"
#include "program.hpp"
#include "rounding.hpp"

namespace judge {

namespace {

namespace fs = std::filesystem;

/// TestFloat's flags: 1 inexact, 2 underflow (tiny after rounding), 4 overflow, 16 invalid.
unsigned flags_of(number_type const& from, number_type const& to, std::uint64_t code, mode m) {
  exact const x = decode(from, code);
  if (x.what == kind::nan) {
    bool const is_quiet = x.payload >> 63 != 0;
    return is_quiet ? 0 : 16;
  }
  rounded const r = round_to(to, x, m);
  if (x.what != kind::finite) return 0;
  if (r.what == rounded::outcome::below) return 16;
  place const at = locate(to, x);
  bool const is_beyond = r.what == rounded::outcome::beyond || at.code > to.largest_code() ||
                         (at.code == to.largest_code() && moves_away(m, x.is_negative, at));
  if (is_beyond) return 4 | 1;
  bool const is_tiny =
      at.code + (moves_away(m, x.is_negative, at) ? 1 : 0) < to.least_normal_code();
  return at.is_exact ? 0 : is_tiny ? 2 | 1 : 1;
}

/// Inputs of a file: those of `inputs`, for 16 bits every 61st of them.
std::vector<std::uint64_t> inputs_of(number_type const& from, number_type const& to) {
  auto const all = inputs_for(from, to);
  if (to.bits() <= 8) return all;
  std::vector<std::uint64_t> some;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (i % 61 == 0 || decode(from, all[i]).what != kind::finite) some.push_back(all[i]);
  return some;
}

void append_hex(std::string& text, std::uint64_t code, unsigned bits) {
  for (int shift = static_cast<int>(bits + 3) / 4 * 4 - 4; shift >= 0; shift -= 4)
    text += "0123456789ABCDEF"[code >> shift & 15];
}

}  // namespace

std::string write_vectors(std::string const& folder) {
  std::error_code ignored;
  if (fs::exists(folder, ignored) &&
      (!fs::is_directory(folder, ignored) || !fs::is_empty(folder, ignored)))
    throw problem("'" + folder + "' is there, and is no empty folder");
  fs::path const target(folder), part(folder + ".part");
  fs::remove_all(part);
  if (!fs::create_directories(part)) throw problem("cannot make '" + part.string() + "'");
  struct removal {
    fs::path path;
    ~removal() {
      std::error_code none;
      fs::remove_all(path, none);
    }
  } const of_part{part};

  number_type const& from = type_named("float32");
  std::string manifest = "{\n  \"from\": \"float32\",\n  \"files\": [";
  std::uint64_t files = 0;
  for (number_type const& to : all_types()) {
    if (to.bits() > 16) continue;
    auto const inputs = inputs_of(from, to);
    for (int m = 0; m < modes_of_library; ++m) {
      if (stop) throw interruption();
      lowp::overflow const policy = lowp::default_overflow_of(to.format);
      std::string text;
      for (std::uint64_t const x : inputs) {
        append_hex(text, x, from.bits());
        append_hex(text += ' ', converted(to, decode(from, x), static_cast<mode>(m), policy),
                   to.bits());
        append_hex(text += ' ', flags_of(from, to, x, static_cast<mode>(m)), 8);
        text += '\n';
      }
      std::string const mode_name(m == 2 ? "toward_zero" : name_of(static_cast<mode>(m)));
      std::string const name = "float32_to_" + std::string(to.name) + "_" + mode_name + ".txt";
      write_text((part / name).string(), text);
      manifest += std::string(files++ == 0 ? "" : ",") + "\n    {\"file\": \"" + name +
                  "\", \"to\": \"" + std::string(to.name) + "\", \"mode\": \"" + mode_name +
                  "\", \"overflow\": \"" +
                  (policy == lowp::overflow::saturate ? "saturate" : "infinity") +
                  "\", \"lines\": " + std::to_string(inputs.size()) + ", \"sha256\": \"" +
                  sha256(text) + "\"}";
    }
  }
  write_text((part / "manifest.json").string(), manifest + "\n  ]\n}\n");
  if (fs::exists(target)) fs::remove(target);
  fs::rename(part, target);
  return folder + ": " + grouped(files) + " files and manifest.json\n";
}

}  // namespace judge
