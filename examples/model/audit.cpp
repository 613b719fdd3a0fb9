// SPDX-License-Identifier: Apache-2.0
#include "audit.hpp"

#include <algorithm>
#include <tuple>

#include "selection.hpp"

namespace {

struct totals {
  tensor_census as_it_is, with_scale;
};

tensor_audit take(model const& from, model::entry const& of, target const& to, totals& all,
                  progress& bar) {
  tensor_census const plain = census_of(from, of, to, 1, bar);
  float const scale =
      to.blocks == nullptr && may_gain(plain.counts) ? to.scale(plain.counts.max_abs) : 1;
  tensor_census scaled = plain;
  if (scale != 1) {
    bar.expect(of.bytes());
    scaled = census_of(from, of, to, scale, bar);
  }
  all.as_it_is += plain;
  all.with_scale += scaled;
  tensor_audit result{&of, scale, {}, {}};
  if (to.blocks != nullptr) result.blocks = plain.blocks;
  result.found.reserve(scale == 1 ? 1 : 2);
  result.found.emplace_back(plain);
  if (scale != 1) result.found.emplace_back(scaled);
  return result;
}

auto badness(tensor_audit const& t) {
  figures const& f = t.as_it_is();
  auto const share = [&](std::uint64_t part) {
    return f.count == 0 ? 0 : static_cast<double>(part) / static_cast<double>(f.count);
  };
  return std::tuple(share(f.overflow), f.share_flushed(), share(f.subnormal), f.max_relative_error);
}

}  // namespace

audit take_audit(model const& of, plan const& what, progress& bar) {
  selection const chosen(what);
  audit result{what.to, of.path(), {}, {}, {}, {}, {}};
  totals all;
  for (model::entry const& each : of.entries())
    if (chosen.has(each)) bar.expect(each.bytes());
  for (model::entry const& each : of.entries()) {
    if (chosen.has(each))
      result.tensors.push_back(take(of, each, *what.to, all, bar));
    else
      result.others.push_back(each.name());
  }
  std::stable_sort(result.tensors.begin(), result.tensors.end(),
                   [](auto& a, auto& b) { return badness(a) > badness(b); });
  result.as_it_is = figures(all.as_it_is);
  result.with_scale = figures(all.with_scale);
  result.blocks = all.as_it_is.blocks;
  return result;
}
