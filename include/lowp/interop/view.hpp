// SPDX-License-Identifier: Apache-2.0
// Numbers of another library as a span of lowp's type, and the reverse, without a copy:
//
//     std::vector<Eigen::bfloat16> weights = ...;                   // with lowp/eigen.hpp
//     lowp::update(lowp::view(weights.data(), weights.size()), ...);
//
//     std::vector<std::uint16_t> codes = ...;                       // the program names the format
//     lowp::cast(lowp::view<lowp::bfloat16>(codes.data(), codes.size()), floats);
//
// Reads and writes through the span and through the foreign type may alternate. A narrow type is
// declared may_alias, with which g++, clang and nvcc let it alias all others; ISO C++ does not.
#pragma once

#include <lowp/format/basic_float.hpp>

#include <span>

namespace lowp {

/// The type of lowp that has size, alignment and bits of X. A float and a narrow type are their
/// own; that of implicit<T> is T. The header of a library adds that library's types; a program adds
/// one of its own:
///
///     template <>
///     struct lowp::value_type_of<my::half> {
///       using type = lowp::float16;
///     };
template <class X>
struct value_type_of {};
template <element T>
struct value_type_of<T> : detail::explicit_type<T> {};
template <class X>
  requires(std::is_const_v<X> && requires { typename value_type_of<std::remove_const_t<X>>::type; })
struct value_type_of<X> : std::add_const<typename value_type_of<std::remove_const_t<X>>::type> {};

#if defined(__FLT16_MANT_DIG__)
#if defined(__aarch64__) && !defined(__clang__) && __GNUC__ < 13  // C++ lacks the other name there
__extension__ typedef __fp16 compiler_float16;
#else
__extension__ typedef _Float16 compiler_float16;
#endif
template <>
struct value_type_of<compiler_float16> : std::type_identity<float16> {};
#endif
#if defined(__BFLT16_MANT_DIG__) || \
    (defined(__clang__) && __clang_major__ > 16 && defined(__SSE2__))
__extension__ typedef __bf16 compiler_bfloat16;
template <>
struct value_type_of<compiler_bfloat16> : std::type_identity<bfloat16> {};
#endif

namespace detail {

template <class X>
concept has_value_type = requires { typename value_type_of<X>::type; };

template <class A, class B>
concept same_memory =
    std::is_trivially_copyable_v<A> && std::is_trivially_copyable_v<B> && sizeof(A) == sizeof(B) &&
    alignof(A) == alignof(B) && std::is_const_v<A> == std::is_const_v<B> &&
    std::is_volatile_v<A> == std::is_volatile_v<B>;

template <class A, class B>
inline constexpr bool same_values = true;
template <has_value_type A, has_value_type B>
inline constexpr bool same_values<A, B> =
    std::is_same_v<typename value_type_of<A>::type, typename value_type_of<B>::type>;

/// Two types, one of them narrow, that may stand for each other in memory.
template <class A, class B>
concept same_in_memory = (narrow<std::remove_const_t<A>> || narrow<std::remove_const_t<B>>) &&
                         same_memory<A, B> && same_values<A, B>;

/// Two types of one format, and a list of such pairs that finds either type by the other.
template <class T, class Native>
struct native_pair {
  static_assert(same_memory<T, Native>);
  static T value(std::type_identity<Native>);
  static Native native(std::type_identity<T>);
};
template <class... Pair>
struct native_pairs : Pair... {
  using Pair::native...;
  using Pair::value...;
};

template <class T, class X>
LOWP_HOST_FN std::span<T> span_of(X* data, std::size_t size) {
  static_assert(same_memory<X, T>, "the types differ in size, alignment or const");
  return {reinterpret_cast<T*>(data), size};
}

template <class To, class From>
using with_const_of = std::conditional_t<std::is_const_v<From>, To const, To>;

}  // namespace detail

namespace functions {

/// Returns the `size` numbers from `data` on as a span of value_type_of<X>::type, const if X is. It
/// aliases them. X is `_Float16`, `__bf16`, float or a narrow type. lowp/eigen.hpp and
/// lowp/cuda/interop.cuh add the types of those libraries; a program specialises value_type_of.
template <class X>
  requires detail::has_value_type<X>
[[nodiscard]] LOWP_HOST_FN auto view(X* data, std::size_t size) {
  return detail::span_of<typename value_type_of<X>::type>(data, size);
}

/// Returns the `size` numbers or codes from `data` on as a span of To, const if From is. It aliases
/// them. To or From is narrow; the other is any trivially copyable type of the same size and
/// alignment, and not a type of another format.
template <class To, class From>
  requires(detail::same_in_memory<detail::with_const_of<To, From>, From> &&
           !std::is_same_v<To, From>)  // view(pointer, size) takes those
[[nodiscard]] LOWP_HOST_FN auto view(From* data, std::size_t size) {
  return detail::span_of<detail::with_const_of<To, From>>(data, size);
}

}  // namespace functions
using namespace functions;

}  // namespace lowp
