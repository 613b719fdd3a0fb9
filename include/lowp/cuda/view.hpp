// SPDX-License-Identifier: Apache-2.0
// Device memory in the form that operations take.
#pragma once

#include <lowp/interop/view.hpp>
#include <lowp/ops/arguments.hpp>
#include <lowp/simd/operand.hpp>

namespace lowp::cuda {

/// A compiler prints this name where the format of a small class is unknown. The other remedy is to
/// specialise lowp::value_type_of.
struct include_lowp_cuda_interop_cuh {};

/// Neither void nor a class that is only declared: a program may keep pointers to these in ranges.
template <class X>
concept complete = std::is_object_v<X> && requires { sizeof(X); };

template <class X>
concept unknown_format = complete<X> && std::is_class_v<X> && std::is_trivially_copyable_v<X> &&
                         sizeof(X) <= 2 && !detail::has_value_type<X>;

template <unknown_format X, class Remedy = include_lowp_cuda_interop_cuh>
void view(X* data, std::size_t size) = delete;

/// Returns a span of `size` elements that begins at a device pointer.
template <class X>
  requires(complete<X> && !unknown_format<X>)
auto view(X* data, std::size_t size) {
  if constexpr (detail::has_value_type<X>)
    return detail::span_of<typename value_type_of<X>::type>(data, size);
  else
    return std::span(data, size);
}
/// Also takes other libraries' wrappers of such a pointer, with `get()`.
template <class Pointer>
  requires requires(Pointer const& p) { p.get(); }
auto view(Pointer const& data, std::size_t size) -> decltype(cuda::view(data.get(), size)) {
  return cuda::view(data.get(), size);
}

/// Returns the span of a range whose data() is a device pointer and which has a size().
auto view_of(auto& range)
    -> decltype(cuda::view(range.data(), static_cast<std::size_t>(range.size()))) {
  return cuda::view(range.data(), static_cast<std::size_t>(range.size()));
}

/// A range that has a view. Operations but cast refuse numbers.
template <class R>
concept device_range = !detail::packed_range<R> && requires(R& range) {
  cuda::view_of(range);
  requires element<typename decltype(cuda::view_of(range))::value_type> ||
               detail::plain_number<typename decltype(cuda::view_of(range))::value_type>;
};

/// A range whose elements have an unknown format.
template <class R>
concept range_of_unknown_format = requires(R& range) {
  requires unknown_format<std::remove_reference_t<decltype(*range.data())>>;
} || requires(R& range) {
  requires unknown_format<std::remove_reference_t<decltype(*range.data().get())>>;
};

}  // namespace lowp::cuda
