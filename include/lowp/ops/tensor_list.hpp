// SPDX-License-Identifier: Apache-2.0
// Lists of named tensors: one call serves a whole model, and an error names the tensor.
#pragma once

#include <lowp/ops/storage_operands.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace lowp {

/// A tensor of a list: a span, or any struct of the folder storage. The caller owns the elements
/// and the characters of the name.
template <class Values>
struct named {
  std::string_view name;
  Values values;
};
template <std::ranges::contiguous_range R>
named(std::string_view, R&&)
    -> named<std::span<std::remove_reference_t<std::ranges::range_reference_t<R>>>>;
template <class S>
  requires(!std::ranges::contiguous_range<S>)
named(std::string_view, S) -> named<S>;

namespace detail {
template <class T>
inline constexpr bool is_named = false;
template <class Values>
inline constexpr bool is_named<named<Values>> = true;

template <class L>
using values_of = decltype(std::declval<std::ranges::range_value_t<L>&>().values);
}  // namespace detail

/// A range of `named`, all of one type. Tensors of other types need another list. Their numbers key
/// stochastic rounding; they continue if its mode is `of_tensor(size of the first list)`.
template <class L>
concept tensor_list = std::ranges::forward_range<L const> &&
                      detail::is_named<std::remove_cv_t<std::ranges::range_value_t<L>>>;

namespace detail {

/// The memory of tensor number `tensor` of a list.
struct listed_range {
  std::uintptr_t begin, end;
  std::uint32_t tensor;
  bool is_written;
};

/// An executor that keeps the error text of a refused call.
template <class Executor>
struct remembering : Executor {
  error_text& wrong;
  void refuse_if(error_text const& what) const { wrong = what; }
};

/// An executor that runs nothing, so that an operation only checks its arguments.
struct dry_run {
  template <class... Arguments>
  LOWP_HOST_FN void operator()(Arguments const&...) const {}
  template <class T>
  LOWP_HOST_FN void copy(T*, T const*, std::size_t) const {}
};

inline namespace LOWP_UNIT {

/// Returns the numbers of two tensors that share memory of which one is written; equal numbers if
/// there are no such tensors. Tied weights that are listed twice would be written twice, or by two
/// threads at once.
inline std::pair<std::uint32_t, std::uint32_t> find_overlap(std::vector<listed_range>& ranges) {
  // std::sort would take a fifth of the time to compile an update.
  std::qsort(ranges.data(), ranges.size(), sizeof(listed_range), [](void const* a, void const* b) {
    auto const one = static_cast<listed_range const*>(a)->begin;
    auto const other = static_cast<listed_range const*>(b)->begin;
    return (one > other) - (one < other);
  });
  // The ranges of two tensors that reach furthest: one of them is not the next range's own tensor.
  struct furthest {
    listed_range const *first = nullptr, *other = nullptr;

    void add(listed_range const& each) {
      if (first == nullptr || each.end > first->end) {
        if (first != nullptr && first->tensor != each.tensor) other = first;
        first = &each;
      } else if (each.tensor != first->tensor && (other == nullptr || each.end > other->end)) {
        other = &each;
      }
    }
    listed_range const* before(listed_range const& each) const {
      return first != nullptr && first->tensor == each.tensor ? other : first;
    }
  } all, written;
  for (listed_range const& each : ranges) {
    listed_range const* const before = (each.is_written ? all : written).before(each);
    if (before != nullptr && each.begin < before->end) return {before->tensor, each.tensor};
    all.add(each);
    if (each.is_written) written.add(each);
  }
  return {0, 0};
}

template <class Extents>
void list_ranges(std::vector<listed_range>& ranges, Extents const& extents, std::uint32_t tensor,
                 bool is_written) {
  for (extent const& each : extents) {
    auto const begin = reinterpret_cast<std::uintptr_t>(each.data);
    if (each.size != 0)
      ranges.push_back({begin, begin + each.size * each.element_size, tensor, is_written});
  }
}

/// Adds the arrays of a call; an array of constants is read.
template <class... T>
void list_ranges(std::vector<listed_range>& ranges, std::tuple<T*...> const& arrays,
                 std::size_t count, std::uint32_t tensor) {
  auto const add = [&]<class Element>(Element* data) {
    auto const begin = reinterpret_cast<std::uintptr_t>(data);
    if constexpr (!std::is_void_v<Element>)  // scales overlap if their codes do
      ranges.push_back({begin, begin + count * sizeof(Element), tensor, !std::is_const_v<Element>});
  };
  std::apply([&](auto*... data) { (add(data), ...); }, arrays);
}

/// Returns the error text of a list whose tensors share memory that is written.
inline error_text shared_memory(char const* function, std::vector<listed_range>& ranges) {
  auto const [one, other] = find_overlap(ranges);
  if (one == other) return {};
  return std::string(function) + ": tensors " + std::to_string(one) + " and " +
         std::to_string(other) + " of the list share memory that is written";
}

/// Returns 'name', or the number of a tensor without a name.
template <class List>
std::string tensor_text(List const& list, std::uint32_t number) {
  auto const& t = *std::ranges::next(std::ranges::begin(list), static_cast<std::ptrdiff_t>(number));
  if (t.name.empty()) return std::to_string(number);
  std::string text(1, '\'');
  text.append(t.name) += '\'';
  return text;
}

template <class List>
error_text check_among(char const* function, List const& list, std::vector<listed_range>& ranges) {
  auto const [a, b] = find_overlap(ranges);
  if (a == b) return {};
  return std::string(function) + ": tensors " + tensor_text(list, a < b ? a : b) + " and " +
         tensor_text(list, a < b ? b : a) + " share memory that is written";
}

}  // namespace LOWP_UNIT

/// Returns the mode of tensor number `number` of a list.
template <class R>
LOWP_HOST_FN R rounding_of_tensor(R const& rounding, std::uint32_t number) {
  if constexpr (requires { rounding.of_tensor(number); })
    return rounding.of_tensor(number);
  else
    return rounding;
}

}  // namespace detail

}  // namespace lowp
