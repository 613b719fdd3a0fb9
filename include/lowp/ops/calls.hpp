// SPDX-License-Identifier: Apache-2.0
// Why a call does not compile. An operation lists the arguments of its calls:
//
//     using calls = call<needs<names::in, not_an_input>, needs<names::columns, not_a_size>>;
//
// `callable` adds overloads that lose against the operation's own. They convert each argument. The
// conversion of one that does not fit is deleted, so `requires` is false. A compiler's error opens
// with the argument's place, its name and the reason.
#pragma once

#include <lowp/base/config.hpp>

namespace lowp::detail {

/// Not<T> says whether T fits. If not, T may fit another call of the operation. A compiler shows
/// the name of Not.
template <bool Fits, bool FitsAnotherCall = false>
struct fit {
  static constexpr bool value = Fits, fits_another_call = FitsAnotherCall;
};

/// An argument that a call has in this place.
template <int Place, class Name, template <class> class Not>
struct argument {
  template <class T>
  static constexpr bool fits = Not<T>::value;

  template <class T>
    requires(!fits<T> && !Not<T>::fits_another_call)
  argument(T&&) = delete;
  template <class T>
    requires(fits<T>)
  argument(T&&) {}
};

/// An argument that fits.
template <class Argument>
struct fitting {
  template <class T>
    requires(Argument::template fits<T>)
  fitting(T&&) {}
};

/// The first argument, which fits, of a call that is refused nevertheless.
template <class Reason, class Argument>
struct refused {
  template <class T>
    requires(Argument::template fits<T>)
  refused(T&&) = delete;
};

template <int Place, class Name>
struct because_an_argument_is_missing;
struct because_the_arguments_fit_but_not_together_or_not_in_this_order;

/// The overloads for one number of arguments. All fit in the second, which is no template.
template <class Reason, class First, class... More>
struct refusals_of {
  template <int = 0>
  void operator()(First, More...) const;
  void operator()(refused<Reason, First>, fitting<More>...) const;
};

template <class Name, template <class> class Not>
struct needs {
  template <int Place>
  using at = argument<Place, Name, Not>;
};
/// Up to Count arguments, each one of those that Name names.
template <int Count, class Name, template <class> class Not>
struct may_have;

// Names of arguments, as the operations' comments have them.
namespace names {
// clang-format off
#define LOWP_NAMES(X) \
  X(in) X(out) X(p) X(g) X(u) X(m) X(v) X(x) X(a) X(b) X(list) X(optimizer) X(step) X(momentum) \
  X(alpha) X(scale) X(columns) X(eps) X(mask) X(weight) X(bias) X(high) X(low) X(gate) X(up) \
  X(exponent) X(function) X(rounding) X(report) X(inverse_scale) X(gradients) X(max_norm) \
  X(model) X(updates) X(stream) X(surplus) X(rounding_or_overflow) X(rounding_overflow_or_report) \
  X(largest_rounding_or_overflow) X(rounding_scale_rule_overflow_or_options) X(reciprocal_rms) \
  X(mean_or_reciprocal_deviation) X(y) X(dx) X(dy) X(dgate) X(dup) X(dweight) X(dbias) X(mean) \
  X(reciprocal_deviation) X(logits) X(labels) X(options) X(losses) X(dlogits) \
  X(row_var) X(column_var) X(reciprocal_rms_or_rounding) X(mean_reciprocal_deviation_or_rounding) \
  X(table) X(ids) X(dout) X(dtable) X(scratch) X(ignore_index)
// clang-format on
#define LOWP_NAME(name) struct name;
LOWP_NAMES(LOWP_NAME)
#undef LOWP_NAME
#undef LOWP_NAMES
}  // namespace names

template <class T>
using not_an_argument_of_this_call = fit<false>;

template <class Surplus, class... A>
struct surplus_after {
  template <int = 0>
  void operator()(A..., Surplus, ...) const;
};

/// Overloads, or the list of their classes. Inherited level by level, each would be declared anew.
template <class... Overload>
struct overloads : Overload... {
  using Overload::operator()...;
};
template <class... Overloads>
struct joined;
template <class... A>
struct joined<overloads<A...>> {
  using type = overloads<A...>;
};
template <class... A, class... B, class... More>
struct joined<overloads<A...>, overloads<B...>, More...> : joined<overloads<A..., B...>, More...> {
};

/// Several calls, or one. `type` has their overloads.
template <class... Call>
struct any_of_calls : joined<typename Call::type...> {};

template <class... A>
struct seen {};

/// The place of the argument behind those of types `A`.
template <class... A>
inline constexpr int next_place = static_cast<int>(sizeof...(A)) + 1;

/// The overloads `Before`, those for the arguments `Seen`, and those with more.
template <class Before, class Reason, class Seen, class... Rest>
struct refusals;

template <class... O, class Reason, class... A>
struct refusals<overloads<O...>, Reason, seen<A...>> {
  using type = overloads<
      O..., refusals_of<Reason, A...>,
      surplus_after<argument<next_place<A...>, names::surplus, not_an_argument_of_this_call>,
                    A...>>;
};
template <class... O, class Reason, class... A, class Name, template <class> class Not,
          class... Rest>
struct refusals<overloads<O...>, Reason, seen<A...>, needs<Name, Not>, Rest...>
    : refusals<overloads<O...,
                         refusals_of<because_an_argument_is_missing<next_place<A...>, Name>, A...>>,
               Reason, seen<A..., argument<next_place<A...>, Name, Not>>, Rest...> {};
template <class... O, class Reason, class... A, int Count, class Name, template <class> class Not>
  requires(Count > 0)
struct refusals<overloads<O...>, Reason, seen<A...>, may_have<Count, Name, Not>>
    : refusals<overloads<O..., refusals_of<Reason, A...>>, Reason,
               seen<A..., argument<next_place<A...>, Name, Not>>, may_have<Count - 1, Name, Not>> {
};
template <class... O, class Reason, class... A, class Name, template <class> class Not>
struct refusals<overloads<O...>, Reason, seen<A...>, may_have<0, Name, Not>>
    : refusals<overloads<O...>, Reason, seen<A...>> {};

/// Arguments without which nothing is known about a call.
template <class... Needs>
struct first {
  template <std::size_t... K>
  static seen<typename Needs::template at<K + 1>...> of(std::index_sequence<K...>);
};

template <class Reason, class First, class... Rest>
struct call_unless : call_unless<Reason, first<First>, Rest...> {};
template <class Reason, class... Needs, class... Rest>
struct call_unless<Reason, first<Needs...>, Rest...>
    : refusals<overloads<>, Reason,
               decltype(first<Needs...>::of(std::index_sequence_for<Needs...>{})), Rest...> {};

template <class... Argument>
using call =
    call_unless<because_the_arguments_fit_but_not_together_or_not_in_this_order, Argument...>;

/// Refuses what fits no call of the operation so far that its arguments could be judged.
template <class Reason>
struct otherwise {
  using type = overloads<otherwise>;
  struct refusal {
    template <class T>
    refusal(T&&) = delete;
  };
  template <int = 0>
  void operator()(refusal, ...) const;
};

/// An operation that says why it refuses a call.
template <class Operation>
struct callable : joined<overloads<Operation>, typename Operation::calls::type>::type {};

}  // namespace lowp::detail

/// Makes lowp::name of detail::name_operation, beside those of teams and streams.
#define LOWP_ON_THIS_THREAD(name)                                                        \
  namespace lowp {                                                                       \
  inline constexpr detail::callable<detail::name##_operation<simd::this_thread>> name{}; \
  }
