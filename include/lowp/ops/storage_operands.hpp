// SPDX-License-Identifier: Apache-2.0
// Storages of a parameter or a moment: a range of one element type, or a struct of these headers.
#pragma once

#include <lowp/ops/arguments.hpp>
#include <lowp/simd/operand.hpp>
#include <lowp/storage/block_scaled.hpp>
#include <lowp/storage/kahan.hpp>
#include <lowp/storage/master.hpp>
#include <lowp/storage/scaled.hpp>
#include <lowp/storage/split.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace lowp {

namespace detail {

/// A storage of several arrays, or with a scale.
template <class S>
concept layered = requires(S const& storage) {
  storage.parts();
  S::names;
};

/// A layered storage with a scale for each block of elements.
template <class S>
concept in_blocks = layered<S> && requires { S::elements_per_scale; };

template <class S>
using layout_of = std::remove_cv_t<decltype(std::declval<S const&>().layout())>;

template <class Parts>
inline constexpr bool are_written = false;
template <class... T>
inline constexpr bool are_written<std::tuple<std::span<T>...>> = !(std::is_const_v<T> || ...);

}  // namespace detail

/// An `input`, or any struct of the folder storage.
template <class S>
concept readable = input<S> || detail::layered<std::remove_cvref_t<S>>;

/// A storage for a moment: an `output`, or any struct of the folder storage.
template <class S>
concept moment_storage =
    output<S> ||
    (detail::layered<std::remove_cvref_t<S>> &&
     detail::are_written<decltype(std::declval<std::remove_cvref_t<S> const&>().parts())>);

/// A storage for a parameter: as for a moment, but not block_scaled.
template <class S>
concept storage = moment_storage<S> && !detail::in_blocks<std::remove_cvref_t<S>>;

namespace detail {

template <class T>
using not_a_range_of_float_or_a_narrow_type_such_as_std_span_x_data_x_size_nor_a_storage =
    fit<readable<T>>;

template <class Name>
using needs_readable =
    needs<Name, not_a_range_of_float_or_a_narrow_type_such_as_std_span_x_data_x_size_nor_a_storage>;

inline namespace LOWP_UNIT {

/// Returns the ranges of an argument, with their names in error texts.
template <class S>
auto extents_of(char const* name, S& s) {
  if constexpr (layered<std::remove_const_t<S>>) {
    std::size_t i = 0;
    auto all = std::apply(
        [&](auto const&... part) { return std::array{extent(name, part, S::names[i++])...}; },
        s.parts());
    if constexpr (in_blocks<std::remove_const_t<S>>) all.back().per_entry = S::elements_per_scale;
    return all;
  } else {
    return std::array{extent(name, s)};
  }
}

template <class... Extents>
auto joined(Extents const&... each) {
  return std::apply([](auto const&... one) { return std::array{one...}; }, std::tuple_cat(each...));
}

/// Adds the error text of each invalid storage.
template <std::size_t N, class... S>
void check_storages(call_check& check, char const* const (&names)[N], S const&... storages) {
  std::size_t i = 0;
  auto const add = [&](auto const& storage) {
    char const* const name = names[i++];
    if constexpr (requires { storage.invalid(); }) {
      error_text const why = storage.invalid();
      if (!why.empty()) check.add(joined_text({check.function(), ": ", name, ": "}) + why);
    }
  };
  (add(storages), ...);
}

/// Returns the error text of an operation that only reads its storages.
template <class Executor, std::size_t N, class Extents, class... S>
error_text check_readable(Executor const& executor, char const* function,
                          char const* const (&names)[N], Extents const& extents,
                          S const&... storages) {
  call_check check(function);
  check_storages(check, names, storages...);
  check.equal_sizes(extents);
  check.reachable(executor, extents);
  return check.text();
}

/// Refuses arrays that overlap. If there are only two, `from` may be the storage of `to`.
template <std::size_t N, std::size_t M>
void check_overlap(call_check& check, std::array<extent, N> const& to,
                   std::array<extent, M> const& from) {
  for (std::size_t i = 0; i < N; ++i) {
    for (std::size_t j = i + 1; j < N; ++j) check.no_overlap(to[i], to[j]);
    for (extent const& each : from)
      if (N * M == 1)
        check.same_or_apart(to[i], each);
      else
        check.no_overlap(to[i], each);
  }
}

}  // namespace LOWP_UNIT

/// The element type whose default policy a storage takes.
template <class S>
struct policy_type_of {
  using type = element_of<S>;
};
template <layered S>
struct policy_type_of<S> {
  using type = typename layout_of<S>::policy_type;
};
template <in_blocks S>
struct policy_type_of<S> {
  using type = element_of<decltype(S::codes)>;
};
template <class S>
using policy_type = typename policy_type_of<std::remove_cvref_t<S>>::type;

template <simd::access A, class Layout, std::size_t I, class Pointer, class R>
LOWP_HOST_FN auto part_operand(Pointer data, R const& rounding, overflow policy,
                               std::uint32_t draw) {
  using T = typename Layout::parts::template type<I>;
  constexpr bool is_rounded = I == static_cast<std::size_t>(Layout::rounded);
  constexpr auto direction =
      A == simd::access::read_write && !Layout::reads(I) ? simd::access::write : A;
  using mode = std::conditional_t<is_rounded, R, nearest_even>;
  using target = std::conditional_t<direction == simd::access::read, T const, T>;
  mode chosen{};
  if constexpr (is_rounded) chosen = rounding;
  return simd::operand<T, direction, mode>{reinterpret_cast<target*>(data), chosen, policy, draw};
}

template <simd::access A, class S, class R, std::size_t... I>
LOWP_HOST_FN auto composite_operand(S const& s, R const& rounding, overflow policy,
                                    std::uint32_t draw, std::index_sequence<I...>) {
  using layout = layout_of<S>;
  auto const parts = s.parts();
  auto const tuple =
      std::tuple(part_operand<A, layout, I>(std::get<I>(parts).data(), rounding, policy, draw)...);
  return simd::composite<layout, std::tuple_element_t<I, std::remove_cv_t<decltype(tuple)>>...>{
      s.layout(), tuple};
}

/// Returns the kernel operand of a storage.
template <simd::access A, class S, class R = nearest_even>
LOWP_HOST_FN auto operand_of(S& s, R const& rounding = {},
                             overflow policy = default_overflow<policy_type<S>>,
                             std::uint32_t draw = 0) {
  if constexpr (in_blocks<std::remove_const_t<S>>)
    return simd::blocked<policy_type<S>, S::elements_per_scale, A, R>{
        {s.codes.data(), rounding, policy, draw}, s.scales.data()};
  else if constexpr (layered<std::remove_const_t<S>>)
    return composite_operand<A>(s, rounding, policy, draw,
                                std::make_index_sequence<std::tuple_size_v<decltype(s.parts())>>{});
  else
    return simd::operand<element_of<S>, A, R>{std::ranges::data(s), rounding, policy, draw};
}

}  // namespace detail

}  // namespace lowp
