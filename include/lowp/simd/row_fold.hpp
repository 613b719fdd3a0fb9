// SPDX-License-Identifier: Apache-2.0
// The folds of row_folds.hpp in packs.
#pragma once

#include <lowp/row_folds.hpp>
#include <lowp/simd/pack.hpp>

#include <cstddef>

namespace lowp::simd {

LOWP_EXACT_BEGIN

/// Of every lane the one whose number differs in one bit.
template <int Bit, class T, class Isa>
LOWP_HOST_FN pack<T, Isa> exchanged(pack<T, Isa> const& x) {
  pack<T, Isa> r;
  Isa::template exchange<Bit>(r.v, x.v);
  return r;
}

/// The largest of all lanes, none of which is NaN, in every lane.
template <int Bit, class F>
LOWP_HOST_FN F largest_lane(F x) {
  if constexpr (Bit != 0)
    return largest_lane<Bit / 2>(lanes::larger(x, exchanged<Bit>(x)));
  else
    return x;
}
/// The sum of all lanes, in every lane, as fold::sum orders it.
template <int Bit, class F>
LOWP_HOST_FN F sum_of_lanes(F x) {
  if constexpr (Bit != 0)
    return sum_of_lanes<Bit / 2>(lanes::add(x, exchanged<Bit>(x)));
  else
    return x;
}

template <class Fold, class F>
class row_fold;

template <class F>
class row_fold<fold::maximum, F> {
 public:
  static constexpr bool has_no_order = true;
  LOWP_HOST_FN static F of_two(F const& a, F const& b) { return lanes::larger(a, b); }
  LOWP_HOST_FN explicit row_fold(std::size_t) {}
  template <bool IsFirst>
  LOWP_HOST_FN void add(std::size_t, F const& x) {
    largest_ = lanes::larger(x, largest_);
  }
  LOWP_HOST_FN F total() const { return largest_lane<F::lanes / 2>(largest_); }

 private:
  F largest_ = detail::neutral<F>(fold::maximum{});
};

template <class F>
class row_fold<fold::sum, F> {
  static constexpr std::size_t lanes_in_pack = F::lanes;

 public:
  static constexpr bool has_no_order = false;
  LOWP_HOST_FN explicit row_fold(std::size_t columns)
      : used_(columns < fold::sums ? (columns + lanes_in_pack - 1) / lanes_in_pack * lanes_in_pack
                                   : fold::sums) {}
  /// Elements from number e on; each sum's first is added to zero.
  template <bool IsFirst>
  LOWP_HOST_FN void add(std::size_t e, F const& x) {
    float* const at = sums_ + e % fold::sums;
    F const sum = IsFirst ? lanes::spread<F>(0) : F::load(at);
    lanes::add(sum, x).store(at);
  }
  /// Sums that no element was added to are zero, and adding those changes nothing.
  LOWP_HOST_FN F total() {
    if (used_ == 0) return lanes::spread<F>(0);
    for (std::size_t half = fold::sums / 2; half >= lanes_in_pack; half /= 2) {
      for (std::size_t i = half; i < used_; i += lanes_in_pack)
        lanes::add(F::load(sums_ + i - half), F::load(sums_ + i)).store(sums_ + i - half);
      if (used_ > half) used_ = half;
    }
    return sum_of_lanes<F::lanes / 2>(F::load(sums_));
  }

 private:
  std::size_t used_;
  alignas(64) float sums_[fold::sums];
};

LOWP_EXACT_END

}  // namespace lowp::simd
