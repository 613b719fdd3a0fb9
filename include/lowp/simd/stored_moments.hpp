// SPDX-License-Identifier: Apache-2.0
// Moments of a step that are not finite as stored, for its update_report. A loop sees them before
// they are rounded. Only if one is large, it calls this code, which reads what was stored: codes in
// words, and then, if there is an infinity or a NaN, elements one by one.
#pragma once

#include <lowp/format/nonfinite_codes.hpp>
#include <lowp/simd/isa/portable.hpp>
#include <lowp/simd/operand.hpp>
#include <lowp/simd/pairs.hpp>
#include <lowp/storage/layout.hpp>

namespace lowp::simd::inline LOWP_UNIT {

/// Says that an operand stores each magnitude below 256 as a finite value.
template <class Operand>
inline constexpr bool keeps_small = true;  // blocks
template <class T, access A, class R, class Order>
inline constexpr bool keeps_small<operand<T, A, R, Order>> = detail::holds_small<T>;
template <class Indices, class Layout, class... Part>
inline constexpr bool keeps_small<composite<Indices, Layout, Part...>> =
    requires { requires Layout::holds_small; };

/// Returns false if stored codes are finite. Words that follow the last code are 0, as its code is.
template <class T>
bool has_nonfinite_code(T const* data, std::size_t count) {
  using U = word<portable>;
  U found = lanes::broadcast<U>(0);
  std::size_t i = 0;
  auto const see = [&](void const* at) {
    found = found | detail::nonfinite_codes<T>(word_of_elements<U>(at));
  };
  for (; i + sizeof(U) / sizeof(T) <= count; i += sizeof(U) / sizeof(T)) see(data + i);
  unsigned char rest[sizeof(U)] = {};
  if (i < count) __builtin_memcpy(rest, data + i, (count - i) * sizeof(T)), see(rest);
  return lanes::any(lanes::mask_not(lanes::equal(found, lanes::broadcast<U>(0))));
}

/// Reads stored elements: `stored_values(operand)(i)`. If `may_be_nonfinite` returns false, the
/// elements [first, first + count) are finite.
template <class Operand>
struct stored_values;

template <class T, access A, class R, class Order>
struct stored_values<operand<T, A, R, Order>> {
  operand<T, A, R, Order> const& from;

  LOWP_HOST_FN T element(std::size_t i) const {
    if constexpr (operand<T, A, R, Order>::is_packed)
      return packed<T const, Order>(std::span(from.data, from.stored_in(i + 1)), i + 1)[i];
    else
      return from.data[i];
  }
  LOWP_HOST_FN std::uint32_t code(std::size_t i) const {
    return __builtin_bit_cast(code_type<T>, element(i));
  }
  LOWP_HOST_FN bool may_be_nonfinite(std::size_t first, std::size_t count) const {
    if constexpr (operand<T, A, R, Order>::is_packed)
      return true;
    else
      return has_nonfinite_code(from.data + first, count);
  }
  LOWP_HOST_FN float operator()(std::size_t i) const { return float{element(i)}; }
};
template <std::size_t... K, class Layout, class... Part>
struct stored_values<composite<std::index_sequence<K...>, Layout, Part...>> {
  using operand_type = composite<std::index_sequence<K...>, Layout, Part...>;
  operand_type const& from;
  typename Layout::template codec<std::uint32_t> codec;

  LOWP_HOST_FN explicit stored_values(operand_type const& o)
      : from(o),
        codec(o.layout, get<Layout::rounded>(o.parts).rounding,
              get<Layout::rounded>(o.parts).policy, detail::nans::canonical) {}
  LOWP_HOST_FN bool may_be_nonfinite(std::size_t first, std::size_t count) const {
    if constexpr (requires { codec.is_finite_with_code(); })
      if (codec.is_finite_with_code())
        return has_nonfinite_code(get<0>(from.parts).data + first, count);
    return true;
  }
  LOWP_HOST_FN float operator()(std::size_t i) const {
    std::uint32_t const codes[] = {stored_values<Part>{get<K>(from.parts)}.code(i)...};
    return detail::written_value<float>(codec, codes);
  }
};
template <narrow T, int Block, access A, class R, class Order, class Rule>
struct stored_values<blocked<T, Block, A, R, Order, Rule>> {
  using operand_type = blocked<T, Block, A, R, Order, Rule>;
  operand_type const& from;

  LOWP_HOST_FN bool may_be_nonfinite(std::size_t first, std::size_t count) const {
    for (std::size_t i = first / Block; i * Block < first + count; ++i)
      if (!from.rule.stores_finite(from.scales[i])) return true;
    return false;
  }
  LOWP_HOST_FN float operator()(std::size_t i) const {
    stored_values<typename operand_type::codes_type> const codes{from.codes};
    auto const scale = from.scales[i / Block];
    if constexpr (requires { from.rule.decode_code(codes.code(i), scale); })
      return from.rule.decode_code(codes.code(i), scale);
    else
      return from.rule.decode(codes(i), scale);
  }
};

/// Makes the terms of stored elements infinite that are not finite.
template <class Moment>
LOWP_COLD void mark_nonfinite(Moment const& moment, std::size_t first, std::size_t count,
                              float* terms) {
  stored_values<Moment> const stored{moment};
  if (!stored.may_be_nonfinite(first, count)) return;
  for (std::size_t i = 0; i < count; ++i)
    if (!lanes::is_finite(stored(first + i)))
      terms[i] = lanes::from_bits<float>(lanes::binary32_infinity);
}

}  // namespace lowp::simd::inline LOWP_UNIT
