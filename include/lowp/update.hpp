// SPDX-License-Identifier: Apache-2.0
// update: optimizer steps in place.
#pragma once

#include <lowp/ops/lists.hpp>
#include <lowp/train/update.hpp>

namespace lowp {

namespace detail {

/// Takes one step of an optimizer:
///
///     update(p, g, sgd, step)            p += -lr * (g + weight_decay * p)
///     update(p, g, momentum, sgd, step)  momentum = g at step 1, then
///                                        momentum * momentum + (1 - dampening) * g, where g
///                                        includes weight decay; not touched if momentum is 0
///     update(p, g, m, v, adamw, step)    AdamW with first moment m and second moment v
///     update(list, optimizer, step)      each tensor of a list of sgd_tensor{p, g},
///                                        momentum_tensor{p, g, momentum} or
///                                        adamw_tensor{p, g, m, v}
///
/// The step is computed in float from the stored values, by the formulas of train/sgd.hpp and
/// train/adamw.hpp. Each slot is rounded once.
///
/// @param p, g      n elements each: parameters, gradients; momentum, m and v likewise. Only g may
///                  be float8_e8m0fnu, which has neither zero nor a sign
/// @param step      counts from 1
/// @param rounding  one mode for all narrow slots, or per_slot. A stochastic mode takes `step` into
///                  the low half of its stream and gives each slot its own draw
/// @param outcome   optional: an overflow policy, then an update_report or update_amax to add to
/// @throws std::invalid_argument  sizes differ; a written range overlaps another; a step is 0 or
///                  above 2^63; a hyper-parameter is not finite or out of range; nothing is written
template <class Executor>
struct update_operation : operation<Executor> {
  using calls = calls_of_update;

  template <stepped_parameter P, readable G, optimizer_with<0> Optimizer = sgd, step_number Step,
            class R = nearest_even, class... Outcome>
    requires outcome<update_rounding<std::remove_cvref_t<R>>, R, Outcome...>
  LOWP_HOST_FN void operator()(P&& p, G&& g, Optimizer const& optimizer, Step step,
                               R&& rounding = {}, Outcome&&... outcome) const {
    this->executor.refuse_if(update_on(this->executor, p, g, optimizer, step,
                                       rounding_among(rounding), rounding, outcome...));
  }
  template <stepped_parameter P, readable G, stepped_moment M, optimizer_with<1> Optimizer = sgd,
            step_number Step, class R = nearest_even, class... Outcome>
    requires outcome<update_rounding<std::remove_cvref_t<R>>, R, Outcome...>
  LOWP_HOST_FN void operator()(P&& p, G&& g, M&& momentum, Optimizer const& optimizer, Step step,
                               R&& rounding = {}, Outcome&&... outcome) const {
    this->executor.refuse_if(update_on(this->executor, p, g, momentum, optimizer, step,
                                       rounding_among(rounding), rounding, outcome...));
  }
  template <stepped_parameter P, readable G, stepped_moment M, stepped_moment V,
            optimizer_with<2> Optimizer = adamw, step_number Step, class R = nearest_even,
            class... Outcome>
    requires outcome<update_rounding<std::remove_cvref_t<R>>, R, Outcome...>
  LOWP_HOST_FN void operator()(P&& p, G&& g, M&& m, V&& v, Optimizer const& optimizer, Step step,
                               R&& rounding = {}, Outcome&&... outcome) const {
    this->executor.refuse_if(update_on(this->executor, p, g, m, v, optimizer, step,
                                       rounding_among(rounding), rounding, outcome...));
  }

  template <call_list L, class Optimizer, class Step, class R = nearest_even, class... Outcome>
    requires returns_values<Executor> &&
             takes_each<update_operation, L, Optimizer const&, Step, R, Outcome...>
  LOWP_HOST_FN void operator()(L const& list, Optimizer const& optimizer, Step step,
                               R&& rounding = {}, Outcome&&... outcome) const {
    call_list_on<detail::update_operation>(this->executor, list, optimizer, step, rounding,
                                           outcome...);
  }
};

}  // namespace detail

inline constexpr detail::callable<detail::update_operation<simd::this_thread>> update{};

}  // namespace lowp
