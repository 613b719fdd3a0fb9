// SPDX-License-Identifier: Apache-2.0
// The folds that a row operation may use. They give the same bits on every machine: the order of a
// sum depends on the number of columns alone.
#pragma once

#include <lowp/lanes/lanes.hpp>

namespace lowp::fold {

/// The largest number of a row, or -inf if the row has no number; NaN is not a number. The choice
/// between two zeros is unspecified.
struct maximum {};

/// A sum in 256 interleaved sums. Element e is added to sum e % 256, in the order of the elements.
/// Then sum i + 128 is added to sum i, i + 64 to i, and so on down to i + 1. For n elements, if no
/// element is negative, the relative error is at most (n / 256 + 9) * 2^-24.
struct sum {};

inline constexpr std::size_t sums = 256;

/// Two folds in one pass. An element's term is a pair.
template <class First, class Second>
struct both {};
template <class F>
struct pair {
  F first, second;
};

/// The number of a fold in an operation's list.
template <int K>
using number = std::integral_constant<int, K>;

}  // namespace lowp::fold

namespace lowp::detail {

template <class F>
LOWP_FN F neutral(fold::maximum) {
  return lanes::from_bits<F>(
      lanes::broadcast<lanes::word<F>>(lanes::binary32_infinity | lanes::binary32_sign));
}

// Return the fold of two totals.
template <class F>
LOWP_FN F fold_of(fold::maximum, F const& a, F const& b) {
  return lanes::maximum_number(a, b);
}
template <class F>
LOWP_FN F fold_of(fold::sum, F const& a, F const& b) {
  return lanes::add(a, b);
}

/// Gives an operation the total of fold K. Returns true if the row must be folded once more.
template <class Operation, int K, class State, class Total>
LOWP_FN bool takes_total_again(Operation const& operation, fold::number<K> number, State& state,
                               Total const& total) {
  if constexpr (std::is_void_v<decltype(operation.take_total(number, state, total))>)
    return operation.take_total(number, state, total), false;
  else
    return operation.take_total(number, state, total);
}

/// True if an operation computes results from the scores, not from the value of the last fold.
template <class Operation>
inline constexpr bool uses_scores = requires { requires Operation::uses_scores; };

/// Returns what makes an element's result: its value in the last fold, or what `kept` returns.
LOWP_FN auto kept_of([[maybe_unused]] auto const& operation, auto const& value,
                     [[maybe_unused]] auto const& term) {
  if constexpr (requires { operation.kept(value, term); })
    return operation.kept(value, term);
  else
    return value;
}

/// Returns true if `plain_of` a state gives the row's values and results.
LOWP_FN bool is_plain([[maybe_unused]] auto const& operation, [[maybe_unused]] auto const& state) {
  if constexpr (requires { operation.is_plain(state); })
    return operation.is_plain(state);
  else
    return true;
}
LOWP_FN auto plain_of([[maybe_unused]] auto const& operation, auto const& state) {
  if constexpr (requires { operation.plain(state); })
    return operation.plain(state);
  else
    return state;
}

LOWP_FN std::size_t visible_columns([[maybe_unused]] auto const& operation,
                                    [[maybe_unused]] std::size_t row, std::size_t columns) {
  if constexpr (requires { operation.visible(row, columns); })
    return operation.visible(row, columns);
  else
    return columns;
}

LOWP_FN void start_row([[maybe_unused]] auto const& operation, [[maybe_unused]] auto& state,
                       [[maybe_unused]] std::size_t row) {
  if constexpr (requires { operation.start(state, row); }) operation.start(state, row);
}

}  // namespace lowp::detail
