// SPDX-License-Identifier: Apache-2.0
#include "pages/json.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace {

// In the order in which they are written here.
using json = nlohmann::ordered_json;

json json_of(figures const& f) {
  json exponents = json::object();
  for (std::size_t i = 0; i < f.exponents.size(); ++i)
    if (f.exponents[i] != 0)
      exponents[fmt::format("{}", f.lowest + static_cast<int>(i))] = f.exponents[i];
  return {{"count", f.count},
          {"zeros", f.zeros},
          {"nan", f.nan},
          {"infinite", f.infinite},
          {"overflow", f.overflow},
          {"subnormal", f.subnormal},
          {"flushed", f.flushed},
          {"min_abs", f.min_abs},
          {"max_abs", f.max_abs},
          {"max_relative_error", f.max_relative_error},
          {"mean_square_error", f.mean_square_error},
          {"exponents", std::move(exponents)}};
}

json json_of(lowp::quantization_report const& r) {
  return {{"clipped", r.clipped},
          {"zero_blocks", r.zero_blocks},
          {"saturated_scales", r.saturated_scales},
          {"underflowed_scales", r.underflowed_scales},
          {"nonfinite_blocks", r.nonfinite_blocks}};
}

json json_of(tensor_audit const& t) {
  json all = {{"name", t.of->name()},
              {"dtype", t.of->type_text()},
              {"shape", t.of->tensor->shape},
              {"as_it_is", json_of(t.as_it_is())},
              {"scale", t.scale},
              {"in_range_with_scale", t.with_scale().is_in_range()},
              {"with_scale", json_of(t.with_scale())}};
  if (t.blocks) all["blocks"] = json_of(*t.blocks);
  return all;
}

json json_of(tensor_difference const& t) {
  json all = {{"name", t.name()}, {"differs_in", name_of(t.what)}};
  if (t.what == tensor_difference::kind::bytes) all["bytes"] = t.unequal;
  if (t.what != tensor_difference::kind::values) return all;
  all.update({{"count", t.a->count()},
              {"unequal", t.unequal},
              {"ulps_of", name_of(t.ulps_of)},
              {"largest", t.largest},
              {"mean", t.mean},
              {"at", nullptr},
              {"values", nullptr},
              {"not_finite", t.not_finite}});
  if (t.finite_unequal() != 0) {
    all["at"] = t.at;
    all["values"] = {t.value_a, t.value_b};
  }
  return all;
}

json json_of(std::string_view text) { return text; }

// Nothing but ASCII, so that no name commands a terminal. A path may be no UTF-8; names in a file
// always are.
std::string text_of(json const& j) { return j.dump(-1, ' ', true, json::error_handler_t::replace); }

void write_member(char const* before, std::string_view key, json const& value, sink const& to) {
  to(fmt::format("{}\n \"{}\": {}", before, key, text_of(value)));
}

// A line for each element.
template <class List>
void write_list(std::string_view key, List const& list, sink const& to) {
  to(fmt::format(",\n \"{}\": [", key));
  char const* before = "\n  ";
  for (auto const& each : list) to(std::exchange(before, ",\n  ") + text_of(json_of(each)));
  to("\n ]");
}

}  // namespace

void write_json(audit const& a, verdict const& v, bool is_scaled, sink const& to) {
  write_member("{", "model", a.path, to);
  write_member(",", "to", a.to->name, to);
  write_member(",", "scaled", is_scaled, to);
  write_member(",", "fits", v.fits, to);
  write_member(",", "verdict", v.text, to);
  write_member(",", "others", a.others.size(), to);
  write_list("names_of_others", a.others, to);
  write_member(",", "as_it_is", json_of(a.as_it_is), to);
  write_member(",", "with_scale", json_of(a.with_scale), to);
  if (a.to->blocks != nullptr) write_member(",", "blocks", json_of(a.blocks), to);
  write_list("tensors", a.tensors, to);
  to("\n}\n");
}

void write_json(difference const& d, sink const& to) {
  write_member("{", "equal", d.equal, to);
  write_list("metadata", d.metadata, to);
  write_list("tensors", d.tensors, to);
  to("\n}\n");
}
