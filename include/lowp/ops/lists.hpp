// SPDX-License-Identifier: Apache-2.0
// Lists of tensors in one call: models have hundreds of small ones. Such a call may end in a
// rounding, an overflow policy and a report, in that order.
#pragma once

#include <lowp/ops/storage_operands.hpp>
#include <lowp/ops/tensor_list.hpp>
#include <lowp/report/moment_report.hpp>

namespace lowp {

namespace detail {

template <class T>
concept reports_update = one_of<T, update_report, update_amax, moment_report>;
/// The report of a list of reports, one for each tensor, or void.
template <class T, class Report = void, class... Others>
struct report_of_list : std::conditional<std::convertible_to<T, std::span<Report>>, Report,
                                         typename report_of_list<T, Others...>::type> {};
template <class T>
struct report_of_list<T, void> : std::type_identity<void> {};
template <class T>
using listed_report = typename report_of_list<T, update_report, update_amax, moment_report>::type;
template <class T>
concept report_list = !std::is_void_v<listed_report<T>>;

template <class... T>
inline constexpr bool reports_moments =
    (std::same_as<std::remove_cvref_t<T>, moment_report> || ...);

template <class... T>
inline constexpr bool is_outcome = sizeof...(T) == 0;
template <class T>
inline constexpr bool is_outcome<T> = reports_update<T> || std::same_as<T, overflow>;
template <class Report>
inline constexpr bool is_outcome<overflow, Report> = reports_update<Report>;

/// `()`, `(overflow)`, `(report&)` or `(overflow, report&)`. The report is an update_report, an
/// update_amax or, of an optimizer's step, a moment_report.
template <class... T>
concept policy_then_report =
    is_outcome<std::remove_cvref_t<T>...> &&
    ((!reports_update<std::remove_cvref_t<T>> || std::same_as<T, std::remove_cvref_t<T>&>) && ...);

/// A rounding, a policy and a report, each optional. IsRounding says that the first is a rounding.
template <bool IsRounding, class First, class... Rest>
concept outcome = (IsRounding && policy_then_report<Rest...>) || policy_then_report<First, Rest...>;

template <class T>
concept outcome_rounding = rounding<T> || has_device_mode<T>;

template <class T>
using neither_a_rounding_mode_of_ranges_an_overflow_policy_nor_a_report_variable =
    fit<range_rounding<std::remove_cvref_t<T>> || policy_then_report<T> || report_list<T>>;
using may_have_outcome =
    may_have<3, names::rounding_overflow_or_report,
             neither_a_rounding_mode_of_ranges_an_overflow_policy_nor_a_report_variable>;

// Return the rounding, the policy and the report that were given; or nearest_even, the default of T
// and a null no_report.
LOWP_HOST_FN auto rounding_among(auto const&...) { return nearest_even{}; }
template <outcome_rounding R>
LOWP_HOST_FN R rounding_among(R const& rounding, auto const&...) {
  return rounding;
}

template <element T>
LOWP_FN constexpr overflow policy_among(auto const&...) {
  return default_overflow<T>;
}
template <element T>
LOWP_FN constexpr overflow policy_among(overflow policy, auto const&...) {
  return policy;
}
template <element T>
LOWP_FN constexpr overflow policy_among(outcome_rounding auto const&, overflow policy,
                                        auto const&...) {
  return policy;
}

LOWP_HOST_FN simd::no_report* report_among() { return nullptr; }
LOWP_HOST_FN auto* report_among(reports_update auto& report) { return &report; }
LOWP_HOST_FN auto* report_among(auto const&, auto&... rest) { return report_among(rest...); }

template <class P>
struct working_element_of : std::type_identity<P> {};
template <class P>
  requires requires(P const& p) { p.layout().working; }
struct working_element_of<P> {
  using part = std::tuple_element_t<decltype(std::declval<P const&>().layout())::working,
                                    decltype(std::declval<P const&>().parts())>;
  using type = typename part::value_type;
};

template <class S>
struct listed_as : std::remove_cvref<S> {};
template <input S>
struct listed_as<S> : std::type_identity<element_of<S>> {};
template <class S>
using listed_as_t = typename listed_as<S>::type;

/// An input that outlives the expression.
template <class G>
concept lasting_input = input<G> && std::ranges::borrowed_range<G>;
}  // namespace detail

/// A type for the tensors of a list: an element type, which stands for spans of it, or a storage.
/// The storage has no member `scale`, because one kernel serves all tensors.
template <class S>
concept listable = element<S> || detail::packed_range<S> ||
                   (detail::layered<S> && !requires(S const& storage) { storage.scale; });

template <listable S>
using listed = std::conditional_t<element<S>, std::span<S>, S>;

/// The element type that a model computes with: of a storage, its working copy's.
template <listable P>
using working_element = typename detail::working_element_of<P>::type;

/// A tensor of a list for `fused_add`, for SGD without and with momentum, and for AdamW. It gets
/// the results of a call of its own. Tensor i of the list adds i to the tensor number in the upper
/// half of every stochastic mode's stream. An error text has the name, if there is one. The caller
/// owns its characters.
///
///     std::vector list{adamw_tensor{p, g, m, v}, adamw_tensor{q, h, n, w, "head"}};
///     std::vector<adamw_tensor<bfloat16>> list;                  gradient and moments alike
///     std::vector<adamw_tensor<kahan<bfloat16>, bfloat16, float>> list;       moments of float
template <listable P, element U = working_element<P>>
struct fused_add_tensor {
  listed<P> p;
  std::span<U const> u;
  std::string_view name{};

  static constexpr char const* function = "fused_add";
  LOWP_HOST_FN auto apply(auto const& operation, auto&& alpha, auto&&... rest) const
      -> decltype(operation(p, alpha, u, rest...)) {
    return operation(p, alpha, u, rest...);
  }
};
template <listable P, element G = working_element<P>>
struct sgd_tensor {
  listed<P> p;
  std::span<G const> g;
  std::string_view name{};

  static constexpr char const* function = "update";
  LOWP_HOST_FN auto apply(auto const& operation, auto&&... rest) const
      -> decltype(operation(p, g, rest...)) {
    return operation(p, g, rest...);
  }
};
template <listable P, element G = working_element<P>, listable M = G>
struct momentum_tensor {
  listed<P> p;
  std::span<G const> g;
  listed<M> momentum;
  std::string_view name{};

  static constexpr char const* function = "update";
  LOWP_HOST_FN auto apply(auto const& operation, auto&&... rest) const
      -> decltype(operation(p, g, momentum, rest...)) {
    return operation(p, g, momentum, rest...);
  }
};
template <listable P, element G = working_element<P>, listable M = G, listable V = M>
struct adamw_tensor {
  listed<P> p;
  std::span<G const> g;
  listed<M> m;
  listed<V> v;
  std::string_view name{};

  static constexpr char const* function = "update";
  LOWP_HOST_FN auto apply(auto const& operation, auto&&... rest) const
      -> decltype(operation(p, g, m, v, rest...)) {
    return operation(p, g, m, v, rest...);
  }
};

template <storage P, detail::lasting_input U, detail::lasting_name N = std::string_view>
fused_add_tensor(P&&, U&&, N&& = {}) -> fused_add_tensor<detail::listed_as_t<P>, element_of<U>>;
template <storage P, detail::lasting_input G, detail::lasting_name N = std::string_view>
sgd_tensor(P&&, G&&, N&& = {}) -> sgd_tensor<detail::listed_as_t<P>, element_of<G>>;
template <storage P, detail::lasting_input G, moment_storage M,
          detail::lasting_name N = std::string_view>
momentum_tensor(P&&, G&&, M&&, N&& = {})
    -> momentum_tensor<detail::listed_as_t<P>, element_of<G>, detail::listed_as_t<M>>;
template <storage P, detail::lasting_input G, moment_storage M, moment_storage V,
          detail::lasting_name N = std::string_view>
adamw_tensor(P&&, G&&, M&&, V&&, N&& = {})
    -> adamw_tensor<detail::listed_as_t<P>, element_of<G>, detail::listed_as_t<M>,
                    detail::listed_as_t<V>>;

/// A range of these structs: one call of an operation for many tensors.
template <class R>
concept call_list =
    std::ranges::forward_range<R const> && requires { std::ranges::range_value_t<R>::function; };

namespace detail {

// A tensor's own storage, or a list of tensors, tells two calls apart.
template <class T>
using not_a_writable_range_such_as_std_span_x_data_x_size_nor_a_storage_without_blocks =
    fit<storage<T>, call_list<std::remove_cvref_t<T>>>;
template <class T>
using not_a_list_of_tensors =
    fit<call_list<std::remove_cvref_t<T>>, !call_list<std::remove_cvref_t<T>>>;
template <class Name>
using needs_storage =
    needs<Name, not_a_writable_range_such_as_std_span_x_data_x_size_nor_a_storage_without_blocks>;

template <class T>
using as_of_one_tensor =
    std::conditional_t<report_list<T>, std::add_lvalue_reference_t<listed_report<T>>, T>;

/// An operation that takes each tensor of a list, with these arguments for all of them.
template <class Operation, class List, class... Rest>
concept takes_each =
    !(reports_update<Rest> || ...) &&  // a report that is no temporary
    requires(std::ranges::range_value_t<List> const& tensor, Operation const& operation) {
      tensor.apply(operation, std::declval<as_of_one_tensor<Rest>>()...);
    };

/// Returns a report; for the tensor with which an empty list is checked, one that nothing writes.
template <class Report>
LOWP_HOST_FN Report& report_at(std::span<Report> reports, std::size_t number) {
  static constexpr Report none{};
  return number < reports.size() ? reports[number] : const_cast<Report&>(none);
}

/// Returns the argument for tensor number `number`: its mode, its report, or the argument itself.
template <class T>
LOWP_HOST_FN decltype(auto) argument_of_tensor(T& argument, std::uint32_t number) {
  if constexpr (report_list<T&>) {
    return report_at<listed_report<T&>>(argument, number);
  } else if constexpr (rounding<std::remove_cv_t<T>>) {
    return of_tensor(argument, number);
  } else {
    return (argument);
  }
}

inline namespace LOWP_UNIT {

/// Returns the error text of a list of reports with another size than the list of tensors.
error_text check_reports(char const* function, auto const& list, auto&... rest) {
  if constexpr (!(report_list<decltype(rest)> || ...)) return {};
  auto const tensors = static_cast<std::size_t>(std::ranges::distance(list));
  error_text wrong;
  auto const check = [&](auto& argument) {
    if constexpr (report_list<decltype(argument)>) {
      std::size_t const size = std::span<listed_report<decltype(argument)>>(argument).size();
      if (size != tensors)
        wrong = joined_text({function, ": ", size, " reports for a list of ", tensors, " tensors"});
    }
  };
  (check(rest), ...);
  return wrong;
}

/// Returns an argument for all tensors. A mode is constant, so that all calls have one body.
template <class T>
LOWP_HOST_FN auto& as_shared(T& argument) {
  if constexpr (rounding<std::remove_cv_t<T>>)
    return std::as_const(argument);
  else
    return argument;
}

/// Calls an operation for each tensor of a list. All tensors are checked before any is written.
template <template <class> class Operation, class Executor, class List, class... Rest>
void call_list_on(Executor const& executor, List const& list, Rest&... rest) {
  constexpr char const* function = std::ranges::range_value_t<List>::function;
  executor.refuse_if(check_reports(function, list, rest...));
  call_each(executor, function, list,
            [&](auto const& on, auto const& tensor, std::uint32_t number) {
              tensor.apply(Operation<std::remove_cvref_t<decltype(on)>>{{on}},
                           argument_of_tensor(rest, number)...);
            });
}

}  // namespace LOWP_UNIT

}  // namespace detail

}  // namespace lowp
