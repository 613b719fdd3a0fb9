// SPDX-License-Identifier: Apache-2.0
// Sums of columns rounded once and stored, or added to what is there in double, and rounded once.
#pragma once

#include <lowp/simd/rows/row_accessors.hpp>

namespace lowp::simd {

/// The rounding of a sum to float. It is rounded again to a narrow type.
template <class T>
using rounding_of_sum =
    std::conditional_t<narrow<T>, detail::intermediate_rounding<to_odd>, nearest_even>;

LOWP_EXACT_BEGIN

template <class Isa, class To, class D>
LOWP_HOST_FN void write_sum(auto& to, int k, D sum) {
  using T = typename To::type;
  if constexpr (To::is_read) sum = lanes::add(lanes::widen(to.load(k)), sum);
  double exact[Isa::lanes];
  sum.store(exact);
  auto const x = load_rounded<Isa>(exact, rounding_of_sum<T>{}, nullptr, overflow::infinity);
  to.template store<false>(k, x);
}

/// Returns where a number next to x may round to another number of a format than x does: x is
/// halfway between two of them, or subnormal.
template <format Format, class F>
LOWP_HOST_FN auto is_at_edge(F const& x) {
  using U = lanes::word<F>;
  constexpr int field = Format.min_exponent() + 127;
  auto const half = lanes::broadcast<U>(lanes::binary32_sign);
  auto const is_halfway = lanes::equal(lanes::bits(x) << (8 + Format.precision()), half);
  if constexpr (field <= 1) {  // sums of subnormal floats are exact
    return is_halfway;
  } else {
    auto const least = lanes::broadcast<U>(static_cast<std::uint32_t>(field) << 23);
    return lanes::mask_or(is_halfway, lanes::greater(least, lanes::magnitude(x)));
  }
}
/// Returns where x, the float next to a + b, may not be a + b. Its difference from the larger of
/// the two is exact. So it is the smaller one only if x is exact.
template <class F>
LOWP_HOST_FN auto is_inexact(F const& x, F const& a, F const& b) {
  auto const is_b = lanes::equal(lanes::bits(lanes::sub(x, a)), lanes::bits(b));
  auto const is_a = lanes::equal(lanes::bits(lanes::sub(x, b)), lanes::bits(a));
  return lanes::mask_not(lanes::mask_and(is_a, is_b));
}

template <class M, std::size_t Count>
LOWP_HOST_FN bool any_of(M const (&masks)[Count]) {
  M all = masks[0];
  LOWP_UNROLL
  for (std::size_t i = 1; i < Count; ++i) all = lanes::mask_or(all, masks[i]);
  return lanes::any(all);
}

/// Adds sums that are floats, with the bits of write_sum: a float next to the result rounds as the
/// result does, unless it is at an edge and inexact.
template <class Isa, class To, std::size_t Packs, class F>
LOWP_HOST_FN void write_sums_of_floats(auto& to, F const (&sums)[Packs][1]) {
  using T = typename To::type;
  constexpr int size = Isa::lanes;
  F old[Packs], x[Packs];
  LOWP_UNROLL
  for (std::size_t p = 0; p < Packs; ++p) {
    old[p] = to.load(static_cast<int>(p) * size);
    x[p] = lanes::add(old[p], sums[p][0]);
  }
  if constexpr (narrow<T>) {
    lanes::mask<F> at_edge[Packs];
    LOWP_UNROLL
    for (std::size_t p = 0; p < Packs; ++p) at_edge[p] = is_at_edge<T::descriptor>(x[p]);
    if (any_of(at_edge)) {
      LOWP_UNROLL
      for (std::size_t p = 0; p < Packs; ++p)
        at_edge[p] = lanes::mask_and(at_edge[p], is_inexact(x[p], old[p], sums[p][0]));
      if (any_of(at_edge)) [[unlikely]] {
        F each[Packs];
        LOWP_UNROLL
        for (std::size_t p = 0; p < Packs; ++p) each[p] = sums[p][0];
        LOWP_KEEP_LOOP
        for (std::size_t p = 0; p < Packs; ++p)
          write_sum<Isa, To>(to, static_cast<int>(p) * size, lanes::widen(each[p]));
        return;
      }
    }
  }
  if constexpr (Packs == 1) to.template store<false>(0, x[0]);
  LOWP_UNROLL
  for (std::size_t p = 0; p + 1 < Packs; p += 2)
    to.template store_pair<false>(static_cast<int>(p) * size, x[p], x[p + 1]);
}

LOWP_EXACT_END

}  // namespace lowp::simd
