// SPDX-License-Identifier: Apache-2.0
// Operations on a stream, which convert the caller's arguments.
#pragma once

#include <lowp/cuda/launch.cuh>
#include <lowp/cuda/list.hpp>
#include <lowp/cuda/replay.hpp>
#include <lowp/cuda/view.hpp>
#include <lowp/report/lanes.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>

namespace lowp::cuda {

/// A pointer to a report.
template <class T>
concept report_pointer = std::is_pointer_v<T> && requires {
  typename detail::lanes_of_report<std::remove_pointer_t<T>, float>::type;
};

/// Converts an argument in device memory: a pointer to its object, a range to a span.
template <class T>
decltype(auto) argument(T&& x) {
  using U = std::remove_cvref_t<T>;
  if constexpr (report_pointer<U>)
    return *x;
  else if constexpr (detail::report_list<U>)
    return *std::span<update_report>(x).data();  // the others follow it
  else if constexpr (std::convertible_to<U, stochastic const*>)
    return stored_rounding<stochastic>{x};
  else if constexpr (std::convertible_to<U, stochastic_fast const*>)
    return stored_rounding<stochastic_fast>{x};
  else if constexpr (std::convertible_to<U, float const*>)
    return stored_number{x};
  else if constexpr (std::convertible_to<U, step_state const*>)
    return at_stored_step{x};
  else
    return viewed(std::forward<T>(x));
}
template <class T>
using argument_t = decltype(argument(std::declval<T>()));

/// An executor that keeps the error text of a refused call.
template <class Executor>
struct remembering : Executor {
  detail::error_text& wrong;
  void refuse_if(detail::error_text const& what) const { wrong = what; }
};

/// An operation on a stream, as a function object. It throws, or returns a status.
template <template <class> class Operation, bool Throws>
class on_stream {
 public:
  template <class... Arguments>
    requires std::invocable<Operation<on_grid<gpu_grid>> const&, argument_t<Arguments>...>
  auto operator()(cudaStream_t stream, Arguments&&... arguments) const {
    gpu_grid grid(stream);
    Operation<on_grid<gpu_grid>>{{{grid}}}(argument(std::forward<Arguments>(arguments))...);
    return answer(grid.outcome());
  }

  template <class... Arguments, class Remedy = include_lowp_cuda_interop_cuh>
    requires(range_of_unknown_format<std::remove_reference_t<Arguments>> || ...)
  void operator()(cudaStream_t, Arguments&&...) const = delete;

  /// Runs on a list of tensors. A span of as many reports may replace the report.
  template <call_list List, class... Rest>
  auto operator()(cudaStream_t stream, List const& list, Rest&&... rest) const {
    constexpr char const* name = Operation<on_grid<gpu_grid>>::name;
    constexpr bool one_each = (detail::report_list<std::remove_cvref_t<Rest>> || ...);
    gpu_grid grid(stream);
    [[maybe_unused]] auto const size = static_cast<std::size_t>(std::ranges::distance(list));
    detail::error_text wrong;
    ((wrong = wrong.empty() ? detail::check_reports(name, size, rest) : wrong), ...);
    if (wrong.empty())
      wrong = run_list(
          grid, name, list, one_each ? 1 : 0, [&](auto const& executor, auto const& tensor) {
            using remembers = remembering<std::remove_cvref_t<decltype(executor)>>;
            detail::error_text refused;
            tensor.call(Operation<remembers>{{{executor, refused}}}, argument(rest)...);
            return refused;
          });
    return answer(wrong.empty() ? grid.outcome() : status(wrong));
  }

 private:
  static auto answer(status const& s) {
    if constexpr (Throws)
      s.or_throw();
    else
      return s;
  }
};

}  // namespace lowp::cuda
