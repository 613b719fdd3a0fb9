// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/ops/lists.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace lowp::detail {

/// A tensor of a model and its update, as a tensor of a list.
template <class P, class U>
struct tree_tensor {
  P p;
  U u;
  std::string_view name{};

  static constexpr char const* function = "tree_add";
  LOWP_HOST_FN auto arguments(auto&& alpha, auto&&... rest) const {
    return std::tie(p, alpha, u, rest...);
  }
};

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

template <class Model, class Updates>
auto pairs_of(Model const& model, Updates const& updates) {
  std::vector<tree_tensor<values_of<Model>, values_of<Updates>>> pairs;
  auto u = std::ranges::begin(updates);
  for (auto const& p : model) pairs.push_back({p.values, (*u++).values, p.name});
  return pairs;
}

}  // namespace LOWP_UNIT

}  // namespace lowp::detail
