// SPDX-License-Identifier: Apache-2.0
// Numbers of another library as a span of lowp's type, and the reverse, without a copy:
//
//     std::vector<Eigen::bfloat16> weights = ...;                   // with lowp/eigen.hpp
//     lowp::update(lowp::view(weights.data(), weights.size()), ...);
//
//     std::vector<std::uint16_t> codes = ...;                       // the program names the format
//     lowp::cast(lowp::view<lowp::bfloat16>(codes.data(), codes.size()), floats);
//
// Defined, by the rules that g++, clang and nvcc have for __attribute__((may_alias)), which every
// narrow type has: they keep the order of an access to a narrow value and an access through any
// other type to the same memory. So reads and writes through both may alternate. The language has
// no such rule.
#pragma once

#include <lowp/interop/view.hpp>

#include <cstddef>
#include <span>
#include <type_traits>

namespace lowp {

namespace functions {

/// Returns the `size` numbers from `data` on as a span of value_type_of<X>::type, const if X is. It
/// aliases them. X is `_Float16`, `__bf16`, a type of a library whose header of lowp is included
/// (lowp/eigen.hpp, lowp/cuda/interop.cuh), or one for which the program specialises value_type_of.
/// Also takes float and narrow types.
template <class X>
  requires detail::has_value_type<X>
[[nodiscard]] LOWP_HOST_FN auto view(X* data, std::size_t size) {
  using T = typename value_type_of<X>::type;
  static_assert(detail::same_memory<X, T>, "value_type_of has a type of another size or alignment");
  return std::span<T>(reinterpret_cast<T*>(data), size);
}

/// Returns the `size` numbers or codes from `data` on as a span of To, const if From is. It aliases
/// them. To or From is narrow; the other is any trivially copyable type of the same size and
/// alignment, and not a type of another format.
template <class To, class From>
  requires(detail::same_in_memory<detail::with_const_of<To, From>, From> &&
           !std::is_same_v<To, From>)  // the other one takes it
[[nodiscard]] LOWP_HOST_FN auto view(From* data, std::size_t size) {
  using T = detail::with_const_of<To, From>;
  return std::span<T>(reinterpret_cast<T*>(data), size);
}

}  // namespace functions
using namespace functions;

}  // namespace lowp
