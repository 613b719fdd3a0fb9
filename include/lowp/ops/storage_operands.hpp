// SPDX-License-Identifier: Apache-2.0
// Storages of a parameter or a moment: a range of one element type, or a struct of these headers.
#pragma once

#include <lowp/ops/roles.hpp>
#include <lowp/storage/dynamic_blocks.hpp>
#include <lowp/storage/flashoptim.hpp>
#include <lowp/storage/kahan.hpp>
#include <lowp/storage/master.hpp>
#include <lowp/storage/scaled.hpp>

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

/// An `any_input`, or any struct of the folder storage.
template <class S>
concept readable = any_input<S> || detail::layered<std::remove_cvref_t<S>>;

/// A storage for a moment: an `any_output`, or any struct of the folder storage.
template <class S>
concept moment_storage =
    any_output<S> ||
    (detail::layered<std::remove_cvref_t<S>> &&
     detail::are_written<decltype(std::declval<std::remove_cvref_t<S> const&>().parts())>);

/// A storage for a parameter: as for a moment, but not block_scaled.
template <class S>
concept storage = moment_storage<S> && !detail::in_blocks<std::remove_cvref_t<S>>;

/// A storage in which a second moment does not underflow. The square of a gradient of 1e-4 is 1e-8,
/// less than half of float16's smallest value: v stays 0, and a step is m / eps. `scaled` and
/// blocks have scales against that.
template <class V>
concept holds_squares = readable<V> && (!any_input<V> || requires {
                          requires std::numeric_limits<element_of<V>>::min_exponent <= -125;
                        });

namespace detail {

template <class T>
using not_a_range_of_float_or_a_narrow_type_such_as_std_span_x_data_x_size_nor_a_storage =
    fit<readable<T>>;

template <class Name>
using needs_readable =
    needs<Name, not_a_range_of_float_or_a_narrow_type_such_as_std_span_x_data_x_size_nor_a_storage>;

template <simd::access A, class Layout, std::size_t K, class Pointer, class R>
LOWP_HOST_FN auto part_operand(Pointer data, R const& rounding, overflow policy,
                               std::uint32_t draw) {
  using T = std::tuple_element_t<K, typename Layout::parts>;
  constexpr bool is_rounded = K == static_cast<std::size_t>(Layout::rounded);
  constexpr auto direction =
      A == simd::access::read_write && !Layout::reads(K) ? simd::access::write : A;
  using mode = std::conditional_t<is_rounded, R, nearest_even>;
  using target = std::conditional_t<direction == simd::access::read, T const, T>;
  mode chosen{};
  if constexpr (is_rounded) chosen = rounding;
  return simd::operand<T, direction, mode>{reinterpret_cast<target*>(data), chosen, policy, draw};
}

template <class Layout, class... Part>
LOWP_HOST_FN simd::composite<std::index_sequence_for<Part...>, Layout, Part...> composite_of(
    Layout const& layout, Part const&... part) {
  return {layout, {{part}...}};
}

/// The arrays of a storage, and its composite operand.
template <class S, class Indices>
struct argument_of_parts;
template <class S, std::size_t... K>
struct argument_of_parts<S, std::index_sequence<K...>> {
  using layout = layout_of<S>;
  using rounded_element = typename layout::rounded_element;

  static constexpr std::size_t ranges = sizeof...(K);
  LOWP_HOST_FN static void describe(extent* to, char const* name, S& s) {
    auto const parts = s.parts();
    ((to[K] = extent(name, std::get<K>(parts), S::names[K])), ...);
  }
  template <simd::access A, class R>
  LOWP_HOST_FN static auto operand(S& s, R const& rounding, overflow policy, std::uint32_t draw) {
    auto const parts = s.parts();
    return composite_of<layout>(s.layout(), part_operand<A, layout, K>(std::get<K>(parts).data(),
                                                                       rounding, policy, draw)...);
  }
};
template <layered S>
struct argument_of<S>
    : argument_of_parts<
          S, std::make_index_sequence<std::tuple_size_v<decltype(std::declval<S&>().parts())>>> {};

/// Returns the codes of a storage in blocks as elements of a narrow type. If its rule has codes of
/// its own, a type carries their bytes.
template <in_blocks S>
LOWP_HOST_FN auto codes_of(S const& s) {
  if constexpr (requires { typename S::block_rule::carrier; }) {
    using carrier = typename S::block_rule::carrier;
    return std::span(reinterpret_cast<carrier*>(s.codes.data()), s.codes.size());
  } else {
    return s.codes;
  }
}

/// Codes and their scales, and the operand that takes both.
template <in_blocks S>
struct argument_of<S> {
  using rounded_element = explicit_of<element_of<decltype(codes_of(std::declval<S&>()))>>;

  static constexpr std::size_t ranges = 2;
  LOWP_HOST_FN static void describe(extent* to, char const* name, S& s) {
    auto scales = std::get<1>(s.parts());
    to[0] = extent(name, s.codes, S::names[0]);
    to[1] = extent(name, scales, S::names[1]);
    to[1].per_entry = S::elements_per_scale;
  }
  template <simd::access A, class R>
  LOWP_HOST_FN static auto operand(S& s, R const& rounding, overflow policy, std::uint32_t draw) {
    auto codes = codes_of(s);
    auto const operand =
        argument_of<decltype(codes)>::template operand<A>(codes, rounding, policy, draw);
    using order = typename std::remove_const_t<decltype(operand)>::order;
    simd::blocked<rounded_element, S::elements_per_scale, A, R, order, typename S::block_rule> both{
        operand, std::get<1>(s.parts()).data()};
    if constexpr (requires { s.rule; }) both.rule.of_scale = s.rule;
    return both;
  }
};

}  // namespace detail

}  // namespace lowp
