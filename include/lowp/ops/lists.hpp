// SPDX-License-Identifier: Apache-2.0
// Lists of tensors in one call: models have hundreds of small ones.
#pragma once

#include <lowp/ops/outcome.hpp>
#include <lowp/ops/storage_operands.hpp>
#include <lowp/ops/tensor_list.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace lowp {

/// A type for the tensors of a list: an element type, which stands for spans of it, or a storage.
/// The storage has no member `scale`, because one kernel serves all tensors.
template <class S>
concept listable =
    element<S> || (detail::layered<S> && !requires(S const& storage) { storage.scale; });

template <listable S>
using listed = std::conditional_t<element<S>, std::span<S>, S>;

/// A tensor of a list for `fused_add`, for SGD without and with momentum, and for AdamW. It gets
/// the results of a call of its own. Tensor i of the list adds i to the tensor number in the upper
/// half of a stochastic mode's stream.
template <listable P, element U>
struct fused_add_tensor {
  listed<P> p;
  std::span<U const> u;

  void call(auto const& operation, auto const& alpha, auto&&... rest) const {
    operation(p, alpha, u, rest...);
  }
};
template <listable P, element G>
struct sgd_tensor {
  listed<P> p;
  std::span<G const> g;

  void call(auto const& operation, auto&&... rest) const { operation(p, g, rest...); }
};
template <listable P, element G, listable M>
struct momentum_tensor {
  listed<P> p;
  std::span<G const> g;
  listed<M> momentum;

  void call(auto const& operation, auto&&... rest) const { operation(p, g, momentum, rest...); }
};
template <listable P, element G, listable M, listable V>
struct adamw_tensor {
  listed<P> p;
  std::span<G const> g;
  listed<M> m;
  listed<V> v;

  void call(auto const& operation, auto&&... rest) const { operation(p, g, m, v, rest...); }
};

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

/// A range of these structs: one call of an operation for many tensors.
template <class R>
concept call_list = std::ranges::forward_range<R const> && is_listed<std::ranges::range_value_t<R>>;

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

/// Reports, one for each tensor of a list.
template <class T>
concept report_list = std::convertible_to<T, std::span<update_report>>;

template <class T>
using as_of_one_tensor = std::conditional_t<report_list<T>, update_report&, T>;

/// Returns the outcome argument of tensor number `number`.
template <class T>
LOWP_HOST_FN decltype(auto) of_one_tensor(T& outcome, std::uint32_t number) {
  if constexpr (report_list<T&>)
    return (std::span<update_report>(outcome)[number]);
  else if constexpr (outcome_rounding<std::remove_const_t<T>>)
    return rounding_of_tensor(outcome, number);
  else
    return (outcome);
}

inline namespace LOWP_UNIT {

template <class Reports>
error_text check_reports(char const* function, std::size_t tensors, Reports const& reports) {
  if constexpr (report_list<Reports const&> || report_list<Reports&>) {
    std::size_t const size = std::span<update_report const>(reports).size();
    if (size != tensors)
      return joined_text({function, ": ", size, " reports for a list of ", tensors, " tensors"});
  }
  return {};
}

}  // namespace LOWP_UNIT

/// An executor that records the arrays of a call, and runs nothing.
struct call_recorder {
  std::vector<listed_range>& ranges;
  error_text& wrong;
  std::uint32_t number;

  template <class Make, class Report, class... Operand>
  void operator()(Make const&, std::size_t count, Report*, Operand const&... operands) const {
    if (count != 0) list_ranges(ranges, std::tuple_cat(arrays_of(operands)...), count, number);
  }
  void refuse_if(error_text const& what) const { wrong = what; }
};

/// Calls an operation for each tensor of a list. All tensors are checked before any is written.
///
/// @param leading  the arguments between the tensor's and the outcome
template <template <class> class Operation, class Executor, class List, class... Leading,
          class... Outcome>
[[nodiscard]] LOWP_HOST_FN error_text call_each(Executor const& executor, List const& list,
                                                std::tuple<Leading...> const& leading,
                                                Outcome&... outcome) {
  constexpr char const* function = Operation<Executor>::name;
  call_check check(function);
  (check.add(
       check_reports(function, static_cast<std::size_t>(std::ranges::distance(list)), outcome)),
   ...);
  std::uint32_t number = 0;
  auto const call = [&](auto const& on, auto const& tensor) {
    std::apply(
        [&](auto const&... arguments) {
          tensor.call(Operation<std::remove_cvref_t<decltype(on)>>{{on}}, arguments...,
                      of_one_tensor(outcome, number)...);
        },
        leading);
  };
  std::vector<listed_range> ranges;
  for (auto const& tensor : list) {
    error_text wrong;
    call(call_recorder{ranges, wrong, number}, tensor);
    if (!wrong.empty()) check.add(wrong + ", in tensor " + std::to_string(number) + " of the list");
    ++number;
  }
  check.add(shared_memory(function, ranges));
  if (check.failed()) return check.text();
  number = 0;
  for (auto const& tensor : list) {
    call(executor, tensor);
    ++number;
  }
  return {};
}

}  // namespace detail

}  // namespace lowp
