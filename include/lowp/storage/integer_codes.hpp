// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/format/rounding.hpp>

#include <cstdint>

namespace lowp::detail {

LOWP_EXACT_BEGIN

/// Rounds magnitudes below 2^23 to integers; 0 for NaN. Both nearest modes do so as floor(x + 0.5f)
/// does in float: it also takes the largest float below one half for one half. `tie` is 1 where a
/// tie goes away from zero, and -1 where it does not.
template <class F, class R>
LOWP_FN lanes::word<F> integer_code(F const& magnitude, lanes::mask<F> const& is_negative,
                                    lanes::word<F> const& tie, lanes::word<F> const& random,
                                    R const& rounding) {
  using namespace lanes;
  using U = word<F>;
  constexpr int width = 24;
  constexpr std::uint32_t half = 1u << (width - 1);
  F const size = select(is_nan(magnitude), broadcast<F>(0), magnitude);
  U const whole = to_word(size);
  F const rest = sub(size, to_real(whole));
  U fraction = to_word(mul(rest, broadcast<F>(static_cast<float>(1u << width))));
  // Any remainder counts for a directed mode.
  fraction = select(equal(bits(rest), broadcast<U>(0)), fraction, max(fraction, broadcast<U>(1)));
  auto const is_tie =
      mask_or(equal(fraction, broadcast<U>(half)), equal(bits(rest), broadcast<U>(bits(0.5f) - 1)));
  fraction = select(is_tie, broadcast<U>(half) + tie, fraction);
  return whole +
         ((fraction + rounding.template increment<width>(whole & 1, is_negative, random)) >> width);
}

LOWP_EXACT_END

}  // namespace lowp::detail
