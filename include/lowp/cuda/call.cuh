// SPDX-License-Identifier: Apache-2.0
// From what a caller writes to what the host side and the kernel take.
#pragma once

#include <lowp/cuda/launch.cuh>
#include <lowp/cuda/list.hpp>
#include <lowp/cuda/replay.hpp>
#include <lowp/cuda/view.hpp>
#include <lowp/measure/abs_range.hpp>
#include <lowp/measure/census/census.hpp>
#include <lowp/measure/gradients.hpp>
#include <lowp/measure/sums.hpp>
#include <lowp/nn/clamp_overflow.hpp>
#include <lowp/nn/power_of_two_scaling.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace lowp::cuda {

template <class T>
inline constexpr bool is_report_pointer =
    std::same_as<T, update_report*> || std::same_as<T, update_amax*> ||
    std::same_as<T, gradient_report*> || std::same_as<T, sum_report*> ||
    std::same_as<T, scaling_report*> || std::same_as<T, amax*>;
template <class To>
inline constexpr bool is_report_pointer<census_report<To>*> = true;
template <class To>
inline constexpr bool is_report_pointer<abs_range_report<To>*> = true;
template <class T>
inline constexpr bool is_report_pointer<clamp_report_of<T>*> = true;
template <class T>
inline constexpr bool is_report_list = std::convertible_to<T, std::span<update_report>>;

/// Device memory as the host side takes it: what a pointer points to, a range as a span.
template <class T>
decltype(auto) argument(T&& x) {
  using U = std::remove_cvref_t<T>;
  if constexpr (is_report_pointer<U>)
    return *x;
  else if constexpr (is_report_list<U>)
    return *std::span<update_report>(x).data();  // the others lie behind it
  else if constexpr (std::convertible_to<U, stochastic const*>)
    return stored_rounding{x};
  else
    return viewed(std::forward<T>(x));
}

inline make_stored_addition addition_of(float const* alpha) { return {alpha}; }
inline make_stored_scaling scaling_by(float const* scale) { return {scale}; }
template <class Number>
  requires std::is_arithmetic_v<Number>
detail::make_scaled_addition addition_of(Number alpha) {
  return {static_cast<float>(alpha)};
}
template <class Number>
  requires std::is_arithmetic_v<Number>
detail::make_scaling scaling_by(Number scale) {
  return {static_cast<float>(scale)};
}

inline make_stored_unscaling unscaling_by(float const* inverse_scale) { return {inverse_scale}; }
template <class Number>
  requires std::is_arithmetic_v<Number>
detail::make_unscaling unscaling_by(Number inverse_scale) {
  return {static_cast<float>(inverse_scale)};
}

/// call(where, step), now or as it will be when the kernel runs.
template <class Executor, std::integral Number, class Call>
[[nodiscard]] detail::error_text with_step(Executor const& executor, Number step,
                                           Call const& call) {
  return call(executor, static_cast<std::uint64_t>(step));
}
template <class Executor, class Call>
[[nodiscard]] detail::error_text with_step(Executor const& executor, step_state const* state,
                                           Call const& call) {
  return call(when_stored<Executor>{executor, state}, 1);
}

/// Runs `call(where)`, which says what is wrong with its arguments.
template <class Call>
[[nodiscard]] status run_on(cudaStream_t stream, Call const& call) {
  gpu_grid grid(stream);
  detail::error_text wrong = call(on_grid<gpu_grid>{grid});
  return wrong.empty() ? grid.outcome() : status(std::move(wrong));
}

template <class T>
inline constexpr bool is_listed = false;
template <class P, class U>
inline constexpr bool is_listed<fused_add_tensor<P, U>> = true;
template <class P, class G>
inline constexpr bool is_listed<sgd_tensor<P, G>> = true;
template <class P, class G, class M>
inline constexpr bool is_listed<momentum_tensor<P, G, M>> = true;
template <class P, class G, class M, class V>
inline constexpr bool is_listed<adamw_tensor<P, G, M, V>> = true;

/// A range of one of the structs of list.hpp.
template <class R>
concept tensor_list =
    std::ranges::forward_range<R const> && is_listed<std::ranges::range_value_t<R>>;

template <class Reports>
detail::error_text check_reports(char const* function, std::size_t tensors,
                                 Reports const& reports) {
  if constexpr (is_report_list<Reports>) {
    std::size_t const size = std::span<update_report>(reports).size();
    if (size != tensors)
      return std::string(function) + ": " + std::to_string(size) + " reports for a list of " +
             std::to_string(tensors) + " tensors";
  }
  return {};
}

/// Runs `call(where, tensor, what follows...)` for a list.
template <class List, class Call, class... Rest>
[[nodiscard]] status run_list_on(cudaStream_t stream, char const* function, List const& list,
                                 Call const& call, Rest&&... rest) {
  gpu_grid grid(stream);
  [[maybe_unused]] auto const size = static_cast<std::size_t>(std::ranges::distance(list));
  detail::error_text wrong;
  ((wrong = wrong.empty() ? check_reports(function, size, rest) : wrong), ...);
  constexpr bool one_each = (is_report_list<std::remove_cvref_t<Rest>> || ...);
  if (wrong.empty())
    wrong = run_list(grid, function, list, one_each ? 1 : 0,
                     [&](auto const& executor, auto const& tensor) {
                       return call(executor, tensor, argument(rest)...);
                     });
  return wrong.empty() ? grid.outcome() : status(std::move(wrong));
}

// One tensor of a list.
template <class Executor, class P, class G, class... Rest>
detail::error_text update_tensor(Executor const& executor, sgd_tensor<P, G> const& t,
                                 sgd const& optimizer, std::uint64_t step, Rest&&... rest) {
  return detail::update_on(executor, t.p, t.g, optimizer, step, rest...);
}
template <class Executor, class P, class G, class M, class... Rest>
detail::error_text update_tensor(Executor const& executor, momentum_tensor<P, G, M> const& t,
                                 sgd const& optimizer, std::uint64_t step, Rest&&... rest) {
  return detail::update_on(executor, t.p, t.g, t.momentum, optimizer, step, rest...);
}
template <class Executor, class P, class G, class M, class V, class... Rest>
detail::error_text update_tensor(Executor const& executor, adamw_tensor<P, G, M, V> const& t,
                                 adamw const& optimizer, std::uint64_t step, Rest&&... rest) {
  return detail::update_on(executor, t.p, t.g, t.m, t.v, optimizer, step, rest...);
}

}  // namespace lowp::cuda
