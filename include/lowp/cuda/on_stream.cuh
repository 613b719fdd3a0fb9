// SPDX-License-Identifier: Apache-2.0
// Operations on a stream, which convert the caller's arguments.
#pragma once

#include <lowp/base/hide_macros.inc>

#include <lowp/cuda/launch.cuh>
#include <lowp/cuda/list.hpp>
#include <lowp/cuda/replay.hpp>
#include <lowp/cuda/view.hpp>
#include <lowp/report/lanes.hpp>

namespace lowp::cuda {

/// A pointer to a report.
template <class T>
concept report_pointer = std::is_pointer_v<T> && requires {
  typename detail::lanes_of_report<std::remove_pointer_t<T>, float>::type;
};

template <report_pointer T>
bool is_null_report(T const& x) {
  return x == nullptr;
}
bool is_null_report(auto const&) { return false; }

/// Converts an argument in device memory: a pointer to its object, a range to a span.
template <class T>
decltype(auto) argument(T&& x) {
  using U = std::remove_cvref_t<T>;
  if constexpr (report_pointer<U>)
    return *x;
  else if constexpr (detail::report_list<T>)
    return detail::report_at<detail::listed_report<T>>(x, 0);  // the others follow
  else if constexpr (device_range<std::remove_reference_t<T>>)
    return cuda::view_of(x);  // a buffer may convert to a pointer, too
  else if constexpr (std::convertible_to<U, stochastic const*>)
    return stored_rounding<stochastic>{x};
  else if constexpr (std::convertible_to<U, stochastic_fast const*>)
    return stored_rounding<stochastic_fast>{x};
  else if constexpr (std::convertible_to<U, float const*>)
    return stored_number{x};
  else if constexpr (std::convertible_to<U, step_state const*>)
    return at_stored_step{x};
  else
    return std::forward<T>(x);
}
template <class T>
using argument_t = decltype(argument(std::declval<T>()));

// Calls with a stream before an operation's own arguments.
template <class T>
using not_a_cuda_stream =
    detail::fit<std::convertible_to<T, cudaStream_t> || std::same_as<T, int>>;  // 0 is one
template <template <class> class Not>
struct on_a_gpu {
  template <class T>
  using is = Not<argument_t<T>>;
};
template <class Call>
struct call_on_stream {
  using type = Call;
};
template <class... Call>
struct call_on_stream<detail::any_of_calls<Call...>> {
  using type = detail::any_of_calls<typename call_on_stream<Call>::type...>;
};
template <class Name, template <class> class Not>
struct call_on_stream<detail::needs<Name, Not>> {
  using type = detail::needs<Name, on_a_gpu<Not>::template is>;
};
template <int Count, class Name, template <class> class Not>
struct call_on_stream<detail::may_have<Count, Name, Not>> {
  using type = detail::may_have<Count, Name, on_a_gpu<Not>::template is>;
};
template <class Reason, class... Needs, class... Rest>
struct call_on_stream<detail::call_unless<Reason, detail::first<Needs...>, Rest...>> {
  using type =
      detail::call_unless<Reason,
                          detail::first<detail::needs<detail::names::stream, not_a_cuda_stream>,
                                        typename call_on_stream<Needs>::type...>,
                          typename call_on_stream<Rest>::type...>;
};
template <class Reason, class First, class... Rest>
struct call_on_stream<detail::call_unless<Reason, First, Rest...>>
    : call_on_stream<detail::call_unless<Reason, detail::first<First>, Rest...>> {};

/// An operation on a stream, as a function object. It throws, or returns a status.
template <template <class> class Operation, bool Throws>
struct on_stream : call_on_stream<typename Operation<on_grid<gpu_grid>>::calls>::type::type {
  using call_on_stream<typename Operation<on_grid<gpu_grid>>::calls>::type::type::operator();

  template <class... Arguments>
    requires(!detail::report_list<Arguments> && ...) &&  // a list of tensors has these
            std::invocable<Operation<on_grid<gpu_grid>> const&, argument_t<Arguments>...>
  auto operator()(cudaStream_t stream, Arguments&&... arguments) const {
    return run(stream, std::forward<Arguments>(arguments)...);
  }
  /// The same call with options in braces, which name no type.
  template <class A, class B, class C, class... Rest, class On = Operation<on_grid<gpu_grid>>>
    requires std::invocable<On const&, argument_t<A>, argument_t<B>, argument_t<C>,
                            typename On::options_type const&, argument_t<Rest>...>
  auto operator()(cudaStream_t stream, A&& a, B&& b, C&& c,
                  typename On::options_type const& options, Rest&&... rest) const {
    return run(stream, std::forward<A>(a), std::forward<B>(b), std::forward<C>(c), options,
               std::forward<Rest>(rest)...);
  }

  template <class... Arguments, class Remedy = include_lowp_cuda_interop_cuh>
    requires(range_of_unknown_format<std::remove_reference_t<Arguments>> || ...)
  void operator()(cudaStream_t, Arguments&&...) const = delete;

  /// Runs on a list of tensors. A span of as many reports may replace the report.
  template <call_list List, class... Rest>
    requires detail::takes_each<Operation<on_grid<gpu_grid>>, List, argument_t<Rest>...>
  auto operator()(cudaStream_t stream, List const& list, Rest&&... rest) const {
    constexpr char const* function = std::ranges::range_value_t<List>::function;
    constexpr bool one_each = (detail::report_list<Rest> || ...);
    gpu_grid grid(stream);
    detail::error_text wrong = detail::check_reports(function, list, rest...);
    if ((is_null_report(rest) || ...)) wrong = null_report;
    if (wrong.empty())
      wrong = run_list(grid, function, list, one_each ? 1 : 0,
                       [&](auto const& executor, auto const& tensor) {
                         using on = std::remove_cvref_t<decltype(executor)>;
                         tensor.apply(Operation<on>{{executor}}, argument(rest)...);
                       });
    if (!wrong.empty()) grid.refuse(wrong);
    return answer(grid.outcome());
  }

 private:
  static constexpr char const* null_report = "the report is a null pointer";

  template <class... Arguments>
  static auto run(cudaStream_t stream, Arguments&&... arguments) {
    gpu_grid grid(stream);
    if ((is_null_report(arguments) || ...))
      grid.refuse(null_report);
    else
      Operation<on_grid<gpu_grid>>{{{grid}}}(argument(std::forward<Arguments>(arguments))...);
    return answer(grid.outcome());
  }

  static auto answer(status const& s) {
    if constexpr (Throws)
      s.or_throw();
    else
      return s;
  }
};

#define LOWP_ON_STREAM(name)                                         \
  inline constexpr on_stream<detail::name##_operation, true> name{}; \
  inline constexpr on_stream<detail::name##_operation, false> try_##name{};

}  // namespace lowp::cuda

#include <lowp/base/restore_macros.inc>
