// SPDX-License-Identifier: Apache-2.0
// CUDA's own types: same size, alignment and bits as lowp's of that format, so that spans of them are
// taken by view() and values convert without a look at their numbers. The macros that take operators
// away from CUDA's types (__CUDA_NO_HALF_OPERATORS__ and its like) change nothing here.
#pragma once

#include <lowp/basic_float.hpp>
#include <lowp/cuda/view.hpp>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <type_traits>

namespace lowp::cuda {

template <>
struct value_type_of<__half> {
  using type = float16;
};
template <>
struct value_type_of<__nv_bfloat16> {
  using type = bfloat16;
};
template <>
struct value_type_of<__nv_fp8_e4m3> {
  using type = float8_e4m3fn;
};
template <>
struct value_type_of<__nv_fp8_e5m2> {
  using type = float8_e5m2;
};

/// CUDA's type for a lowp type.
template <class T>
struct native_type_of;
template <>
struct native_type_of<float16> {
  using type = __half;
};
template <>
struct native_type_of<bfloat16> {
  using type = __nv_bfloat16;
};
template <>
struct native_type_of<float8_e4m3fn> {
  using type = __nv_fp8_e4m3;
};
template <>
struct native_type_of<float8_e5m2> {
  using type = __nv_fp8_e5m2;
};

template <class Native>
using value_type = typename value_type_of<Native>::type;
template <narrow T>
using native_type = typename native_type_of<T>::type;

template <narrow T>
inline constexpr bool is_same_in_memory =
    sizeof(native_type<T>) == sizeof(T) && alignof(native_type<T>) == alignof(T) &&
    std::is_trivially_copyable_v<native_type<T>> && std::is_same_v<value_type<native_type<T>>, T>;
static_assert(is_same_in_memory<float16> && is_same_in_memory<bfloat16> &&
              is_same_in_memory<float8_e4m3fn> && is_same_in_memory<float8_e5m2>);

/// The same bits as CUDA's type, and as lowp's.
template <narrow T>
LOWP_FN native_type<T> to_native(T x) {
  return __builtin_bit_cast(native_type<T>, x);
}
template <class Native>
  requires narrow<value_type<Native>>
LOWP_FN value_type<Native> from_native(Native x) {
  return __builtin_bit_cast(value_type<Native>, x);
}

}  // namespace lowp::cuda
