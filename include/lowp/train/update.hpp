// SPDX-License-Identifier: Apache-2.0
// Optimizer steps over float or narrow slots. All arithmetic is in float, and each stored value is
// rounded once.
#pragma once

#include <lowp/ops/lists.hpp>
#include <lowp/ops/outcome.hpp>
#include <lowp/ops/storage_operands.hpp>
#include <lowp/train/adamw.hpp>
#include <lowp/train/sgd.hpp>

#include <concepts>
#include <cstdint>
#include <utility>

namespace lowp {

namespace detail {

/// A step number that the caller knows.
struct at_step {
  std::uint64_t step;

  template <class Optimizer>
  [[nodiscard]] LOWP_HOST_FN error_text check(Optimizer const& optimizer, int moments) const {
    return check_optimizer(optimizer, step, moments);
  }
  template <class Element, class Optimizer>
  LOWP_HOST_FN make_step<Element, Optimizer> make(Optimizer const& optimizer) const {
    return {optimizer, step};
  }
  /// Returns the mode. A stochastic one has the step in the low half of its stream.
  template <class R>
  LOWP_HOST_FN R rounding(R const& mode) const {
    return mode.at(step);
  }
};

/// A step number in memory that the processor may not reach.
template <class S>
concept stored_step = requires(S const& s, stochastic const& mode) { s.rounding(mode); };
template <class S>
concept step_number = std::integral<S> || stored_step<S>;

template <step_number S>
LOWP_HOST_FN auto when_of(S const& step) {
  if constexpr (stored_step<S>)
    return step;
  else
    return at_step{static_cast<std::uint64_t>(step)};
}

/// Returns the mode of slot number `draw`: 0 parameter, 1 and 2 moments.
template <class R, class When>
LOWP_HOST_FN auto slot_rounding(R const& rounding, std::uint32_t draw, When const& when) {
  if constexpr (std::same_as<R, per_slot>)
    return when.rounding(draw == 0 ? rounding.param : draw == 1 ? rounding.first : rounding.second);
  else if constexpr (draws_bits<R>)
    return when.rounding(rounding);
  else
    return rounding;
}

/// Returns the role of a storage that a step reads and writes.
template <std::uint32_t Draw, class S, class R, class When, class... Outcome>
LOWP_HOST_FN auto slot(char const* name, S& storage, R const& rounding, When const& when,
                       Outcome const&... outcome) {
  auto role = read_write(name, storage, slot_rounding(rounding, Draw, when),
                         policy_among<policy_type<S>>(outcome...));
  role.draw = Draw;
  role.is_apart = true;
  return role;
}

/// Checks the hyper-parameters of a step.
template <class Optimizer, class When>
struct step_check {
  Optimizer const& optimizer;
  When const& when;
  int moments;

  [[nodiscard]] LOWP_HOST_FN error_text check(char const*) const {
    return when.check(optimizer, moments);
  }
};

/// Takes one step. The arguments after the report are the roles of p, g and the moments.
template <class Executor, class Optimizer, class When, class Report, class P, class G, class... M>
LOWP_HOST_FN void take_step(Executor const& executor, Optimizer const& optimizer, When const& when,
                            Report* report, P const& p, G const& g, M const&... moments) {
  step_check<Optimizer, When> const check{optimizer, when, sizeof...(M)};
  if (!is_right(executor, "update", check, p, g, moments...)) return;
  auto const make = when.template make<typename Optimizer::element>(optimizer);
  if constexpr (sizeof...(M) > 0 && Optimizer::least_moments == 0)
    if (!optimizer.uses_moments())
      return executor(make, p.size(), report, p.operand(), g.operand());
  executor(make, p.size(), report, p.operand(), g.operand(), moments.operand()...);
}

// Names that a compiler shows for a refused call of `update`.
struct an_argument_does_not_satisfy_moment_storage_or_update_rounding_or_policy_then_report;
struct there_is_no_optimizer_such_as_sgd_or_adamw;
struct the_moments_do_not_fit_p_g_sgd_or_p_g_momentum_sgd_or_p_g_m_v_adamw;
struct there_is_no_step_after_the_optimizer_it_counts_from_1;

template <class T>
concept update_argument =
    moment_storage<T> || step_number<std::remove_cvref_t<T>> ||
    update_rounding<std::remove_cvref_t<T>> || reports_update<std::remove_cvref_t<T>> ||
    optimizer<std::remove_cvref_t<T>> || one_of<std::remove_cvref_t<T>, overflow>;

/// The arguments after p and g, as far as their places identify them.
struct update_shape {
  int moments = 0;  ///< before the optimizer
  bool has_optimizer = false, has_moments = false, has_step = false, is_step_next = false;

  template <class T>
  constexpr void add() {
    if (is_step_next) has_step = step_number<T>;
    is_step_next = !has_optimizer && optimizer<T>;
    if constexpr (optimizer<T>) {
      if (is_step_next)
        has_moments =
            moments >= T::least_moments && moments <= static_cast<int>(std::size(T::moments));
    }
    has_optimizer = has_optimizer || is_step_next;
    if (!has_optimizer) ++moments;
  }
};
template <class... Rest>
inline constexpr update_shape shape_of_update = [] {
  update_shape shape;
  (shape.add<std::remove_cvref_t<Rest>>(), ...);
  return shape;
}();

template <class P, class G, class... Rest>
using unmet_by_update = typename first_unmet<
    must_be_storage<P>, must_be_readable<G>,
    requirement<shape_of_update<Rest...>.has_optimizer, there_is_no_optimizer_such_as_sgd_or_adamw>,
    requirement<shape_of_update<Rest...>.has_moments,
                the_moments_do_not_fit_p_g_sgd_or_p_g_momentum_sgd_or_p_g_m_v_adamw>,
    requirement<shape_of_update<Rest...>.has_step,
                there_is_no_step_after_the_optimizer_it_counts_from_1>,
    requirement<
        (update_argument<Rest> && ...),
        an_argument_does_not_satisfy_moment_storage_or_update_rounding_or_policy_then_report>>::
    type;

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
/// @param p, g      n elements each: parameters, gradients; momentum, m and v likewise
/// @param step      counts from 1
/// @param rounding  one mode for all narrow slots, or per_slot. A stochastic mode takes `step` into
///                  the low half of its stream and gives each slot its own draw
/// @param outcome   optional: an overflow policy, then an update_report or update_amax to add to
/// @throws std::invalid_argument  sizes differ; a written range overlaps another; a step is 0 or
///                  above 2^63; a hyper-parameter is not finite or out of range; nothing is written
template <class Executor>
struct update_operation : operation<Executor> {
  template <storage P, readable G, optimizer_with<0> Optimizer = sgd, step_number Step,
            class R = nearest_even, class... Outcome>
    requires outcome<update_rounding<std::remove_cvref_t<R>>, R, Outcome...>
  LOWP_HOST_FN void operator()(P&& p, G&& g, Optimizer const& optimizer, Step step,
                               R&& rounding = {}, Outcome&&... outcome) const {
    auto const when = when_of(step);
    take_step(this->executor, optimizer, when, report_among(rounding, outcome...),
              slot<0>("p", p, rounding_among(rounding), when, rounding, outcome...), read("g", g));
  }
  template <storage P, readable G, moment_storage M, optimizer_with<1> Optimizer = sgd,
            step_number Step, class R = nearest_even, class... Outcome>
    requires outcome<update_rounding<std::remove_cvref_t<R>>, R, Outcome...>
  LOWP_HOST_FN void operator()(P&& p, G&& g, M&& momentum, Optimizer const& optimizer, Step step,
                               R&& rounding = {}, Outcome&&... outcome) const {
    auto const when = when_of(step);
    take_step(this->executor, optimizer, when, report_among(rounding, outcome...),
              slot<0>("p", p, rounding_among(rounding), when, rounding, outcome...), read("g", g),
              slot<1>(Optimizer::moments[0], momentum, rounding_among(rounding), when, rounding,
                      outcome...));
  }
  template <storage P, readable G, moment_storage M, moment_storage V,
            optimizer_with<2> Optimizer = adamw, step_number Step, class R = nearest_even,
            class... Outcome>
    requires outcome<update_rounding<std::remove_cvref_t<R>>, R, Outcome...>
  LOWP_HOST_FN void operator()(P&& p, G&& g, M&& m, V&& v, Optimizer const& optimizer, Step step,
                               R&& rounding = {}, Outcome&&... outcome) const {
    auto const when = when_of(step);
    take_step(
        this->executor, optimizer, when, report_among(rounding, outcome...),
        slot<0>("p", p, rounding_among(rounding), when, rounding, outcome...), read("g", g),
        slot<1>(Optimizer::moments[0], m, rounding_among(rounding), when, rounding, outcome...),
        slot<2>(Optimizer::moments[1], v, rounding_among(rounding), when, rounding, outcome...));
  }

  template <call_list L, class Optimizer, class Step, class R = nearest_even, class... Outcome>
    requires returns_values<Executor> &&
             takes_each<update_operation, L, Optimizer const&, Step, R, Outcome...>
  LOWP_HOST_FN void operator()(L const& list, Optimizer const& optimizer, Step step,
                               R&& rounding = {}, Outcome&&... outcome) const {
    call_list_on<detail::update_operation>(this->executor, list, optimizer, step, rounding,
                                           outcome...);
  }
  template <call_list L, class... Rest,
            class Unmet = each_tensor_of_the_list_does_not_take_these_arguments>
    requires(!takes_each<update_operation, L, Rest...>)
  void operator()(L const&, Rest&&...) const = delete;

  template <class P, class G, class... Rest, class Unmet = unmet_by_update<P, G, Rest...>>
    requires(!call_list<std::remove_cvref_t<P>>)
  void operator()(P&&, G&&, Rest&&...) const = delete;
};

}  // namespace detail

inline constexpr detail::update_operation<simd::this_thread> update{};

}  // namespace lowp
