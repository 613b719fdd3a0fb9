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

/// Returns the same sum for a power of two of packs that is not known before.
template <class F>
LOWP_HOST_FN F sum_in_loop(float const* first, std::size_t packs) {
  F sum[fold::sums / F::lanes];
  for (std::size_t i = 0; i < packs; ++i) sum[i] = F::load(first + i * std::size_t{F::lanes});
  while ((packs /= 2) > 0)
    for (std::size_t i = 0; i < packs; ++i) sum[i] = lanes::add(sum[i], sum[i + packs]);
  return sum[0];
}
/// Returns the sum of 256 terms in the order of fold::sum, in every lane.
template <class F>
LOWP_HOST_FN F sum_of_terms(float const* terms) {
  constexpr std::size_t packs = fold::sums / F::lanes;
  F sum;
  if constexpr (is_lean<F>)
    sum = sum_in_loop<F>(terms, packs);
  else
    sum = sum_of_packs<F, 1, packs>(terms);
  return among_lanes<fold::sum, F::lanes / 2>(sum);
}

template <class Fold, class F>
class row_fold;

template <class Isa>
LOWP_HOST_FN auto only_lane(int lane) {
  return lanes::mask_and(first_lanes<Isa>(lane + 1), lanes::mask_not(first_lanes<Isa>(lane)));
}

/// Packs of sums in registers, by name: g++ 12 keeps an array of them in memory.
template <class F, std::size_t... P>
struct row_strips : indexed<P, F>... {
  static constexpr std::size_t count = sizeof...(P);

  LOWP_HOST_FN row_strips() : indexed<P, F>{lanes::broadcast<F>(0)}... {}
  template <std::size_t K>
  LOWP_HOST_FN F& at() {
    return static_cast<indexed<K, F>&>(*this).value;
  }
  template <std::size_t K>
  LOWP_HOST_FN void add(F const& x) {
    at<K>() = lanes::add(at<K>(), x);
  }
};

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
    for (std::size_t i = is_lean<F> ? 0 : used; i < packs_; ++i)
      zero.store(sums_ + i * lanes_in_pack);
  }
  template <std::size_t... P>
  using strips = row_strips<F, P...>;
  /// Stores the sums from number e. If the row ends with them, and registers hold most of its sums,
  /// these are added up first.
  template <std::size_t... P>
  LOWP_HOST_FN void set(std::size_t e, strips<P...>& sums, [[maybe_unused]] bool is_end) {
    if constexpr (2 * sizeof...(P) >= most_packs)
      if (is_end) {
        sum_with<1, 0>(sums).store(sums_);
        packs_ = 1;
        return;
      }
    (sums.template at<P>().store(sums_ + e + P * lanes_in_pack), ...);
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
    if constexpr (is_lean<F>) {
      return sum_in_loop<F>(sums_, packs_);
    } else {
      if constexpr (Packs > 1)
        if (packs_ < Packs) return sum_of_packs<Packs / 2>();
      return simd::sum_of_packs<F, 1, Packs>(sums_);
    }
  }
  /// Returns sum_of_packs from number `Pack`. `last` are the last sums; the others were stored.
  template <std::size_t Step, std::size_t Pack, class Strips>
  LOWP_HOST_FN F sum_with(Strips& last) const {
    constexpr std::size_t stored = most_packs - Strips::count;
    if constexpr (Step < most_packs)
      return lanes::add(sum_with<2 * Step, Pack>(last), sum_with<2 * Step, Pack + Step>(last));
    else if constexpr (Pack < stored)
      return F::load(sums_ + Pack * lanes_in_pack);
    else
      return last.template at<Pack - stored>();
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
  template <std::size_t... P>
  struct strips {
    typename first_fold::template strips<P...> first;
    typename second_fold::template strips<P...> second;
    template <std::size_t K>
    LOWP_HOST_FN void add(term const& x) {
      first.template add<K>(x.first);
      second.template add<K>(x.second);
    }
  };
  LOWP_HOST_FN explicit row_fold(std::size_t columns) : first_(columns), second_(columns) {}
  LOWP_HOST_FN void set(std::size_t e, auto& sums, bool is_end) {
    first_.set(e, sums.first, is_end);
    second_.set(e, sums.second, is_end);
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
