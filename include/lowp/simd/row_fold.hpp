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

/// The largest of all lanes, in every lane.
template <int Bit, class U>
LOWP_HOST_FN U largest_lane(U x) {
  if constexpr (Bit != 0)
    return largest_lane<Bit / 2>(lanes::max(x, exchanged<Bit>(x)));
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
  LOWP_HOST_FN explicit row_fold(std::size_t) {}
  LOWP_HOST_FN void add(std::size_t, F const& x) { largest_.add(x); }
  LOWP_HOST_FN F total() const {
    return running::of_key(largest_lane<F::lanes / 2>(largest_.key()));
  }

 private:
  using running = detail::running_maximum<F>;
  running largest_;
};

template <class F>
class row_fold<fold::sum, F> {
  static constexpr std::size_t lanes_in_pack = F::lanes;

 public:
  LOWP_HOST_FN explicit row_fold(std::size_t columns)
      : used_(columns == 0           ? lanes_in_pack
              : columns < fold::sums ? (columns + lanes_in_pack - 1) / lanes_in_pack * lanes_in_pack
                                     : fold::sums) {
    F const zero = lanes::spread<F>(0);
    for (std::size_t i = 0; i < used_; i += lanes_in_pack) zero.store(sums_ + i);
  }
  /// Elements from number e on.
  LOWP_HOST_FN void add(std::size_t e, F const& x) {
    float* const at = sums_ + e % fold::sums;
    lanes::add(F::load(at), x).store(at);
  }
  /// Sums that no element was added to are zero, and adding those changes nothing.
  LOWP_HOST_FN F total() {
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
