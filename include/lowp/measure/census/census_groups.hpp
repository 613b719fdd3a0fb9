// SPDX-License-Identifier: Apache-2.0
// A census of packs, 256 elements at a time. One look per group finds that it lacks the rare cases.
#pragma once

#include <lowp/measure/census/census_lanes.hpp>

#include <cstdint>

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
    alignas(64) std::uint32_t magnitudes[size];
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
  LOWP_FN void add_masked(lanes::mask<F> const& is_element, F const& x) {
    add(lanes::select(is_element, x, lanes::broadcast<F>(0)));
  }
  /// Looks at the group if a batch completes it.
  LOWP_FN void fold() {
    if (filled_ == size) add_group();
  }
  LOWP_FN void finish(std::uint64_t count) {
    if (filled_ != 0) {
      while (filled_ != size) add(lanes::broadcast<F>(0));
      add_group();
    }
    exponents_.count();
    all_.exponents.counts[0] += this->tiny_;
    partial_census partial = this->total(count);
    partial.squared_error = {squares_, 0};
    all_.add(partial);
  }

 private:
  /// A sum of squares in 32 lanes, whatever the instruction set. Element e is added to lane e % 32.
  /// Then lane i + 16 is added to lane i, i + 8 to i, and so on down to i + 1.
  struct sum_of_squares {
    static constexpr int packs = 32 / Isa::lanes;
    F sum[packs];

    LOWP_FN sum_of_squares() {
      for (F& each : sum) each = lanes::broadcast<F>(0);
    }
    LOWP_FN void add(int pack, F const& x) { sum[pack] = lanes::fma(x, x, sum[pack]); }
    LOWP_FN float total() {
      for (int half = packs / 2; half != 0; half /= 2)
        for (int i = 0; i < half; ++i) sum[i] = lanes::add(sum[i], sum[i + half]);
      F const all = simd::sum_of_lanes<Isa::lanes / 2>(sum[0]);
      return lanes::from_bits<float>(lane<U>::at(lanes::bits(all), 0));
    }
  };

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
    // Smaller numbers may have squares that are subnormal, and slow. A smaller sum lacks some.
    constexpr std::uint32_t least_number = (127 - 40) << 23, least_sum = (127 - 90) << 23;
    bool compares = this->template may_find_larger<HasSmall>();
    std::uint32_t sum = 0;
    if (group_.has_from(least_number))
      sum = lanes::bits(compares ? sum_in_float<HasSmall, true>(compares)
                                 : sum_in_float<HasSmall, false>(compares));
    if (sum - least_sum < lanes::binary32_infinity - least_sum)
      squares_ += double{lanes::from_bits<float>(sum)};
    else
      add_scaled<HasSmall>();
    if (!compares) return;
    for (int i = 0; i < size; i += Isa::lanes)
      this->compare_error(at(i), base::template error_of<HasSmall>(at(i)));
  }
  /// Returns the sum of squares. Sets `is_larger` to true if an error is larger than all before.
  template <bool HasSmall, bool Compares>
  LOWP_FN float sum_in_float(bool& is_larger) const {
    sum_of_squares sum;
    U signs = lanes::broadcast<U>(0);
    LOWP_KEEP_LOOP
    for (int i = 0; i < size; i += 32) {
      LOWP_UNROLL
      for (int k = 0; k < sum.packs; ++k) {
        U const a = at(i + k * Isa::lanes);
        F const error = base::template error_of<HasSmall>(a);
        sum.add(k, error);
        if constexpr (Compares)
          signs = signs | lanes::bits(this->below_error(a, lanes::bits(error)));
      }
    }
    is_larger = Compares && lanes::any(base::is_negative(lanes::from_bits<F>(signs)));
    return sum.total();
  }
  /// Adds squares that have no room in a float. Their unit is near the largest.
  template <bool HasSmall>
  LOWP_FN void add_scaled() {
    U largest = lanes::broadcast<U>(0);
    for (int i = 0; i < size; i += Isa::lanes)
      largest = lanes::max(largest, lanes::magnitude(base::template error_of<HasSmall>(at(i))));
    std::uint32_t most = 0;
    for (int i = 0; i < Isa::lanes; ++i) most = lanes::max(most, lane<U>::at(largest, i));
    std::uint32_t const field = lanes::min(lanes::max(most >> 23, 1u), 253u);
    F const scale = lanes::from_bits<F>(lanes::broadcast<U>((254 - field) << 23));
    sum_of_squares sum;
    for (int i = 0; i < size; i += 32)
      for (int k = 0; k < sum.packs; ++k)
        sum.add(k, lanes::mul(base::template error_of<HasSmall>(at(i + k * Isa::lanes)), scale));
    double const unit = __builtin_bit_cast(double, std::uint64_t{field + 1023 - 127} << 52);
    squares_ += double{sum.total()} * unit * unit;
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
struct lanes_of_report<census_report<To>, simd::pack<float, Isa>> {
  using type = census_of_groups<To, Isa>;
};

}  // namespace lowp::detail

#endif
