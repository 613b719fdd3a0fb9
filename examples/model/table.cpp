// SPDX-License-Identifier: Apache-2.0
#include "table.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "text.hpp"

namespace {

constexpr std::size_t name_width = 48;

std::string shown_scale(tensor_audit const& t) {
  std::string text = shown_power(t.scale);
  if (t.scale != 1 && t.with_scale.overflow != 0)
    text += fmt::format(", {} overflow", t.with_scale.overflow);
  if (t.with_scale.flushed != 0) text += fmt::format(", {} flushed", t.with_scale.flushed);
  return text;
}

std::vector<std::string> row(std::string name, std::string type, figures const& f,
                             std::string scale) {
  return {std::move(name),         std::move(type),          fmt::format("{}", f.count),
          shown_number(f.min_abs), shown_number(f.max_abs),  shown_count(f.overflow),
          shown_count(f.flushed),  shown_count(f.subnormal), shown_number(f.max_relative_error),
          std::move(scale)};
}

}  // namespace

std::string table_of(audit const& a, std::size_t top) {
  std::size_t const shown = top == 0 ? a.tensors.size() : std::min(top, a.tensors.size());
  std::vector<std::vector<std::string>> rows{{"tensor", "type", "elements", "least", "largest",
                                              "overflow", "flushed", "subnormal", "error",
                                              "scale"}};
  for (std::size_t i = 0; i < shown; ++i) {
    tensor_audit const& t = a.tensors[i];
    rows.push_back(row(shown_name(t.name, name_width), std::string(name_of(t.type)), t.as_it_is,
                       shown_scale(t)));
  }
  if (shown < a.tensors.size())
    rows.push_back({fmt::format("... and {} more (--top 0)", a.tensors.size() - shown)});
  rows.push_back(row(fmt::format("all {}", a.tensors.size()), "", a.as_it_is, ""));
  std::string text = aligned(rows);
  if (a.others != 0)
    text += fmt::format("{} tensor{} stay{} as {}\n", a.others, a.others == 1 ? "" : "s",
                        a.others == 1 ? "s" : "", a.others == 1 ? "it is" : "they are");
  text += fmt::format(
      "\n{}: largest {:.6g}, smallest normal {:.4g}, smallest {:.4g}\n"
      "error: the largest relative one, 1 where a value is flushed\n"
      "scale: the power of two for each tensor with which nothing overflows and least is flushed\n",
      a.to->name, a.to->facts.largest, a.to->facts.smallest_normal, a.to->facts.smallest);
  return text;
}
