// SPDX-License-Identifier: Apache-2.0
// Optimizer steps over spans of any formats. Every slot is float or narrow; all arithmetic is in
// float, and what is stored is rounded once.
#pragma once

#include <lowp/base/text.hpp>
#include <lowp/ops/arguments.hpp>
#include <lowp/ops/outcome.hpp>
#include <lowp/ops/storage_operands.hpp>
#include <lowp/simd/dispatch.hpp>
#include <lowp/train/optimizers.hpp>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace lowp {

namespace detail {

inline namespace LOWP_UNIT {

/// A hyper-parameter: finite and at least 0, and below `limit` if there is one.
struct hyper_parameter {
  char const* name;
  double value;
  bool is_below_one = false;
};

inline error_text invalid(char const* optimizer, std::uint64_t step,
                          std::initializer_list<hyper_parameter> parameters) {
  if (step == 0) return std::string("update: ") + optimizer + ": step is 0, and counts from 1";
  if (step > std::uint64_t{1} << 63)
    return std::string("update: ") + optimizer + ": step is " + text_of(step) + ", or " +
           text_of(static_cast<std::int64_t>(step)) + ", and counts from 1";
  for (hyper_parameter const& h : parameters) {
    unpacked const value = unpack(h.value);  // -ffast-math believes in neither NaN nor infinity
    bool const is_number = !value.nan && !value.infinite;
    bool const is_negative = value.negative && value.significand != 0;
    if (is_number && !is_negative && !(h.is_below_one && value.exponent >= 0)) continue;
    return std::string("update: ") + optimizer + ": " + h.name + " is " + text_of(h.value) +
           (h.is_below_one ? ", not in [0, 1)" : ", not finite and at least 0");
  }
  return {};
}

inline error_text invalid(sgd const& s, std::uint64_t step) {
  unpacked const dampening = unpack(s.dampening);
  error_text wrong = invalid(
      "sgd", step, {{"lr", s.lr}, {"momentum", s.momentum}, {"weight_decay", s.weight_decay}});
  if (wrong.empty() && (dampening.nan || dampening.infinite))
    wrong = "update: sgd: dampening is " + text_of(s.dampening) + ", not finite";
  return wrong;
}

inline error_text invalid(adamw const& a, std::uint64_t step) {
  return invalid("adamw", step,
                 {{"lr", a.lr},
                  {"beta1", a.beta1, true},
                  {"beta2", a.beta2, true},
                  {"eps", a.eps},
                  {"weight_decay", a.weight_decay}});
}

/// Sizes are equal, and no two ranges overlap: all but one, the gradients, are written.
template <class Executor, std::size_t N>
error_text check_slots(Executor const& executor, std::array<extent, N> const& slots) {
  error_text wrong = unequal_sizes("update", slots);
  for (std::size_t a = 0; a < N; ++a)
    for (std::size_t b = a + 1; b < N && wrong.empty(); ++b)
      wrong = overlap("update", slots[a], slots[b]);
  if (wrong.empty()) wrong = out_of_reach(executor, "update", slots);
  return wrong;
}

}  // namespace LOWP_UNIT

/// A step that the caller knows.
struct at_step {
  std::uint64_t step;

  template <class Optimizer>
  [[nodiscard]] LOWP_HOST_FN error_text invalid(Optimizer const& optimizer) const {
    return detail::invalid(optimizer, step);
  }
  template <class Element, class Optimizer>
  LOWP_HOST_FN make_step<Element, Optimizer> make(Optimizer const& optimizer) const {
    return {optimizer, step};
  }
  /// A stochastic mode gets the step into the low half of its stream.
  template <class R>
  LOWP_HOST_FN R rounding(R const& mode) const {
    return mode.at(step);
  }
};

/// When a step is taken: `step`, but for a `where` that will know only when it runs.
template <class Executor>
LOWP_HOST_FN auto when_of(Executor const& executor, std::uint64_t step) {
  if constexpr (requires { executor.when(); })
    return executor.when();
  else
    return at_step{step};
}

/// The mode of slot number `draw`: 0 parameter, 1 and 2 moments.
template <class R, class When>
LOWP_HOST_FN auto slot_rounding(R const& rounding, std::uint32_t draw, When const& when) {
  if constexpr (std::same_as<R, per_slot>)
    return when.rounding(draw == 0 ? rounding.param : draw == 1 ? rounding.first : rounding.second);
  else if constexpr (std::same_as<R, stochastic>)
    return when.rounding(rounding);
  else
    return rounding;
}

/// A storage that a step reads and writes, as a kernel's operand.
template <std::uint32_t Draw, class S, class R, class When, class... Outcome>
LOWP_HOST_FN auto slot(S& storage, R const& rounding, When const& when, Outcome const&... outcome) {
  return operand_of<simd::access::read_write>(storage, slot_rounding(rounding, Draw, when),
                                              policy_among<policy_type<S>>(outcome...), Draw);
}

template <class T>
inline constexpr bool is_optimizer = one_of<std::remove_cvref_t<T>, sgd, adamw>;

template <class T>
concept update_argument =
    moment_storage<T> || std::is_arithmetic_v<std::remove_cvref_t<T>> ||
    update_rounding<std::remove_cvref_t<T>> || reports_update<std::remove_cvref_t<T>> ||
    is_optimizer<T> || one_of<std::remove_cvref_t<T>, overflow>;

/// What the arguments after parameters and gradients are, as far as one can be wrong by its place.
struct update_shape {
  int moments = 0;  ///< before the optimizer
  bool has_optimizer = false, is_adamw = false, has_step = false, is_step_next = false;

  template <class T>
  constexpr void add() {
    if (is_step_next) has_step = std::is_arithmetic_v<T>;
    is_step_next = !has_optimizer && is_optimizer<T>;
    if (is_step_next) is_adamw = std::same_as<T, adamw>;
    has_optimizer = has_optimizer || is_step_next;
    if (!has_optimizer) ++moments;
  }
  constexpr bool has_moments() const { return is_adamw ? moments == 2 : moments < 2; }
};
template <class... Rest>
inline constexpr update_shape shape_of_update = [] {
  update_shape shape;
  (shape.add<std::remove_cvref_t<Rest>>(), ...);
  return shape;
}();

template <class P, class G, class... Rest>
concept update_arguments =
    storage<P> && readable<G> && (update_argument<Rest> && ...) &&
    shape_of_update<Rest...>.has_step && shape_of_update<Rest...>.has_moments();

template <class... Rest>
LOWP_FN constexpr void must_be_update_arguments() {
  constexpr update_shape shape = shape_of_update<Rest...>;
  static_assert(shape.has_optimizer, "update: there is no optimizer: lowp::sgd or lowp::adamw");
  static_assert(!shape.has_optimizer || shape.has_moments(),
                "update: the optimizer's state does not fit: (p, g, sgd, step), (p, g, momentum, "
                "sgd, step) or (p, g, m, v, adamw, step)");
  static_assert(!shape.has_optimizer || shape.has_step,
                "update: the step, an integer that counts from 1, comes after the optimizer");
  static_assert(!shape.has_step || (update_argument<Rest> && ...),
                "update: an argument does not satisfy 'moment_storage', 'update_rounding' or "
                "'policy_then_report'");
}

/// The three overloads of `update`, where `where` says.
template <class Executor, class P, class G, class R = nearest_even, class... Outcome>
[[nodiscard]] LOWP_HOST_FN error_text update_on(Executor const& executor, P&& p, G&& g,
                                                sgd const& optimizer, std::uint64_t step,
                                                R rounding = {}, Outcome&&... outcome) {
  auto const slots = joined(extents_of("p", p), extents_of("g", g));
  auto const when = when_of(executor, step);
  error_text wrong = when.invalid(optimizer);
  if (wrong.empty() && !is_zero(optimizer.momentum))
    wrong = "update: sgd: momentum is " + text_of(optimizer.momentum) +
            ", and no momentum range was given";
  if (wrong.empty()) wrong = invalid_among("update", {"p", "g"}, p, g);
  if (wrong.empty()) wrong = check_slots(executor, slots);
  if (!wrong.empty()) return wrong;
  executor(when.template make<sgd_element>(optimizer), slots[0].size, report_among(outcome...),
           slot<0>(p, rounding, when, outcome...), operand_of<simd::access::read>(g));
  return {};
}
template <class Executor, class P, class G, class M, class R = nearest_even, class... Outcome>
[[nodiscard]] LOWP_HOST_FN error_text update_on(Executor const& executor, P&& p, G&& g,
                                                M&& momentum, sgd const& optimizer,
                                                std::uint64_t step, R rounding = {},
                                                Outcome&&... outcome) {
  auto const slots =
      joined(extents_of("p", p), extents_of("g", g), extents_of("momentum", momentum));
  auto const when = when_of(executor, step);
  error_text wrong = when.invalid(optimizer);
  if (wrong.empty()) wrong = invalid_among("update", {"p", "g", "momentum"}, p, g, momentum);
  if (wrong.empty()) wrong = check_slots(executor, slots);
  if (!wrong.empty()) return wrong;
  if (is_zero(optimizer.momentum))
    return update_on(executor, p, g, optimizer, step, rounding, outcome...);
  executor(when.template make<sgd_element>(optimizer), slots[0].size, report_among(outcome...),
           slot<0>(p, rounding, when, outcome...), operand_of<simd::access::read>(g),
           slot<1>(momentum, rounding, when, outcome...));
  return {};
}
template <class Executor, class P, class G, class M, class V, class R = nearest_even,
          class... Outcome>
[[nodiscard]] LOWP_HOST_FN error_text update_on(Executor const& executor, P&& p, G&& g, M&& m,
                                                V&& v, adamw const& optimizer, std::uint64_t step,
                                                R rounding = {}, Outcome&&... outcome) {
  auto const slots =
      joined(extents_of("p", p), extents_of("g", g), extents_of("m", m), extents_of("v", v));
  auto const when = when_of(executor, step);
  error_text wrong = when.invalid(optimizer);
  if (wrong.empty()) wrong = invalid_among("update", {"p", "g", "m", "v"}, p, g, m, v);
  if (wrong.empty()) wrong = check_slots(executor, slots);
  if (!wrong.empty()) return wrong;
  executor(when.template make<adamw_element>(optimizer), slots[0].size, report_among(outcome...),
           slot<0>(p, rounding, when, outcome...), operand_of<simd::access::read>(g),
           slot<1>(m, rounding, when, outcome...), slot<2>(v, rounding, when, outcome...));
  return {};
}

}  // namespace detail

/// One step of SGD without momentum: p += -lr * (g + weight_decay * p).
///
/// For all three overloads:
/// @param p, g      n elements each: parameters, gradients; momentum, m and v likewise
/// @param step      counts from 1
/// @param rounding  one mode for all narrow slots, or per_slot; a stochastic one gets `step` into
///                  the low half of its stream and gives each slot its own draw
/// @param outcome   optionally an overflow policy, then optionally an update_report or an
///                  update_amax to add to
/// @throws std::invalid_argument  sizes differ; a written range overlaps another range; step 0 or above 2^63; a
///                  hyper-parameter that is not finite or outside its range. Nothing is written.
template <storage P, readable G, update_rounding R = nearest_even, class... Outcome>
  requires policy_then_report<Outcome...>
LOWP_HOST_FN void update(P&& p, G&& g, sgd const& optimizer, std::uint64_t step, R rounding = {},
                         Outcome&&... outcome) {
  detail::refuse_if(
      detail::update_on(simd::this_thread{}, p, g, optimizer, step, rounding, outcome...));
}

/// One step of SGD with momentum: momentum = g at step 1, momentum * momentum + (1 - dampening) * g
/// later, g including weight decay. With momentum 0 the momentum range is not touched.
template <storage P, readable G, moment_storage M, update_rounding R = nearest_even,
          class... Outcome>
  requires policy_then_report<Outcome...>
LOWP_HOST_FN void update(P&& p, G&& g, M&& momentum, sgd const& optimizer, std::uint64_t step,
                         R rounding = {}, Outcome&&... outcome) {
  detail::refuse_if(detail::update_on(simd::this_thread{}, p, g, momentum, optimizer, step,
                                      rounding, outcome...));
}

/// One step of AdamW with first moment m and second moment v.
template <storage P, readable G, moment_storage M, moment_storage V,
          update_rounding R = nearest_even, class... Outcome>
  requires policy_then_report<Outcome...>
LOWP_HOST_FN void update(P&& p, G&& g, M&& m, V&& v, adamw const& optimizer, std::uint64_t step,
                         R rounding = {}, Outcome&&... outcome) {
  detail::refuse_if(
      detail::update_on(simd::this_thread{}, p, g, m, v, optimizer, step, rounding, outcome...));
}

template <class P, class G, class... Rest>
  requires(!detail::update_arguments<P, G, Rest...>)
void update(P&&, G&&, Rest&&...) {
  detail::must_be_storage<P>();
  detail::must_be_readable<G>();
  detail::must_be_update_arguments<Rest...>();
}

}  // namespace lowp
