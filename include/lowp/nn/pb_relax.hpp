// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/base/text.hpp>
#include <lowp/nn/softmax.hpp>
#include <lowp/storage/layout.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace lowp::detail {

/// Softmax with every step but the sum rounded to T.
template <element T>
struct pb_relax_rows : softmax_rows<plain_score> {
  template <class F>
  using state = softmax_rows<plain_score>::state<F>;

  float alpha;

  [[nodiscard]] LOWP_HOST_FN error_text check(char const* function, row_extent const&) const {
    std::uint32_t const bits = lanes::bits(alpha);  // positive floats order as integers
    if (bits - 1 < lanes::binary32_infinity - 1) return {};
    return std::string(function) + ": alpha is " + text_of(alpha) + ", not finite and above 0";
  }

  template <class F>
  LOWP_FN static F rounded(F const& x) {
    using U = lanes::word<F>;
    part_codec<T, U> const codec(nearest_even{}, default_overflow<T>, nans::canonical);
    return part_codec<T, U>::template decode<F>(
        codec.encode(x, lanes::broadcast<U>(0), nearest_even{}).code);
  }

  using softmax_rows<plain_score>::value;
  template <class F>
  LOWP_FN F value(fold::number<1>, state<F> const& s, F const& x) const {
    F const difference = rounded(lanes::sub(s.largest, x));
    F const relaxed = rounded(lanes::mul(difference, lanes::broadcast<F>(alpha)));
    return rounded(exp_of_minus(relaxed));
  }
  using softmax_rows<plain_score>::settle;
  template <class F>
  LOWP_FN void settle(fold::number<1>, state<F>& s, F const& sum) const {
    softmax_rows<plain_score>::settle(fold::number<1>{}, s, rounded(sum));
    s.total = rounded(s.total);
  }
};

}  // namespace lowp::detail
