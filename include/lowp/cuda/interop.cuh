// SPDX-License-Identifier: Apache-2.0
// CUDA's own types have the size, alignment and bits of lowp's types of the same format. So view()
// takes spans of them, and values convert without a look at their numbers. Macros that remove
// operators from CUDA's types (__CUDA_NO_HALF_OPERATORS__ and its like) change nothing here.
#pragma once

#include <lowp/base/hide_macros.inc>

#include <lowp/cuda/view.hpp>
#include <lowp/format/basic_float.hpp>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

namespace lowp::cuda {

using native_types = detail::native_pairs<detail::native_pair<float16, __half>,               //
                                          detail::native_pair<bfloat16, __nv_bfloat16>,       //
                                          detail::native_pair<float8_e4m3fn, __nv_fp8_e4m3>,  //
                                          detail::native_pair<float8_e5m2, __nv_fp8_e5m2>>;

/// The lowp type for a CUDA type, and the CUDA type for a lowp type.
template <class Native>
using value_type = decltype(native_types::value(std::type_identity<Native>{}));
template <narrow T>
using native_type = decltype(native_types::native(std::type_identity<detail::explicit_of<T>>{}));

/// Returns the same bits as CUDA's type, or as lowp's.
template <narrow T>
LOWP_FN native_type<T> to_native(T x) {
  return __builtin_bit_cast(native_type<T>, x);
}
template <class Native>
LOWP_FN value_type<Native> from_native(Native x) {
  return __builtin_bit_cast(value_type<Native>, x);
}

}  // namespace lowp::cuda

// nvcc loses the namespaces of `struct lowp::value_type_of`.
namespace lowp {
template <class Native>
  requires requires { cuda::native_types::value(std::type_identity<Native>{}); }
struct value_type_of<Native> {
  using type = decltype(cuda::native_types::value(std::type_identity<Native>{}));
};
}  // namespace lowp

#include <lowp/base/restore_macros.inc>
