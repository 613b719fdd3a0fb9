// SPDX-License-Identifier: Apache-2.0
// Optimizer steps over float or narrow slots, computed in float. Each stored value is rounded once.
#pragma once

#include <lowp/ops/lists.hpp>
#include <lowp/train/optimizers.hpp>

namespace lowp::detail {

/// A step number that the caller knows.
struct known_step {
  std::uint64_t step;

  /// Returns what is known of a step before it runs.
  template <class Optimizer>
  [[nodiscard]] LOWP_HOST_FN std::pair<Optimizer const&, std::uint64_t> known(
      Optimizer const& optimizer) const {
    return {optimizer, step};
  }
  template <class Element, class Optimizer>
  LOWP_HOST_FN make_step<Element, Optimizer> make(Optimizer const& optimizer) const {
    return {optimizer, step};
  }
  /// Returns the mode. A stochastic one has the step in the low half of its stream.
  LOWP_HOST_FN auto rounding(auto const& mode) const { return mode.at(step); }
};

/// A step number, or its place in memory that the processor may not reach.
template <class S>
concept step_number =
    std::integral<S> || requires(S const& s, stochastic const& mode) { s.rounding(mode); };

template <step_number S>
LOWP_HOST_FN auto step_source_of(S const& step) {
  if constexpr (std::integral<S>)
    return known_step{static_cast<std::uint64_t>(step)};
  else
    return step;
}

/// Returns the mode of slot number `draw`: 0 parameter, 1 and 2 moments.
template <class R, class Source>
LOWP_HOST_FN auto slot_rounding(R const& rounding, std::uint32_t draw, Source const& source) {
  if constexpr (std::same_as<R, per_slot>)
    return source.rounding(draw == 0   ? rounding.param
                           : draw == 1 ? rounding.first
                                       : rounding.second);
  else if constexpr (draws_bits<R>)
    return source.rounding(rounding);
  else
    return rounding;
}

/// Returns the role of a storage that a step reads and writes.
template <std::uint32_t Draw, class S, class Source, class... Outcome>
LOWP_HOST_FN auto slot(char const* name, S& storage, Source const& source,
                       Outcome const&... outcome) {
  auto role = read_write(name, storage, slot_rounding(rounding_among(outcome...), Draw, source),
                         policy_among<rounded_element<S>>(outcome...));
  role.draw = Draw;
  role.is_apart = true;
  return role;
}

template <class Optimizer, class Source>
struct step_check {
  Optimizer const& optimizer;
  Source const& source;
  int moments;

  [[nodiscard]] LOWP_HOST_FN error_text check(char const*) const {
    auto const& [known, step] = source.known(optimizer);
    return check_optimizer(known, step, moments);
  }
};

/// Takes one step. The arguments after the report are the roles of p, g and the moments.
template <class Executor, class Optimizer, class Source, class Report, class P, class G, class... M>
LOWP_HOST_FN void take_step(Executor const& executor, Optimizer const& optimizer,
                            Source const& source, Report* report, P const& p, G const& g,
                            M const&... moments) {
  step_check<Optimizer, Source> const check{optimizer, source, sizeof...(M)};
  if (!is_right(executor, "update", check, p, g, moments...)) return;
  auto const make = source.template make<typename Optimizer::element>(optimizer);
  if constexpr (sizeof...(M) > 0 && Optimizer::least_moments == 0)
    if (!optimizer.uses_moments()) return executor(call_of(make, report, p, g));
  executor(call_of(make, report, p, g, moments...));
}

/// A storage that a step writes. float8_e8m0fnu has neither zero nor a sign: it holds scales.
template <class S>
concept stepped_moment = moment_storage<S> && std::numeric_limits<rounded_element<S>>::is_signed;
template <class S>
concept stepped_parameter = storage<S> && stepped_moment<S>;

/// A moment that a report sees, if the call has one: a value in blocks is stored after its pack.
template <class M, class... Outcome>
concept reported_moment = !reports_moments<Outcome...> || !in_blocks<std::remove_cvref_t<M>>;

template <class T>
using no_writable_range_of_a_signed_format_such_as_std_span_x_data_x_size_nor_blocks_of =
    fit<stepped_moment<T>>;
template <class T>
using no_writable_range_of_a_signed_format_such_as_std_span_x_data_x_size_nor_a_storage =
    fit<stepped_parameter<T>, call_list<std::remove_cvref_t<T>>>;

// The calls of `update` differ in the place of the optimizer.
template <class T>
using not_an_optimizer_such_as_sgd_lion_or_adamw = fit<optimizer<std::remove_cvref_t<T>>>;
template <class T>
using not_an_optimizer_without_moments_such_as_sgd =
    fit<optimizer_with<std::remove_cvref_t<T>, 0>, !optimizer<std::remove_cvref_t<T>>>;
template <class T>
using not_an_optimizer_with_one_moment_such_as_sgd_or_lion =
    fit<optimizer_with<std::remove_cvref_t<T>, 1>, !optimizer<std::remove_cvref_t<T>>>;
template <class T>
using not_an_optimizer_with_two_moments_such_as_adamw =
    fit<optimizer_with<std::remove_cvref_t<T>, 2>, !optimizer<std::remove_cvref_t<T>>>;

template <class T>
using not_a_step_that_counts_from_1 = fit<step_number<std::remove_cvref_t<T>>>;
template <class T>
using neither_a_rounding_mode_of_steps_an_overflow_policy_nor_a_report_variable =
    fit<update_rounding<std::remove_cvref_t<T>> || policy_then_report<T> || report_list<T>>;
struct there_is_no_optimizer_such_as_sgd_lion_or_adamw;

using needs_parameter =
    needs<names::p,
          no_writable_range_of_a_signed_format_such_as_std_span_x_data_x_size_nor_a_storage>;
template <class Name>
using needs_moment =
    needs<Name, no_writable_range_of_a_signed_format_such_as_std_span_x_data_x_size_nor_blocks_of>;
template <class... Before>
using call_of_update =
    call<first<Before...>, needs<names::step, not_a_step_that_counts_from_1>,
         may_have<3, names::rounding_overflow_or_report,
                  neither_a_rounding_mode_of_steps_an_overflow_policy_nor_a_report_variable>>;
/// Takes one step of an optimizer:
///
///     update(p, g, sgd, step)            p += -lr * (g + weight_decay * p)
///     update(p, g, momentum, sgd, step)  momentum = g at step 1, then
///                                        momentum * momentum + (1 - dampening) * g, where g
///                                        includes weight decay; not touched if momentum is 0
///     update(p, g, m, lion, step)        Lion with momentum m
///     update(p, g, m, v, adamw, step)    AdamW with first moment m and second moment v
///     update(average, weights, ema, step)
///                                        average += (1 - decay) * (weights - average)
///     update(list, optimizer, step)      each tensor of a list of sgd_tensor{p, g},
///                                        momentum_tensor{p, g, momentum} or
///                                        adamw_tensor{p, g, m, v}
///
/// A list for ema has sgd_tensor{average, weights}. SGD without momentum also takes the step along
/// a direction o of your own, as of Muon, SOAP or Shampoo: p becomes p * (1 - lr * weight_decay) -
/// lr * o. The step is computed in float from the stored values, and each slot is rounded once.
///
/// With beta2 = 0.999, a second moment in float16 stays 0 while gradients are below 5e-3. In
/// float8_e4m3fn that is 0.9. Steps are then too long, and only a moment_report shows it. A second
/// moment that overflows stops its weight, and counts in `nonfinite` of an update_report.
///
/// @param p, g      n elements each: parameters, gradients; momentum, m and v likewise. Only g may
///                  be float8_e8m0fnu, which has neither zero nor a sign
/// @param step      counts from 1
/// @param rounding  one mode for all narrow slots, or per_slot. A stochastic mode takes `step` into
///                  the low half of its stream and gives each slot its own draw
/// @param outcome   optional: an overflow policy, then an update_report, update_amax or, if no
///                  moment is in blocks, moment_report to add to
/// @throws std::invalid_argument  sizes differ; a written range overlaps another; a step is 0 or
///                  above 2^63; a hyper-parameter, lr * weight_decay or lr / (1 - beta1^step)
///                  is not finite or out of range, also as a float; nothing is written
template <class Executor>
struct update_operation : operation<Executor> {
  using calls = any_of_calls<
      call_of_update<needs_parameter, needs_readable<names::g>,
                     needs<names::optimizer, not_an_optimizer_without_moments_such_as_sgd>>,
      call_of_update<needs_parameter, needs_readable<names::g>, needs_moment<names::momentum>,
                     needs<names::optimizer, not_an_optimizer_with_one_moment_such_as_sgd_or_lion>>,
      call_of_update<needs_parameter, needs_readable<names::g>, needs_moment<names::m>,
                     needs_moment<names::v>,
                     needs<names::optimizer, not_an_optimizer_with_two_moments_such_as_adamw>>,
      call_of_update<needs<names::list, not_a_list_of_tensors>,
                     needs<names::optimizer, not_an_optimizer_such_as_sgd_lion_or_adamw>>,
      otherwise<there_is_no_optimizer_such_as_sgd_lion_or_adamw>>;

  template <stepped_parameter P, readable G, optimizer_with<0> Optimizer = sgd, step_number Step,
            class R = nearest_even, class... Outcome>
    requires outcome<update_rounding<std::remove_cvref_t<R>>, R, Outcome...>
  LOWP_HOST_FN void operator()(P&& p, G&& g, Optimizer const& optimizer, Step step,
                               R&& rounding = {}, Outcome&&... outcome) const {
    auto const source = step_source_of(step);
    take_step(this->executor, optimizer, source, report_among(rounding, outcome...),
              slot<0>(ranges_of<Optimizer>[0], p, source, rounding, outcome...),
              read(ranges_of<Optimizer>[1], g));
  }
  template <stepped_parameter P, readable G, stepped_moment M, optimizer_with<1> Optimizer = sgd,
            step_number Step, class R = nearest_even, class... Outcome>
    requires outcome<update_rounding<std::remove_cvref_t<R>>, R, Outcome...> &&
             reported_moment<M, R, Outcome...>
  LOWP_HOST_FN void operator()(P&& p, G&& g, M&& momentum, Optimizer const& optimizer, Step step,
                               R&& rounding = {}, Outcome&&... outcome) const {
    auto const source = step_source_of(step);
    take_step(this->executor, optimizer, source, report_among(rounding, outcome...),
              slot<0>("p", p, source, rounding, outcome...), read("g", g),
              slot<1>(Optimizer::moments[0], momentum, source, rounding, outcome...));
  }
  template <stepped_parameter P, readable G, stepped_moment M, stepped_moment V,
            optimizer_with<2> Optimizer = adamw, step_number Step, class R = nearest_even,
            class... Outcome>
    requires outcome<update_rounding<std::remove_cvref_t<R>>, R, Outcome...> &&
             reported_moment<M, R, Outcome...> && reported_moment<V, R, Outcome...>
  LOWP_HOST_FN void operator()(P&& p, G&& g, M&& m, V&& v, Optimizer const& optimizer, Step step,
                               R&& rounding = {}, Outcome&&... outcome) const {
    auto const source = step_source_of(step);
    take_step(this->executor, optimizer, source, report_among(rounding, outcome...),
              slot<0>("p", p, source, rounding, outcome...), read("g", g),
              slot<1>(Optimizer::moments[0], m, source, rounding, outcome...),
              slot<2>(Optimizer::moments[1], v, source, rounding, outcome...));
  }

  template <call_list L, class Optimizer, class Step, class R = nearest_even, class... Outcome>
    requires returns_values<Executor> &&
             takes_each<update_operation, L, Optimizer const&, Step, R, Outcome...>
  LOWP_HOST_FN void operator()(L const& list, Optimizer const& optimizer, Step step,
                               R&& rounding = {}, Outcome&&... outcome) const {
    call_list_on<detail::update_operation>(this->executor, list, optimizer, step,
                                           as_shared(rounding), outcome...);
  }
};

}  // namespace lowp::detail

LOWP_ON_THIS_THREAD(update)

namespace lowp::simd {

template <class R>
using compiled_slot_of_float = compiled_slot<float, R>;
template <class R>
using compiled_slot_of_bfloat16 = compiled_slot<bfloat16, R>;
template <class R>
using compiled_slot_of_kahan =
    composite<std::index_sequence<0, 1>, detail::kahan_layout<bfloat16, bfloat16>,
              compiled_slot<bfloat16, R>, compiled_slot<bfloat16, R>>;
template <class R>
using compiled_slot_of_master =
    composite<std::index_sequence<0, 1>, detail::master_layout<float, bfloat16>,
              compiled_slot<float, R>, operand<bfloat16, access::write, R>>;
template <class Optimizer, class Report, class P, class G, class R, class... M>
using compiled_step =
    compiled_elements<detail::make_step<typename Optimizer::element, Optimizer>, Report, P,
                      operand<G, access::read>, compiled_slot<M, R>...>;

#define LOWP_COMPILED_STEP(part, optimizer, P, G, R, ...)                                      \
  LOWP_COMPILED_CALL(part, compiled_step<optimizer, no_report, compiled_slot_of_##P<R>, G,     \
                                         R __VA_OPT__(, ) __VA_ARGS__>)                        \
  LOWP_COMPILED_CALL(part, compiled_step<optimizer, update_report, compiled_slot_of_##P<R>, G, \
                                         R __VA_OPT__(, ) __VA_ARGS__>)
LOWP_COMPILED_UPDATES(LOWP_COMPILED_STEP)
#undef LOWP_COMPILED_STEP

}  // namespace lowp::simd
