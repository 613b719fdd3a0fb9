// SPDX-License-Identifier: Apache-2.0
// The rule by which a block of elements shares a scale. Executors have the loops.
#pragma once

#include <lowp/storage/scale.hpp>

#include <cstdint>

namespace lowp::detail {

/// The members, for codes that T names:
///
///     code, scale                              element types of the arrays
///     value(scale)                             a float
///     of(amax bits, scale_rule)                the scale of a block's largest magnitude
///     decode<F>(code, value)                   values in lanes
///     encoder<U>(rounding, policy, nans)       codes in lanes: (x, scale, random, rounding)
template <class T>
struct block_rule;

template <scalable T>
struct block_rule<T> {
  using code = T;
  using scale = float8_e8m0fnu;

  LOWP_FN static float value(scale of_block) {
    return lanes::from_bits<float>(value_of_block_scale(std::uint32_t{of_block.bits()}));
  }
  LOWP_FN static scale of(std::uint32_t amax_bits, scale_rule rule) {
    return scale::from_bits(static_cast<std::uint8_t>(block_scale<T>(amax_bits, rule)));
  }

  template <class U>
  class encoder {
   public:
    encoder() = default;
    template <class R>
    LOWP_FN encoder(R const& rounding, overflow policy, nans kind)
        : results_(special_results_of<T::descriptor, U>(rounding, policy, kind)) {}
    template <class F, class R>
    LOWP_FN U operator()(F const& x, scale of_block, U const& random, R const& rounding) const {
      float const reciprocal =
          lanes::from_bits<float>(reciprocal_of_block_scale(std::uint32_t{of_block.bits()}));
      return detail::encode<T::descriptor>(
                 lanes::bits(lanes::mul(x, lanes::broadcast<F>(reciprocal))), random, rounding,
                 results_)
          .code;
    }

   private:
    special_results<U> results_;
  };
};

}  // namespace lowp::detail
