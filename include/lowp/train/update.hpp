// SPDX-License-Identifier: Apache-2.0
// Optimizer steps over float or narrow slots. All arithmetic is in float, and each stored value is
// rounded once.
#pragma once

#include <lowp/ops/lists.hpp>
#include <lowp/ops/outcome.hpp>
#include <lowp/ops/storage_operands.hpp>
#include <lowp/simd/executors.hpp>
#include <lowp/train/adamw.hpp>
#include <lowp/train/sgd.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>

namespace lowp::detail {

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

/// Returns the kernel operand of a storage that a step reads and writes.
template <std::uint32_t Draw, class S, class R, class When, class... Outcome>
LOWP_HOST_FN auto slot(S& storage, R const& rounding, When const& when, Outcome const&... outcome) {
  return operand_of<simd::access::read_write>(storage, slot_rounding(rounding, Draw, when),
                                              policy_among<policy_type<S>>(outcome...), Draw);
}

/// Takes one step with `moments`, a tuple of references. Returns the error text of a refused call.
template <class Executor, class P, class G, class... M, std::size_t... I, class Optimizer,
          class When, class R, class... Outcome>
[[nodiscard]] LOWP_HOST_FN error_text step_with(Executor const& executor, P& p, G& g,
                                                std::tuple<M&...> const& moments,
                                                std::index_sequence<I...>,
                                                Optimizer const& optimizer, When const& when,
                                                R const& rounding, Outcome&... outcome) {
  auto const slots = joined(extents_of("p", p), extents_of("g", g),
                            extents_of(Optimizer::moments[I], std::get<I>(moments))...);
  call_check check("update");
  check.add(when.check(optimizer, sizeof...(M)));
  check_storages(check, {"p", "g", Optimizer::moments[I]...}, p, g, std::get<I>(moments)...);
  check.equal_sizes(slots);
  for (std::size_t a = 0; a < slots.size(); ++a)
    for (std::size_t b = a + 1; b < slots.size(); ++b) check.no_overlap(slots[a], slots[b]);
  check.reachable(executor, slots);
  if (check.failed()) return check.text();
  if constexpr (sizeof...(M) > 0 && Optimizer::least_moments == 0)
    if (!optimizer.uses_moments())
      return step_with(executor, p, g, std::tuple<>{}, std::index_sequence<>{}, optimizer, when,
                       rounding, outcome...);
  executor(when.template make<typename Optimizer::element>(optimizer), slots[0].size,
           report_among(outcome...), slot<0>(p, rounding, when, outcome...),
           operand_of<simd::access::read>(g),
           slot<I + 1>(std::get<I>(moments), rounding, when, outcome...)...);
  return {};
}

template <class Executor, class P, class G, optimizer_with<0> Optimizer, class Step,
          class R = nearest_even, class... Outcome>
[[nodiscard]] LOWP_HOST_FN error_text update_on(Executor const& executor, P&& p, G&& g,
                                                Optimizer const& optimizer, Step step,
                                                R rounding = {}, Outcome&&... outcome) {
  return step_with(executor, p, g, std::tuple<>{}, std::index_sequence<>{}, optimizer,
                   when_of(step), rounding, outcome...);
}
template <class Executor, class P, class G, class M, optimizer_with<1> Optimizer, class Step,
          class R = nearest_even, class... Outcome>
[[nodiscard]] LOWP_HOST_FN error_text update_on(Executor const& executor, P&& p, G&& g, M&& m,
                                                Optimizer const& optimizer, Step step,
                                                R rounding = {}, Outcome&&... outcome) {
  return step_with(executor, p, g, std::tie(m), std::index_sequence<0>{}, optimizer, when_of(step),
                   rounding, outcome...);
}
template <class Executor, class P, class G, class M, class V, optimizer_with<2> Optimizer,
          class Step, class R = nearest_even, class... Outcome>
[[nodiscard]] LOWP_HOST_FN error_text update_on(Executor const& executor, P&& p, G&& g, M&& m,
                                                V&& v, Optimizer const& optimizer, Step step,
                                                R rounding = {}, Outcome&&... outcome) {
  return step_with(executor, p, g, std::tie(m, v), std::index_sequence<0, 1>{}, optimizer,
                   when_of(step), rounding, outcome...);
}

/// A storage that a step writes. float8_e8m0fnu has neither zero nor a sign: it holds scales.
template <class S>
concept stepped_moment = moment_storage<S> && std::numeric_limits<policy_type<S>>::is_signed;
template <class S>
concept stepped_parameter = storage<S> && stepped_moment<S>;

template <class T>
using no_writable_range_of_a_signed_format_such_as_std_span_x_data_x_size_nor_blocks_of =
    fit<stepped_moment<T>>;
template <class T>
using no_writable_range_of_a_signed_format_such_as_std_span_x_data_x_size_nor_a_storage =
    fit<stepped_parameter<T>, call_list<std::remove_cvref_t<T>>>;

// The calls of `update` differ in the place of the optimizer.
template <class T>
using not_an_optimizer_such_as_sgd_or_adamw = fit<optimizer<std::remove_cvref_t<T>>>;
template <class T>
using not_an_optimizer_without_moments_such_as_sgd =
    fit<optimizer_with<std::remove_cvref_t<T>, 0>, !optimizer<std::remove_cvref_t<T>>>;
template <class T>
using not_an_optimizer_with_one_moment_such_as_sgd =
    fit<optimizer_with<std::remove_cvref_t<T>, 1>, !optimizer<std::remove_cvref_t<T>>>;
template <class T>
using not_an_optimizer_with_two_moments_such_as_adamw =
    fit<optimizer_with<std::remove_cvref_t<T>, 2>, !optimizer<std::remove_cvref_t<T>>>;

template <class T>
using not_a_step_that_counts_from_1 = fit<step_number<std::remove_cvref_t<T>>>;
template <class T>
using neither_a_rounding_mode_of_steps_an_overflow_policy_nor_a_report_variable =
    fit<update_rounding<std::remove_cvref_t<T>> || policy_then_report<T> ||
        std::convertible_to<T, std::span<update_report>>>;
struct there_is_no_optimizer_such_as_sgd_or_adamw;

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
using calls_of_update = any_of_calls<
    call_of_update<needs_parameter, needs_readable<names::g>,
                   needs<names::optimizer, not_an_optimizer_without_moments_such_as_sgd>>,
    call_of_update<needs_parameter, needs_readable<names::g>, needs_moment<names::momentum>,
                   needs<names::optimizer, not_an_optimizer_with_one_moment_such_as_sgd>>,
    call_of_update<needs_parameter, needs_readable<names::g>, needs_moment<names::m>,
                   needs_moment<names::v>,
                   needs<names::optimizer, not_an_optimizer_with_two_moments_such_as_adamw>>,
    call_of_update<needs<names::list, not_a_list_of_tensors>,
                   needs<names::optimizer, not_an_optimizer_such_as_sgd_or_adamw>>,
    otherwise<there_is_no_optimizer_such_as_sgd_or_adamw>>;

}  // namespace lowp::detail
