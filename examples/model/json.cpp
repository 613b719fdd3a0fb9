// SPDX-License-Identifier: Apache-2.0
#include "json.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

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

json json_of(tensor_audit const& t) {
  return {{"name", t.name},
          {"dtype", name_of(t.type)},
          {"shape", t.shape},
          {"as_it_is", json_of(t.as_it_is)},
          {"scale", t.scale},
          {"in_range_with_scale", t.with_scale.is_in_range()},
          {"with_scale", json_of(t.with_scale)}};
}

json json_of(tensor_difference const& t) {
  json all = {{"name", t.name}, {"differs_in", name_of(t.what)}};
  if (t.what == tensor_difference::kind::bytes) all["bytes"] = t.unequal;
  if (t.what != tensor_difference::kind::values) return all;
  all.update({{"count", element_count(*t.a)},
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

// Nothing but ASCII, so that no name commands a terminal. A path may be no UTF-8; names in a file always
// are.
std::string text_of(json const& j) {
  return j.dump(1, ' ', true, json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string json_of(audit const& a, verdict const& v, bool is_scaled) {
  json tensors = json::array();
  for (tensor_audit const& t : a.tensors) tensors.push_back(json_of(t));
  json const all = {{"model", a.path},
                    {"to", a.to->name},
                    {"scaled", is_scaled},
                    {"fits", v.fits},
                    {"verdict", v.text},
                    {"others", a.others.size()},
                    {"names_of_others", a.others},
                    {"as_it_is", json_of(a.as_it_is)},
                    {"with_scale", json_of(a.with_scale)},
                    {"tensors", std::move(tensors)}};
  return text_of(all);
}

std::string json_of(difference const& d) {
  json tensors = json::array();
  for (tensor_difference const& t : d.tensors) tensors.push_back(json_of(t));
  return text_of({{"equal", d.equal}, {"metadata", d.metadata}, {"tensors", std::move(tensors)}});
}
