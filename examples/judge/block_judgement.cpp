// SPDX-License-Identifier: Apache-2.0
#include "block_judgement.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <functional>
#include <lowp/quantization/scale_tiles.hpp>
#include <optional>
#include <utility>

#include "files/column.hpp"
#include "judgement.hpp"
#include "model/files/problem.hpp"
#include "recipes.hpp"
#include "rounding.hpp"

namespace judge {

namespace {

/// The place of a code or a scale in its file.
struct layout {
  std::string text;
  std::function<std::uint64_t(column const&, std::size_t i)> at;
};

std::vector<layout> layouts_of_codes(std::size_t elements, number_type const& element,
                                     column const& codes) {
  unsigned const bits = element.bits();
  for (std::uint64_t i = 0; i < elements && codes.size() == elements; ++i)
    if (codes[i] > element.code_mask())
      throw problem("'" + codes.path() + "': element " + std::to_string(i) + " is " +
                    std::to_string(codes[i]) + ", and a code of " + std::string(element.name) +
                    " is at most " + std::to_string(element.code_mask()));
  if (codes.size() == elements)
    return {{"a byte each", [](column const& c, std::size_t i) { return c[i]; }}};
  if (bits == 4 && codes.size() == elements / 2)
    return {{"two in a byte, the first in its low bits",
             [](column const& c, std::size_t i) { return c[i / 2] >> (i % 2 * 4) & 15; }},
            {"two in a byte, the first in its high bits",
             [](column const& c, std::size_t i) { return c[i / 2] >> ((1 - i % 2) * 4) & 15; }},
            {"two in a byte, elements j and j + 16 of 32", [](column const& c, std::size_t i) {
               return c[i / 32 * 16 + i % 16] >> (i % 32 / 16 * 4) & 15;
             }}};
  throw problem("'" + codes.path() + "' has " + std::to_string(codes.size()) + " bytes, and " +
                std::to_string(elements) + " codes " +
                (bits == 4 ? "are due, or two in each byte" : "are due"));
}

std::vector<layout> layouts_of_scales(std::size_t rows, std::size_t across, column const& scales) {
  std::vector<layout> all;
  if (scales.size() == rows * across) {
    all.push_back({"row by row", [](column const& c, std::size_t b) { return c[b]; }});
    all.push_back({"column by column", [=](column const& c, std::size_t b) {
                     return c[b % across * rows + b / across];
                   }});
  }
  if (scales.size() == lowp::scale_tiles_size(rows, across))
    all.push_back(
        {"tiles of 128 rows and 4 columns, as of cuBLAS", [=](column const& c, std::size_t b) {
           return c[lowp::scale_tiles_place(b / across, b % across, across)];
         }});
  if (all.empty())
    throw problem("'" + scales.path() + "' has " + std::to_string(scales.size()) + " scales, and " +
                  std::to_string(rows * across) + " are due, or " +
                  std::to_string(lowp::scale_tiles_size(rows, across)) + " in tiles");
  return all;
}

/// Returns a number with as many digits as a text has.
std::string to_digits_of(std::string_view text, float x) {
  text = text.substr(0, text.find_first_of("eE"));
  text.remove_prefix(std::min(text.find_first_of("123456789"), text.size()));
  auto const digits = text.size() - static_cast<std::size_t>(std::ranges::count(text, '.'));
  char number[40];
  std::snprintf(number, sizeof number, "%.*e",
                std::max(std::min<int>(static_cast<int>(digits), 9), 1) - 1,
                static_cast<double>(x));
  return number;
}

std::optional<float> tensor_scale_of(std::string const& text) {
  if (text.empty()) return {};
  float x = 0;
  auto const [rest, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (error != std::errc() || rest != text.data() + text.size() || !std::isfinite(x))
    throw problem("--tensor-scale '" + text + "' is no finite number");
  return x;
}

/// Returns the rows of a tile that shares a scale, by the recipe's name: 16 of "..._16x16".
std::size_t rows_of_tile(std::string_view name) {
  std::size_t const end = name.rfind('x');
  if (end == name.npos) return 1;
  name = name.substr(0, end);
  name.remove_prefix(name.find_last_not_of("0123456789") + 1);
  std::size_t rows = 1;
  std::from_chars(name.data(), name.data() + name.size(), rows);
  return rows;
}

struct answer {
  named_recipe const* recipe;
  quantized_tensor right;
  layout const *codes, *scales;
  std::uint64_t wrong_codes = 0, wrong_scales = 0;

  [[nodiscard]] std::uint64_t wrong() const { return wrong_codes + 16 * wrong_scales; }
};

std::string first_differences(answer const& a, recipe_family const& f, column const& codes,
                              column const& scales) {
  number_type const &element = type_named(f.element), &scale = type_named(f.scale);
  std::string text;
  int left = 3;
  auto const add = [&](std::string const& what, number_type const& t, std::uint64_t is,
                       std::uint64_t right) {
    if (is != right && left-- > 0)
      text += "  " + what + " is " + shown(t, is) + "; right is " + shown(t, right) + "\n";
  };
  for (std::size_t b = 0; b < a.right.scales.size() && left > 0; ++b)
    add("scale " + std::to_string(b), scale, a.scales->at(scales, b), a.right.scales[b]);
  for (std::size_t i = 0; i < a.right.codes.size() && left > 0; ++i)
    add("element " + std::to_string(i), element, a.codes->at(codes, i), a.right.codes[i]);
  return text;
}

}  // namespace

block_verdict judge_blocks(blocks_options const& o) {
  recipe_family const& f = family_named(o.to);
  static number_type const byte{"uint8", {4, 3, 7}, nullptr};
  column const in = read_numbers(o.in, type_named("float32"));
  column const codes = read_numbers(o.codes, byte);
  column const scales = read_numbers(o.scales, type_named(f.scale));
  std::optional<float> const tensor_scale = tensor_scale_of(o.tensor_scale);
  std::size_t const columns = o.columns != 0 ? o.columns : input_columns;
  if (in.size() == 0 || columns % f.block != 0 || in.size() % columns != 0)
    throw problem("'" + o.in + "' has " + std::to_string(in.size()) + " numbers: no rows of " +
                  std::to_string(columns) + ", or these are no whole blocks of " +
                  std::to_string(f.block));
  std::vector<float> x(in.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = std::bit_cast<float>(static_cast<std::uint32_t>(in[i]));
    if (!std::isfinite(x[i]))
      throw problem("'" + o.in + "': element " + std::to_string(i) +
                    " is not finite; what packages make of it is not promised");
  }
  std::size_t const rows = x.size() / columns, across = columns / f.block;
  auto const of_codes = layouts_of_codes(x.size(), type_named(f.element), codes);
  auto const of_scales = layouts_of_scales(rows, across, scales);

  std::optional<answer> best;
  std::string exact;
  for (named_recipe const& r : f.recipes) {
    if (rows % rows_of_tile(r.name) != 0) continue;
    quantized_tensor const right = r.quantize(x, columns);
    bool is_exact = false;  // constant codes have several layouts
    for (layout const& c : of_codes)
      for (layout const& s : of_scales) {
        answer a{&r, right, &c, &s};
        for (std::size_t b = 0; b < right.scales.size(); ++b)
          a.wrong_scales += s.at(scales, b) != right.scales[b];
        for (std::size_t i = 0; i < x.size(); ++i)
          a.wrong_codes += c.at(codes, i) != right.codes[i];
        if (a.wrong() == 0 && !std::exchange(is_exact, true))
          exact += "  " + std::string(r.name) + " (" + r.whose + ")\n";
        if (!best || a.wrong() < best->wrong()) best = a;
      }
  }
  block_verdict v{best->wrong() == 0, ""};
  std::string const head =
      grouped(x.size()) + " numbers in blocks of " + std::to_string(f.block) + " as " + o.to + ": ";
  if (v.is_named)
    v.text = head + "scales and codes are those of\n" + exact;
  else
    v.text = head + "no recipe gives these. The nearest one differs in " +
             grouped(best->wrong_scales) + " scales and " + grouped(best->wrong_codes) +
             " codes:\n  " + std::string(best->recipe->name) + " (" + best->recipe->whose + ")\n" +
             first_differences(*best, f, codes, scales);
  v.text += "  codes: " + best->codes->text + "; scales: " + best->scales->text + "\n";
  float const due = best->right.tensor_scale;
  if (tensor_scale) {
    auto const is = [&](float y) {
      return to_digits_of(o.tensor_scale, *tensor_scale) == to_digits_of(o.tensor_scale, y);
    };
    bool const is_it = is(due), is_reciprocal = is(1 / due);
    char number[40];
    std::snprintf(number, sizeof number, "%.9g", static_cast<double>(due));
    v.text += std::string("  tensor scale: ") +
              (is_it           ? "the recipe's"
               : is_reciprocal ? "the reciprocal of the recipe's"
                               : "not the recipe's, " + std::string(number)) +
              "\n";
    v.is_named = v.is_named && (is_it || is_reciprocal);
  }
  return v;
}

}  // namespace judge
