// SPDX-License-Identifier: Apache-2.0
// The folds of row_folds.hpp in packs.
#pragma once

#include <lowp/lanes/row_folds.hpp>
#include <lowp/simd/operand.hpp>
#include <lowp/simd/pack.hpp>

namespace lowp::simd {

LOWP_EXACT_BEGIN

/// Returns x with each lane exchanged with the one whose number differs in one bit.
template <int Bit, class T, class Isa>
LOWP_HOST_FN pack<T, Isa> exchanged(pack<T, Isa> const& x) {
  pack<T, Isa> r;
  Isa::template exchange<Bit>(r.v, x.v);
  return r;
}

/// Returns the fold of all lanes, in every lane and in the order of fold::sum.
template <class Fold, int Bit, class F>
LOWP_HOST_FN F among_lanes(F x) {
  if constexpr (Bit != 0)
    return among_lanes<Fold, Bit / 2>(detail::fold_of(Fold{}, x, exchanged<Bit>(x)));
  else
    return x;
}

/// Returns the sum of packs 0, Step, 2 * Step, ... below `Packs`, in the order of fold::sum.
template <class F, std::size_t Step, std::size_t Packs>
LOWP_HOST_FN F sum_of_packs(float const* first) {
  if constexpr (Step == Packs)
    return F::load(first);
  else
    return lanes::add(sum_of_packs<F, 2 * Step, Packs>(first),
                      sum_of_packs<F, 2 * Step, Packs>(first + Step * std::size_t{F::lanes}));
}

template <class Fold, class F>
class row_fold;

template <class Isa>
LOWP_HOST_FN auto only_lane(int lane) {
  return lanes::mask_and(first_lanes<Isa>(lane + 1), lanes::mask_not(first_lanes<Isa>(lane)));
}

/// Strips by name: g++ 12 keeps an array of them in memory.
template <class Strip, std::size_t... P>
struct row_strips : indexed<P, Strip>... {
  LOWP_HOST_FN row_strips() : indexed<P, Strip>{Strip{}}... {}
};
template <std::size_t P, class Strip>
LOWP_HOST_FN Strip& strip_at(indexed<P, Strip>& strip) {
  return strip.value;
}

template <class F>
class row_fold<fold::maximum, F> {
 public:
  using term = F;
  static constexpr bool has_no_order = true;
  LOWP_HOST_FN static F of_two(F const& a, F const& b) { return lanes::maximum_number(a, b); }
  LOWP_HOST_FN static F masked(auto const& mask, F const& x) {
    return lanes::select(mask, x, detail::neutral<F>(fold::maximum{}));
  }
  LOWP_HOST_FN explicit row_fold(std::size_t) {}
  template <bool IsFirst>
  LOWP_HOST_FN void add(std::size_t, F const& x) {
    largest_ = lanes::maximum_number(x, largest_);
  }
  LOWP_HOST_FN F total() const { return among_lanes<fold::maximum, F::lanes / 2>(largest_); }

 private:
  F largest_ = detail::neutral<F>(fold::maximum{});
};

template <class F>
class row_fold<fold::sum, F> {
  static constexpr std::size_t lanes_in_pack = F::lanes;
  static constexpr std::size_t most_packs = fold::sums / lanes_in_pack;

 public:
  using term = F;
  static constexpr bool has_no_order = false;
  static constexpr std::size_t count = 1;  ///< sums of an element
  LOWP_HOST_FN static F masked(auto const& mask, F const& x) {
    return lanes::select(mask, x, lanes::broadcast<F>(0));
  }
  /// Zeroes the sums that no element reaches, up to a power of two of packs.
  LOWP_HOST_FN explicit row_fold(std::size_t columns) {
    std::size_t const used = (columns + lanes_in_pack - 1) / lanes_in_pack;
    while (packs_ < used && packs_ < most_packs) packs_ *= 2;
    F const zero = lanes::broadcast<F>(0);
    zero.store(sums_);  // g++ 12 does not see that a first element sets it, and warns
    for (std::size_t i = used; i < packs_; ++i) zero.store(sums_ + i * lanes_in_pack);
  }
  /// A pack of sums in a register.
  struct strip {
    F sum = lanes::broadcast<F>(0);
    LOWP_HOST_FN void add(F const& x) { sum = lanes::add(sum, x); }
  };
  /// Stores the sums from number e.
  LOWP_HOST_FN void set(std::size_t e, auto const&... strips) {
    float* to = sums_ + e;
    ((strips.sum.store(to), to += lanes_in_pack), ...);
  }
  /// Adds elements from number e. The first element of each sum is added to zero.
  template <bool IsFirst>
  LOWP_HOST_FN void add(std::size_t e, F const& x) {
    float* const at = sums_ + e % fold::sums;
    F const sum = IsFirst ? lanes::broadcast<F>(0) : F::load(at);
    lanes::add(sum, x).store(at);
  }
  LOWP_HOST_FN F total() const {
    return among_lanes<fold::sum, F::lanes / 2>(sum_of_packs<most_packs>());
  }

 private:
  template <std::size_t Packs>
  LOWP_HOST_FN F sum_of_packs() const {
    if constexpr (Packs > 1)
      if (packs_ < Packs) return sum_of_packs<Packs / 2>();
    return simd::sum_of_packs<F, 1, Packs>(sums_);
  }
  std::size_t packs_ = 1;
  alignas(64) float sums_[fold::sums];
};

template <class First, class Second, class F>
class row_fold<fold::both<First, Second>, F> {
  using first_fold = row_fold<First, F>;
  using second_fold = row_fold<Second, F>;

 public:
  using term = fold::pair<F>;
  static constexpr bool has_no_order = false;
  static constexpr std::size_t count = first_fold::count + second_fold::count;
  LOWP_HOST_FN static term masked(auto const& mask, term const& x) {
    return {first_fold::masked(mask, x.first), second_fold::masked(mask, x.second)};
  }
  struct strip {
    typename first_fold::strip first;
    typename second_fold::strip second;
    LOWP_HOST_FN void add(term const& x) {
      first.add(x.first);
      second.add(x.second);
    }
  };
  LOWP_HOST_FN explicit row_fold(std::size_t columns) : first_(columns), second_(columns) {}
  LOWP_HOST_FN void set(std::size_t e, auto const&... strips) {
    first_.set(e, strips.first...);
    second_.set(e, strips.second...);
  }
  template <bool IsFirst>
  LOWP_HOST_FN void add(std::size_t e, term const& x) {
    first_.template add<IsFirst>(e, x.first);
    second_.template add<IsFirst>(e, x.second);
  }
  LOWP_HOST_FN term total() const { return {first_.total(), second_.total()}; }

 private:
  first_fold first_;
  second_fold second_;
};

LOWP_EXACT_END

}  // namespace lowp::simd
