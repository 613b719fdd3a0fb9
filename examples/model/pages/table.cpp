// SPDX-License-Identifier: Apache-2.0
#include "pages/table.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "files/text.hpp"

namespace {

constexpr std::size_t most_others = 5;

std::string shown_scale(tensor_audit const& t) {
  std::string text = shown_power(t.scale);
  figures const& f = t.with_scale();
  if (t.scale != 1 && f.overflow != 0) text += fmt::format(", {} overflow", f.overflow);
  if (f.flushed != 0) text += fmt::format(", {} flushed", f.flushed);
  return text;
}

// Columns that only a model with such values has.
struct special_columns {
  explicit special_columns(figures const& all) : infinite(all.infinite != 0), nan(all.nan != 0) {}

  void add(std::vector<std::string>& row, std::string of_infinite, std::string of_nan) const {
    if (infinite) row.push_back(std::move(of_infinite));
    if (nan) row.push_back(std::move(of_nan));
  }
  bool infinite, nan;
};

std::vector<std::string> row(std::string name, std::string type, figures const& f,
                             special_columns const& special, std::string scale) {
  std::vector<std::string> cells{
      std::move(name),         std::move(type),         fmt::format("{}", f.count),
      shown_number(f.min_abs), shown_number(f.max_abs), shown_count(f.overflow),
      shown_count(f.flushed),  shown_count(f.subnormal)};
  special.add(cells, shown_count(f.infinite), shown_count(f.nan));
  cells.insert(cells.end(), {shown_number(f.max_relative_error), std::move(scale)});
  return cells;
}

}  // namespace

void write_table(audit const& a, std::size_t top, sink const& to) {
  std::size_t const all = a.tensors.size(), shown = top == 0 ? all : std::min(top, all);
  special_columns const special(a.as_it_is);
  std::vector<std::string> head{"tensor",  "type",     "elements", "least",
                                "largest", "overflow", "flushed",  "subnormal"};
  special.add(head, "infinite", "NaN");
  head.insert(head.end(), {"error", "scale"});
  std::vector<std::vector<std::string>> foot;
  if (shown < all) foot.push_back({fmt::format("... and {} more (--top 0)", all - shown)});
  foot.push_back(row(fmt::format("all {}", all), "", a.as_it_is, special, ""));
  write_aligned(
      1 + shown + foot.size(),
      [&](std::size_t i) {
        if (i == 0) return head;
        if (i > shown) return foot[i - 1 - shown];
        tensor_audit const& t = a.tensors[i - 1];
        return row(shown_name(t.of->name(), name_width), t.of->type_text(), t.as_it_is(), special,
                   shown_scale(t));
      },
      to);
  std::string text;
  if (!a.others.empty())
    text +=
        fmt::format("{} stay{} as {}\n", counted(a.others.size(), "tensor"),
                    a.others.size() == 1 ? "s" : "", a.others.size() == 1 ? "it is" : "they are");
  text += fmt::format(
      "\n{}: largest {:.6g}, smallest normal {:.4g}, smallest {:.4g}\n"
      "error: the largest relative one, 1 where a value is flushed\n"
      "scale: the power of two for each tensor with which nothing overflows and least is flushed\n",
      a.to->name, a.to->facts.largest, a.to->facts.smallest_normal, a.to->facts.smallest);
  if (a.to->blocks != nullptr)
    text += fmt::format(
        "overflow: values beyond the largest code at the scale of their block\n"
        "{} blocks of {}: {} of zeros, {} with an infinity or NaN, {} that need a larger scale, "
        "{} whose scale is zero\n",
        a.as_it_is.count / a.to->blocks->size, a.to->blocks->size, a.blocks.zero_blocks,
        a.blocks.nonfinite_blocks, a.blocks.saturated_scales, a.blocks.underflowed_scales);
  if (special.infinite || special.nan) text += "infinite, NaN: values that are so already\n";
  if (!a.others.empty())
    text += fmt::format("as they are: {}\n", shown_names(a.others, most_others));
  to(text);
}
