// SPDX-License-Identifier: Apache-2.0
// Tensors of PyTorch's C++ library, without a copy:
//
//     lowp::update(lowp::view<lowp::bfloat16>(p), lowp::view<lowp::bfloat16>(p.grad()), ...);
//
// Needs the headers of libtorch or of PyTorch's wheel, and its library c10 at link time.
#pragma once

#include <lowp/base/error_text.hpp>
#include <lowp/interop/view.hpp>

#include <ATen/core/TensorBase.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <variant>

namespace lowp::detail {

using torch_types =
    native_pairs<native_pair<float, float>, native_pair<bfloat16, c10::BFloat16>,
                 native_pair<float16, c10::Half>, native_pair<float8_e4m3fn, c10::Float8_e4m3fn>,
                 native_pair<float8_e5m2, c10::Float8_e5m2>,
                 native_pair<float8_e4m3fnuz, c10::Float8_e4m3fnuz>,
                 native_pair<float8_e5m2fnuz, c10::Float8_e5m2fnuz>,
                 native_pair<float8_e8m0fnu, c10::Float8_e8m0fnu>>;

template <class T>
struct torch_dtype {};
template <class T>
  requires requires { torch_types::native(std::type_identity<T>{}); }
struct torch_dtype<T>
    : c10::CppTypeToScalarType<decltype(torch_types::native(std::type_identity<T>{}))> {};

inline namespace LOWP_UNIT {

LOWP_COLD inline std::string text_of(c10::IntArrayRef numbers) {
  std::string text = "[";
  for (std::int64_t const n : numbers) (text += text.size() > 1 ? ", " : "") += std::to_string(n);
  return text + "]";
}

/// Returns the error text of a tensor that has no elements of `dtypes` in the memory of `device`.
LOWP_COLD inline std::string refusal_of(at::TensorBase const& tensor, c10::DeviceType device,
                                        std::initializer_list<c10::ScalarType> dtypes) {
  std::string wanted, reason;
  bool is_wanted = false;
  for (c10::ScalarType const dtype : dtypes) {
    (wanted += wanted.empty() ? "" : " or ") += c10::toString(dtype);
    is_wanted = is_wanted || tensor.scalar_type() == dtype;
  }
  bool const is_strided =
      tensor.layout() == c10::kStrided && !tensor.unsafeGetTensorImpl()->is_nested();
  if (!is_strided)
    reason = "its layout is not strided";
  else if (tensor.device().type() != device)
    reason = "it must be on " + c10::DeviceTypeName(device, true);
  else if (!is_wanted)
    reason = "it must be of " + wanted;
  else if (!tensor.is_contiguous())
    reason = "it must be contiguous";
  else if (tensor.is_neg())
    reason = "its elements are negated lazily: call resolve_neg()";
  else if (tensor.numel() == 0)
    return {};
  else if (tensor.const_data_ptr() == nullptr)
    reason = "it has no memory";
  else if (reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr()) % tensor.itemsize() != 0)
    reason = "its elements are not aligned";
  else
    return {};

  std::string text = std::string("a tensor of ") + c10::toString(tensor.scalar_type());
  if (is_strided)
    text += ", sizes " + text_of(tensor.sizes()) + ", strides " + text_of(tensor.strides());
  return text + ", on " + tensor.device().str() + ": " + reason;
}

/// Returns the error text of a call, empty for a tensor that has a span.
inline error_text check_tensor(char const* function, at::TensorBase const& tensor,
                               c10::DeviceType device,
                               std::initializer_list<c10::ScalarType> dtypes) {
  std::string const refusal =
      tensor.defined() ? refusal_of(tensor, device, dtypes) : "the tensor is undefined";
  return refusal.empty() ? error_text() : error_text(std::string(function) + ": " + refusal);
}

}  // namespace LOWP_UNIT

template <class T>
LOWP_HOST_FN std::span<T> elements_of(at::TensorBase const& tensor) {
  auto const size = static_cast<std::size_t>(tensor.numel());
  if constexpr (std::is_const_v<T>)
    return {static_cast<T*>(tensor.const_data_ptr()), size};
  else
    return {static_cast<T*>(tensor.mutable_data_ptr()), size};
}

/// The result of a view of these types: a span, or for several a variant of spans.
template <class... T>
struct tensor_view {
  using type =
      std::conditional_t<sizeof...(T) == 1, std::tuple_element_t<0, std::tuple<std::span<T>...>>,
                         std::variant<std::span<T>...>>;

  LOWP_HOST_FN static type of(at::TensorBase const& tensor, char const* function,
                              c10::DeviceType device) {
    detail::refuse_if(
        check_tensor(function, tensor, device, {torch_dtype<std::remove_const_t<T>>::value...}));
    type view;
    static_cast<void>(((tensor.scalar_type() == torch_dtype<std::remove_const_t<T>>::value &&
                        (view = elements_of<T>(tensor), true)) ||
                       ...));
    return view;
  }
};
template <>
struct tensor_view<> : tensor_view<float, bfloat16, float16, float8_e4m3fn, float8_e5m2,
                                   float8_e4m3fnuz, float8_e5m2fnuz, float8_e8m0fnu> {};

}  // namespace lowp::detail

namespace lowp {
template <class Theirs>
  requires(!element<Theirs> &&
           requires { detail::torch_types::value(std::type_identity<Theirs>{}); })
struct value_type_of<Theirs> {
  using type = decltype(detail::torch_types::value(std::type_identity<Theirs>{}));
};
/// A type that PyTorch has too: float, bfloat16, float16, float8_e4m3fn, float8_e5m2,
/// float8_e4m3fnuz, float8_e5m2fnuz, float8_e8m0fnu, or one of them with const.
template <class T>
concept torch_element = requires { detail::torch_dtype<std::remove_const_t<T>>::value; };

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
