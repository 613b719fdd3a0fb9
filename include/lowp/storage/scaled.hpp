// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/base/error_text.hpp>
#include <lowp/storage/layout.hpp>

namespace lowp {

namespace detail {

template <narrow T>
struct scaled_layout : layout_of_parts<T> {
  float inverse, next, next_inverse;

  template <class U>
  class codec {
   public:
    LOWP_FN codec(scaled_layout const& layout, auto const& rounding, overflow policy, nans kind)
        : layout_(layout), part_(rounding, policy, kind) {}

    template <class F>
    LOWP_FN F decode(U const (&codes)[1]) const {
      return decoded<F>(codes, layout_.inverse);
    }
    template <class F>
    LOWP_FN F decode_new(U const (&codes)[1]) const {
      return decoded<F>(codes, layout_.next_inverse);
    }
    /// A code times its inverse may be 2^128.
    LOWP_FN bool is_finite_with_code() const {
      constexpr int most = 254 - T::descriptor.max_exponent();
      return static_cast<int>(lanes::bits(layout_.next_inverse) >> 23) <= most;
    }
    template <class F, class R>
    LOWP_FN auto encode(F const& w, U const& random, R const& rounding, U (&codes)[1]) const {
      auto const result =
          part_.encode(lanes::mul(w, lanes::broadcast<F>(layout_.next)), random, rounding);
      codes[0] = result.code;
      return result.overflowed;
    }

   private:
    template <class F>
    LOWP_FN static F decoded(U const (&codes)[1], float inverse) {
      return lanes::mul(part_codec<T, U>::template decode<F>(codes[0]),
                        lanes::broadcast<F>(inverse));
    }

    scaled_layout layout_;
    part_codec<T, U> part_;
  };
};

inline namespace LOWP_UNIT {

/// Returns the error text of a scale other than a power of two whose inverse is normal too.
inline error_text check_power_of_two(float scale) {
  std::uint32_t const bits = lanes::bits(scale);
  if ((bits & 0x807fffff) == 0 && bits != 0 && bits < std::uint32_t{254} << 23) return {};
  return joined_text(
      {"scale is ", shortest_text(scale).text, ", not a power of two from 2^-126 to 2^126"});
}
inline float inverse_of_scale(float x) {
  return lanes::from_bits<float>((std::uint32_t{254} << 23) - lanes::bits(x));
}

}  // namespace LOWP_UNIT

}  // namespace detail

/// Codes of a narrow format with one power of two for the tensor:
///
///     codes[i] = round(x * scale),  x = codes[i] / scale
///
/// A step stores new values with `next`, which then is the tensor's scale.
///
/// @tparam T  a narrow type; const if nothing is written, as for gradients
template <class T>
  requires narrow<std::remove_const_t<T>>
struct scaled {
  std::span<T> codes;
  float scale;         ///< a power of two, 2^-126 to 2^126
  float next = scale;  ///< the scale of what a step writes, likewise

  static constexpr char const* names[] = {""};
  LOWP_HOST_FN auto parts() const { return std::tuple(codes); }
  LOWP_HOST_FN detail::scaled_layout<detail::explicit_of<std::remove_const_t<T>>> layout() const {
    return {{}, detail::inverse_of_scale(scale), next, detail::inverse_of_scale(next)};
  }
  [[nodiscard]] LOWP_HOST_FN detail::error_text invalid() const {
    detail::error_text const wrong = detail::check_power_of_two(scale);
    return wrong.empty() ? detail::check_power_of_two(next) : wrong;
  }
};
template <class R, class... Scale>
scaled(R&&, Scale...) -> scaled<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

}  // namespace lowp
