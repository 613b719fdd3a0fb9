// SPDX-License-Identifier: Apache-2.0
// Tensors of PyTorch's C++ library, without a copy:
//
//     lowp::update(lowp::view<lowp::bfloat16>(p), lowp::view<lowp::bfloat16>(p.grad()), ...);
//
// Needs the headers of libtorch or of PyTorch's wheel, and its library c10 at link time.
#pragma once

#include <lowp/interop/torch.hpp>

namespace lowp {

/// A type that PyTorch has too: float, bfloat16, float16, float8_e4m3fn, float8_e5m2,
/// float8_e4m3fnuz, float8_e5m2fnuz, float8_e8m0fnu, or one of them with const.
template <class T>
concept torch_element = detail::torch_element<T>;

namespace functions {

/// Returns the elements of a tensor in the memory of the processor:
///
///     view<bfloat16>(tensor)         a std::span<bfloat16>
///     view<bfloat16 const>(tensor)   a std::span<bfloat16 const>, which copies no shared memory
///     view<float, bfloat16>(tensor)  a std::variant of spans, for std::visit
///     view(tensor)                   a std::variant of spans of every torch_element
///
/// The span has tensor.numel() elements, in row-major order, and aliases the tensor. It is valid as
/// long as the tensor's storage lives and is not resized. Autograd does not see writes through it:
/// an optimizer calls bump_version() of the tensor's implementation.
///
/// A narrow type may alias all others (lowp/view.hpp), so accesses as at::BFloat16 may alternate.
/// A unit with lowp/view.hpp has view(pointer, size) of PyTorch's elements, too.
///
/// @throws std::invalid_argument  undefined; another layout, device or dtype; not contiguous;
///                                negated lazily; without memory; not aligned. The text has dtype,
///                                sizes, strides and device
template <torch_element... T>
[[nodiscard]] LOWP_HOST_FN typename detail::tensor_view<T...>::type view(
    at::TensorBase const& tensor) {
  return detail::tensor_view<T...>::of(tensor, "view", c10::DeviceType::CPU);
}

}  // namespace functions
using namespace functions;

namespace cuda {

/// Returns the elements of a tensor in the memory of a GPU, for the operations of cuda/lowp.cuh;
/// otherwise as lowp::view. The caller makes the tensor's device current, and orders the stream
/// after PyTorch's.
template <torch_element... T>
[[nodiscard]] LOWP_HOST_FN typename detail::tensor_view<T...>::type view(
    at::TensorBase const& tensor) {
  return detail::tensor_view<T...>::of(tensor, "cuda::view", c10::DeviceType::CUDA);
}

}  // namespace cuda

}  // namespace lowp
