// SPDX-License-Identifier: Apache-2.0
#include "pages/page.hpp"

#include <fmt/core.h>

#include <lowp/io/safetensors/header.hpp>

#include "files/text.hpp"
#include "pages/histogram.hpp"

namespace {

constexpr char const* style = R"(
body{font:15px/1.4 sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#202020;background:#fff}
section{border-top:1px solid #ddd;padding:.6em 0}
h2{font-size:1em;margin:0;overflow-wrap:anywhere}
p{margin:.2em 0}
svg{width:100%;max-width:52em;display:block}
.yes{color:#1a6b2f}.no{color:#a3201d}
.legend span{padding:.1em .5em;margin-right:.6em}
)";

// No control character of a name reaches the page.
std::string shown(std::string const& text) {
  return escaped(lowp::safetensors::detail::printable(text));
}

std::string shown_heading(std::string const& name) {
  return name.empty() ? escaped("\"\"") : shown(name);
}

std::string lost(figures const& f) {
  std::string words;
  auto const add = [&](std::uint64_t many, char const* what) {
    if (many != 0) words += fmt::format("{}{} {}", words.empty() ? "" : ", ", many, what);
  };
  add(f.overflow, "overflow");
  add(f.flushed, "flushed");
  add(f.subnormal, "subnormal");
  add(f.infinite, "infinite");
  add(f.nan, "NaN");
  return words.empty() ? "nothing lost" : words;
}

std::string section(std::string const& heading, std::string const& about, figures const& f,
                    target const& to, exponent_range const& shown_exponents,
                    std::string const& title) {
  return fmt::format(
             "<section>\n<h2>{}</h2>\n<p>{} elements, {} zero, from {} to {}; <span "
             "class=\"{}\">{}</span>; largest relative error {}{}</p>\n",
             heading, f.count, f.zeros, shown_number(f.min_abs), shown_number(f.max_abs),
             f.is_in_range() ? "yes" : "no", lost(f), shown_number(f.max_relative_error), about) +
         histogram_of(f, to.facts, shown_exponents, title) + "</section>\n";
}

std::string about_scale(tensor_audit const& t) {
  if (t.scale == 1) return "";
  return fmt::format("; with the scale {}: {}", shown_power(t.scale), lost(t.with_scale()));
}

}  // namespace

void write_page(audit const& a, verdict const& v, sink const& to) {
  exponent_range const exponents = range_of(a.as_it_is, a.to->facts);
  to(fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n"
      "<title>{0} as {1}</title>\n<style>{2}</style>\n</head>\n<body>\n"
      "<h1>{0} as {1}</h1>\n<p class=\"{3}\">{4}</p>\n"
      "<p>How many numbers there are of each binary exponent, on a logarithmic scale, and what "
      "becomes of them in {1}:</p>\n<p class=\"legend\">"
      "<span style=\"background:#f3c6bd\">flushed to zero</span>"
      "<span style=\"background:#f8e7b5\">subnormal</span>"
      "<span style=\"background:#d9ecd9\">normal</span>"
      "<span style=\"background:#e8b4c8\">overflow</span></p>\n",
      shown(a.path), a.to->name, style, v.fits ? "yes" : "no", escaped(v.text)));
  to(section("all " + counted(a.tensors.size(), "tensor"), "", a.as_it_is, *a.to, exponents,
             "all tensors"));
  for (tensor_audit const& t : a.tensors) {
    lowp::safetensors::tensor const& of = *t.of->tensor;
    to(section(
        shown_heading(of.name) + " " + shown(lowp::safetensors::detail::shown(of.type, of.shape)),
        about_scale(t), t.as_it_is(), *a.to, exponents,
        lowp::safetensors::detail::printable(of.name)));
  }
  to("</body>\n</html>\n");
}
