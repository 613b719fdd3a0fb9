// SPDX-License-Identifier: Apache-2.0
// tree_add: one call for a whole model, as with the trees of jochastic in JAX.
#pragma once

#include <lowp/ops/fused_add.hpp>

namespace lowp::detail {

inline namespace LOWP_UNIT {

/// A tensor of a model and its update, as a tensor of a list.
template <class P, class U>
struct tree_tensor {
  P p;
  U u;
  std::string_view name{};

  static constexpr char const* function = "tree_add";
  LOWP_HOST_FN auto apply(auto const& operation, auto&& alpha, auto&&... rest) const
      -> decltype(operation(p, alpha, u, rest...)) {
    return operation(p, alpha, u, rest...);
  }
};

/// Returns the tensors of a model with their updates. Refuses other updates.
template <class Model, class Updates>
auto pairs_of(Model const& model, Updates const& updates) {
  auto const tensors = std::ranges::distance(model), others = std::ranges::distance(updates);
  if (tensors != others)
    refuse(joined_text({"tree_add: the model has ", static_cast<std::uint64_t>(tensors),
                        " tensors, the updates have ", static_cast<std::uint64_t>(others)}));
  std::vector<tree_tensor<values_of<Model>, values_of<Updates>>> pairs;
  auto u = std::ranges::begin(updates);
  for (auto const& p : model) {
    auto const number = static_cast<std::uint32_t>(pairs.size());
    if (!p.name.empty() && !(*u).name.empty() && p.name != (*u).name)
      refuse(joined_text({"tree_add: tensor ", number, " is ", tensor_text(model, number),
                          " in the model and ", tensor_text(updates, number), " in the updates"}));
    pairs.push_back({p.values, (*u++).values, p.name});
  }
  return pairs;
}

}  // namespace LOWP_UNIT

template <class L>
concept storage_list = tensor_list<L> && storage<values_of<L>>;
template <class L>
concept readable_list = tensor_list<L> && readable<values_of<L>>;
template <class T>
using not_a_list_of_named_storages = fit<storage_list<std::remove_cvref_t<T>>>;
template <class T>
using not_a_list_of_named_readables = fit<readable_list<std::remove_cvref_t<T>>>;

/// Adds to every tensor of a model: p[i] = round(fma(alpha, u[i], p[i])). All tensors are checked
/// before any is written. A team of threads shares one tensor after the other.
///
/// @param model     named storages of one type: spans, or kahan, master, split_master or scaled
/// @param updates   as many named ranges, in the same order; if both have names, these are equal
/// @param rounding  a stochastic mode is of_tensor(i) for tensor number i: each has its own stream.
///                  A list of tensors of another type takes rounding.of_tensor(size of this list)
/// @param outcome   an optional overflow policy, then an optional update_report or update_amax of
///                  all tensors, or a range of as many update_reports. The call adds to them
/// @throws std::invalid_argument  fused_add refuses a tensor, which is named; the lists differ in
///                  length or names; two tensors share memory of which one is written
template <class Executor>
struct tree_add_operation : operation<Executor> {
  using calls = call<needs<names::model, not_a_list_of_named_storages>, needs_number<names::alpha>,
                     needs<names::updates, not_a_list_of_named_readables>, may_have_outcome>;

  template <storage_list Model, readable_list Updates, class R = nearest_even, class... Outcome>
    requires outcome<span_rounding<std::remove_cvref_t<R>>, as_of_one_tensor<R>,
                     as_of_one_tensor<Outcome>...> &&
             (!reports_moments<R, Outcome...>)
  LOWP_HOST_FN void operator()(Model const& model, float_argument alpha, Updates const& updates,
                               R&& rounding = {}, Outcome&&... outcome) const {
    call_list_on<fused_add_operation>(this->executor, pairs_of(model, updates), alpha, rounding,
                                      outcome...);
  }
};

}  // namespace lowp::detail

LOWP_ON_THIS_THREAD(tree_add)
