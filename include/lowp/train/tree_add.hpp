// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/ops/fused_add.hpp>
#include <lowp/ops/lists.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lowp::detail {

inline namespace LOWP_UNIT {

template <class Model, class Updates>
error_text unlike(Model const& model, Updates const& updates) {
  auto const tensors = std::ranges::distance(model), others = std::ranges::distance(updates);
  if (tensors != others)
    return "tree_add: the model has " + std::to_string(tensors) + " tensors, the updates have " +
           std::to_string(others);
  std::uint32_t number = 0;
  auto u = std::ranges::begin(updates);
  for (auto const& p : model) {
    if (!p.name.empty() && !(*u).name.empty() && p.name != (*u).name)
      return "tree_add: tensor " + std::to_string(number) + " is " + tensor_text(model, number) +
             " in the model and " + tensor_text(updates, number) + " in the updates";
    ++number;
    ++u;
  }
  return {};
}

}  // namespace LOWP_UNIT

/// Calls `fused_add` for each tensor. Returns the error text of the first refused call.
template <class Executor, class Model, class Updates, class... Outcome>
[[nodiscard]] LOWP_HOST_FN error_text add_each(Executor const& executor, Model const& model,
                                               float alpha, Updates const& updates,
                                               Outcome&... outcome) {
  std::uint32_t number = 0;
  auto u = std::ranges::begin(updates);
  for (auto const& p : model) {
    error_text wrong;
    using remembers = remembering<Executor>;
    fused_add_operation<remembers>{{{executor, wrong}}}(p.values, alpha, (*u).values,
                                                        of_one_tensor(outcome, number)...);
    if (!wrong.empty())
      return wrong.replace(0, wrong.find(':'), "tree_add") + ", in tensor " +
             tensor_text(model, number);
    ++number;
    ++u;
  }
  return {};
}

template <class Executor, class Model, class Updates, class... Outcome>
[[nodiscard]] LOWP_HOST_FN error_text tree_add_on(Executor const& executor, Model const& model,
                                                  float alpha, Updates const& updates,
                                                  Outcome&&... outcome) {
  error_text wrong = check_alpha("tree_add", alpha);
  if (wrong.empty()) wrong = unlike(model, updates);
  [[maybe_unused]] auto const tensors = static_cast<std::size_t>(std::ranges::distance(model));
  ((wrong = wrong.empty() ? check_reports("tree_add", tensors, outcome) : wrong), ...);
  if (wrong.empty()) wrong = add_each(dry_run{}, model, alpha, updates, outcome...);
  if (!wrong.empty()) return wrong;
  std::vector<listed_range> ranges;
  std::uint32_t number = 0;
  for (auto const& p : model) list_ranges(ranges, read("p", p.values).extents(), number++, true);
  number = 0;
  for (auto const& u : updates) list_ranges(ranges, read("u", u.values).extents(), number++, false);
  wrong = check_among("tree_add", model, ranges);
  if (wrong.empty()) wrong = add_each(executor, model, alpha, updates, outcome...);
  return wrong;
}

}  // namespace lowp::detail
