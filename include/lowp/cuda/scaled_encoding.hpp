// SPDX-License-Identifier: Apache-2.0
// Faster ways from scaled elements to codes than a rule's own.
#pragma once

#include <lowp/cuda/accessor.hpp>

namespace lowp::cuda {

/// @tparam CodesEncode  true if the accessor of the codes has a faster way itself
template <class Codes, class Rule, class Hardware, bool CodesEncode>
struct scaled_encoding {
  static constexpr bool is_to_nearest =
      std::is_same_v<mode_type<typename Codes::rounding_type>, nearest_even>;
  static constexpr bool is_packed = !std::is_same_v<typename Codes::order, simd::unpacked>;
  static constexpr bool encodes_plainly =
      !CodesEncode && requires(Rule rule, float x) { rule.is_plain(lanes::bits(x), x); };
  static constexpr bool encodes_nibbles =
      encodes_plainly && is_packed && detail::has_nibbles<Codes::type::descriptor, std::uint32_t> &&
      (is_to_nearest || detail::draws_bits<mode_type<typename Codes::rounding_type>>);
  // By one instruction for two.
  static constexpr bool converts_nibbles =
      encodes_plainly && is_packed && is_to_nearest &&
      requires(float const (&x)[std::size_t{chunk_size}]) {
        Hardware::nibbles(std::type_identity<typename Codes::type>{}, x);
      };

  template <class F>
  LOWP_FN static F without_sign_for_nibbles(F const& x) {
    if constexpr (encodes_nibbles && !converts_nibbles)
      return lane<F>::absolute(x);
    else
      return x;
  }
  template <class F>
  LOWP_FN static auto signs_of([[maybe_unused]] F const (&x)[chunk_size]) {
    if constexpr (encodes_nibbles)
      return detail::signs_for_nibbles(x);
    else
      return 0;
  }
};

}  // namespace lowp::cuda
