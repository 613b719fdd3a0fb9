// SPDX-License-Identifier: Apache-2.0
// Device memory in the form that operations take.
#pragma once

#include <lowp/interop/view.hpp>
#include <lowp/ops/arguments.hpp>
#include <lowp/simd/operand.hpp>

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

namespace lowp::cuda {

/// A compiler prints this name where the format of a small class is unknown. The other remedy is to
/// specialise lowp::value_type_of.
struct include_lowp_cuda_interop_cuh {};

template <class X, class Remedy = include_lowp_cuda_interop_cuh>
  requires(std::is_class_v<X> && std::is_trivially_copyable_v<X> && sizeof(X) <= 2 &&
           !detail::has_value_type<X>)
void view(X* data, std::size_t size) = delete;

/// Returns a span of `size` elements that begins at a device pointer. Also takes other libraries'
/// wrappers of such a pointer, with `get()`.
template <class Pointer>
auto view(Pointer data, std::size_t size) {
  if constexpr (requires { data.get(); }) {
    return view(data.get(), size);
  } else if constexpr (detail::has_value_type<std::remove_pointer_t<Pointer>>) {
    return detail::span_of<typename value_type_of<std::remove_pointer_t<Pointer>>::type>(data,
                                                                                         size);
  } else {
    return std::span(data, size);
  }
}

/// A range whose data() is a device pointer and which has a size(). Operations but cast refuse
/// numbers.
template <class R>
concept device_range = requires(R& range) {
  view(range.data(), range.size());
  requires element<typename decltype(view(range.data(), range.size()))::value_type> ||
               detail::plain_number<typename decltype(view(range.data(),
                                                           range.size()))::value_type>;
};

/// Returns a range as a span; passes other arguments unchanged.
template <class R>
decltype(auto) viewed(R&& range) {
  if constexpr (device_range<std::remove_reference_t<R>>)
    return view(range.data(), range.size());
  else
    return std::forward<R>(range);
}

}  // namespace lowp::cuda
