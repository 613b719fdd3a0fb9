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

#include <lowp/interop/view.hpp>

#include <cstddef>
#include <type_traits>

namespace lowp {

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
