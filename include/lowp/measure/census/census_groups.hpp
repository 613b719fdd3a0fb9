// SPDX-License-Identifier: Apache-2.0
// A census of packs, 256 elements at a time. One look per group finds that it lacks the rare cases.
#pragma once

#include <lowp/measure/census/census_lanes.hpp>

#if !defined(__CUDA_ARCH__)
#include <lowp/measure/census/exponent_tally.hpp>
#include <lowp/simd/rows/row_fold.hpp>

namespace lowp::detail {

LOWP_EXACT_BEGIN

template <census_target To, class Isa>
class census_of_groups : census_lanes<To, simd::pack<float, Isa>> {
  using F = simd::pack<float, Isa>;
  using U = simd::word<Isa>;
  using base = census_lanes<To, F>;
  using tally = simd::exponent_tally<Isa>;
  static constexpr int size = tally::size;

 public:
  struct scratch {
    alignas(64) std::uint32_t magnitudes[std::size_t{size}];
    typename tally::scratch digits;
  };

  /// Looks only for errors above the largest in the census.
  LOWP_FN census_of_groups(scratch& memory, range_census& all)
      : magnitudes_(memory.magnitudes), all_(all), exponents_(memory.digits, all.exponents.counts) {
    this->relative_ = lanes::from_bits<F>(lanes::broadcast<U>(all.max_relative_error.bits));
  }

  LOWP_FN void add(F const& x) {
    U const a = lanes::magnitude(x);
    a.store(magnitudes_ + filled_);
    filled_ += Isa::lanes;
    group_.add(a);
  }
  /// Looks at the group if a batch completes it.
  LOWP_FN void end_batch() {
    if (filled_ == size) add_group();
  }
  LOWP_FN void finish(std::uint64_t count) {
    if (filled_ != 0) {
      while (filled_ != size) add(lanes::broadcast<F>(0));
      add_group();
    }
    exponents_.count();
    all_.exponents.counts[0] += this->tiny_;
    all_.add(this->total(count));
    all_.squared_error += squares_;
  }

 private:
  LOWP_FN U at(int i) const { return U::load(magnitudes_ + i); }

  LOWP_FN void add_group() {
    exponents_.add(magnitudes_, group_);
    if (group_.has_from(base::borders.overflow) || group_.has_below(base::min_normal))
        [[unlikely]] {
      group_ = {};
      for (int i = 0; i < size; i += Isa::lanes) {
        U const a = this->add_rare(at(i));
        a.store(magnitudes_ + i);
        group_.add(a);
      }
    }
    this->range_.add(group_);
    bool const has_small = group_.has_below(base::least_normal);
    if (has_small)
      for (int i = 0; i < size; i += Isa::lanes) this->add_small(at(i));
    if (group_.has_below(base::borders.kept))
      for (int i = 0; i < size; i += Isa::lanes) this->add_flushed(at(i));
    if (!ends_in_zeros(at(0)) || !is_exact()) {
      if (has_small)
        add_errors<true>();
      else
        add_errors<false>();
    }
    filled_ = 0;
    group_ = {};
  }
  /// Returns true if a normal To has room for these significands.
  LOWP_FN static bool ends_in_zeros(U const& a) {
    return !lanes::any(lanes::greater(a & (base::gap - 1), lanes::broadcast<U>(0)));
  }
  /// Returns true if the group's numbers end in enough zeros to be numbers of To.
  LOWP_FN bool is_exact() const {
    U ones = at(0);
    for (int i = Isa::lanes; i < size; i += Isa::lanes) ones = ones | at(i);
    if (!ends_in_zeros(ones)) return false;
    std::uint32_t bits = base::min_normal;
    for (int i = 0; i < Isa::lanes; ++i) bits |= lane<U>::at(ones, i);
    using to = std::numeric_limits<To>;
    int const field = to::min_exponent - to::digits + 150 - __builtin_ctz(bits);
    return field <= 1 || !group_.has_below(static_cast<std::uint32_t>(field) << 23);
  }

  template <bool HasSmall>
  LOWP_FN void add_errors() {
    // No sum of smaller numbers is kept, and their squares may be subnormal, and slow.
    constexpr std::uint32_t least_number = (127 - 50) << 23, least = (127 - 90) << 23;
    bool compares = this->template may_find_larger<HasSmall>();
    float sum = 0;
    if (group_.has_from(least_number))
      sum = compares ? sum_in_float<HasSmall, true>(compares)
                     : sum_in_float<HasSmall, false>(compares);
    // Another sum may be infinite, or lack small squares.
    if (lanes::bits(sum) - least < lanes::binary32_infinity - least)
      squares_ = lanes::add(squares_, static_cast<double>(sum));
    else
      add_in_double<HasSmall>();
    if (!compares) return;
    for (int i = 0; i < size; i += Isa::lanes)
      this->compare_error(at(i), base::template error_of<HasSmall>(at(i)));
  }
  /// Returns the sum of squares. Sets `is_larger` to true if an error is larger than all before.
  template <bool HasSmall, bool Compares>
  LOWP_FN float sum_in_float(bool& is_larger) const {
    U signs = lanes::broadcast<U>(0);
    float const sum = sum_of_squares([&](int i) __attribute__((always_inline)) {
      U const a = at(i);
      F const error = base::template error_of<HasSmall>(a);
      if constexpr (Compares) signs = signs | lanes::bits(this->below_error(a, lanes::bits(error)));
      return error;
    });
    is_larger = Compares && lanes::any(base::is_negative(lanes::from_bits<F>(signs)));
    return sum;
  }
  template <bool HasSmall>
  LOWP_FN void add_in_double() {
    using D = lanes::wide<F>;
    D sum = lanes::broadcast<D>(0);
    for (int i = 0; i < size; i += Isa::lanes) {
      D const error = lanes::widen(base::template error_of<HasSmall>(at(i)));
      sum = lanes::add_product(sum, error, error);
    }
    for (int i = 0; i < lane<D>::lanes; ++i) squares_ = lanes::add(squares_, lane<D>::at(sum, i));
  }
  /// Adds squares that are 128 apart, then 64, 32, and so on down to neighbours.
  LOWP_FN static float sum_of_squares(auto const& of) {
    constexpr int sums = size / 4 / Isa::lanes;
    F sum[std::size_t{sums}];
    LOWP_KEEP_LOOP
    for (int k = 0; k < sums; ++k) {
      int const i = k * Isa::lanes;
      F const a = of(i), b = of(i + size / 2), c = of(i + size / 4), d = of(i + size / 4 * 3);
      sum[k] = lanes::add(lanes::fma(b, b, lanes::mul(a, a)), lanes::fma(d, d, lanes::mul(c, c)));
    }
    for (int half = sums / 2; half != 0; half /= 2)
      for (int i = 0; i < half; ++i) sum[i] = lanes::add(sum[i], sum[i + half]);
    F const all = simd::among_lanes<fold::sum, Isa::lanes / 2>(sum[0]);
    return lanes::from_bits<float>(lane<U>::at(lanes::bits(all), 0));
  }

  std::uint32_t* magnitudes_;
  range_census& all_;
  int filled_ = 0;
  magnitude_range<U> group_;  ///< of the group
  double squares_ = 0;
  tally exponents_;
};

LOWP_EXACT_END

template <census_target To, class Isa>
struct lanes_of_report<census_report<To>, simd::pack<float, Isa>>
    : std::type_identity<census_of_groups<To, Isa>> {};

}  // namespace lowp::detail

#endif
