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

#include <string>
#include <tuple>
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
inline constexpr c10::ScalarType torch_dtype =
    c10::CppTypeToScalarType<decltype(torch_types::native(std::type_identity<T>{}))>::value;

inline namespace LOWP_UNIT {

/// Returns the error text of a tensor without elements of `dtypes` in the memory of `device`.
LOWP_NOINLINE inline error_text check_tensor(char const* function, at::TensorBase const& tensor,
                                             c10::DeviceType device,
                                             std::initializer_list<c10::ScalarType> dtypes) {
  if (!tensor.defined()) return c10::str(function, ": the tensor is undefined");
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

  std::string const shape =
      is_strided ? c10::str(", sizes ", tensor.sizes(), ", strides ", tensor.strides()) : "";
  return c10::str(function, ": a tensor of ", tensor.scalar_type(), shape, ", on ", tensor.device(),
                  ": ", reason);
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

/// True if exactly one of the types is T.
template <class T, class... Each>
inline constexpr bool is_once = (0 + ... + int{std::is_same_v<T, Each>}) == 1;

/// The result of a view of these types: a span, or for several a variant of spans.
template <class... T>
struct tensor_view {
  using type =
      std::conditional_t<sizeof...(T) == 1, std::tuple_element_t<0, std::tuple<std::span<T>...>>,
                         std::variant<std::span<T>...>>;

  LOWP_HOST_FN static type of(at::TensorBase const& tensor, char const* function,
                              c10::DeviceType device) {
    detail::refuse_if(
        check_tensor(function, tensor, device, {torch_dtype<std::remove_const_t<T>>...}));
    type view;
    static_cast<void>(((tensor.scalar_type() == torch_dtype<std::remove_const_t<T>> &&
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
concept torch_element =
    requires { detail::torch_types::native(std::type_identity<std::remove_const_t<T>>{}); };

namespace functions {

/// Returns the elements of a tensor in the memory of the processor:
///
///     view<bfloat16>(tensor)         a std::span<bfloat16>
///     view<bfloat16 const>(tensor)   a std::span<bfloat16 const>, which copies no shared memory
///     view<float, bfloat16>(tensor)  a std::variant of spans, for std::visit
///     view(tensor)                   a std::variant of spans of every torch_element
///
/// The span has tensor.numel() elements, in row-major order, and aliases the tensor. It is valid as
/// long as the tensor's storage lives and is not resized. Accesses as at::BFloat16 may alternate
/// (lowp/view.hpp). Autograd does not see writes through it: an optimizer calls bump_version() of
/// the tensor's implementation.
///
/// @throws std::invalid_argument  undefined; another layout, device or dtype; not contiguous;
///                                negated lazily; without memory; not aligned. The text has dtype,
///                                sizes, strides and device
template <torch_element... T>
  requires(detail::is_once<T, T...> && ...)
[[nodiscard]] LOWP_HOST_FN typename detail::tensor_view<T...>::type view(
    at::TensorBase const& tensor) {
  return detail::tensor_view<T...>::of(tensor, "view", c10::DeviceType::CPU);
}

}  // namespace functions
using namespace functions;

namespace cuda {

/// Returns the elements of a tensor in the memory of a GPU, otherwise as lowp::view. The caller
/// makes the tensor's device current, and orders the stream after PyTorch's.
template <torch_element... T>
  requires(detail::is_once<T, T...> && ...)
[[nodiscard]] LOWP_HOST_FN typename detail::tensor_view<T...>::type view(
    at::TensorBase const& tensor) {
  return detail::tensor_view<T...>::of(tensor, "cuda::view", c10::DeviceType::CUDA);
}

}  // namespace cuda

}  // namespace lowp
