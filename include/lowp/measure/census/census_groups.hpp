// SPDX-License-Identifier: Apache-2.0
// A census of packs, a group at a time. One look per group finds that it lacks the rare cases.
#pragma once

#include <lowp/measure/census/census_lanes.hpp>

#include <concepts>
#include <cstdint>

#if !defined(__CUDA_ARCH__)
#include <lowp/measure/census/exponent_tally.hpp>

namespace lowp::detail {

LOWP_EXACT_BEGIN

/// Adds the squares of the errors and compares these with the largest relative error so far. Each
/// element is zero or a normal float that does not overflow.
template <census_target To, class F, bool AllNormal, bool Compares>
class error_sums {
  using U = lanes::word<F>;
  using lanes_type = census_lanes<To, F>;

 public:
  LOWP_FN explicit error_sums(F const& relative) : relative_(relative) {}

  LOWP_FN void operator()(U const& a) {
    F error;
    if constexpr (AllNormal) {
      error = lanes::sub(lanes::from_bits<F>(a), rounded(a));
    } else {
      error = lanes_type::error_of(a);
      if constexpr (Compares)
        small_.add_unflushed(a);
      else
        small_.add(a);
    }
    lanes_type::add_square(squares_, error);
    if constexpr (Compares)
      signs_ = signs_ | lanes::bits(lanes_type::less_than_error(relative_, a, error));
  }
  LOWP_FN lanes::wide<F> const& squares() const { return squares_; }
  LOWP_FN small_counts<To> const& small() const { return small_; }
  LOWP_FN bool has_larger() const {
    return lanes::any(lanes::greater(lanes::broadcast<U>(0), signs_));
  }

 private:
  /// Rounds to `To`, ties away from zero: a tie's error is as large as the one toward even.
  LOWP_FN static F rounded(U const& a) {
    constexpr std::uint32_t gap = 1u << (24 - To::descriptor.precision());
    return lanes::from_bits<F>((a + gap / 2) & (0 - gap));
  }

  F relative_;
  lanes::wide<F> squares_ = lanes::broadcast<lanes::wide<F>>(0);
  U signs_ = lanes::broadcast<U>(0);
  small_counts<To> small_;
};

/// A census that stores magnitudes, and knows the largest and the least of each group.
template <census_target To, class Isa>
class census_groups {
  using F = simd::pack<float, Isa>;
  using U = simd::word<Isa>;
  using lanes_type = census_lanes<To, F>;
  using range = magnitude_range<U>;
  using tally = simd::exponent_tally<Isa>;
  static constexpr int size = tally::packs * Isa::lanes;
  static constexpr census_borders<To> borders = borders_of<To>;

 public:
  static constexpr bool sees_codes = false;

  struct scratch {
    alignas(64) std::uint32_t magnitudes[size];
    typename tally::scratch exponents;
  };

  /// Looks only for errors above the largest in the census.
  LOWP_FN census_groups(scratch& r, range_census& all)
      : scratch_(r), all_(all), exponents_(r.exponents, all.exponents.counts) {
    lanes_.expect_error(all.max_relative_error);
  }

  LOWP_FN void add(F const& x) {
    lanes::magnitude(x).store(scratch_.magnitudes + filled_);
    filled_ += Isa::lanes;
  }
  LOWP_FN void add_masked(lanes::mask<F> const& is_element, F const& x) {
    add(lanes::select(is_element, x, lanes::broadcast<F>(0)));
  }
  /// Adds full groups. Call it after every few packs, and after the last.
  LOWP_FN void fold(bool is_last) {
    if (is_last) [[unlikely]]
      for (; filled_ != size; filled_ += Isa::lanes)
        lanes::broadcast<U>(0).store(scratch_.magnitudes + filled_);
    if (filled_ == size) add_group();
    if (is_last || exponents_.is_full()) [[unlikely]]
      exponents_.count();
  }
  LOWP_FN void finish(std::uint64_t count) {
    all_.exponents.counts[0] += lanes_.tiny();
    all_.add(lanes_.total(count));
  }

 private:
  LOWP_FN U at(int i) const { return U::load(scratch_.magnitudes + i); }

  LOWP_FN void add_group() {
    filled_ = 0;
    range group;
    for (int i = 0; i < size; i += Isa::lanes) group.add(at(i));
    if (group.is_all_zero()) return;
    if (group.has_from(borders.overflow) || group.has_below(lanes_type::min_normal)) [[unlikely]]
      add_each();
    else
      add_ordinary(group);
    exponents_.add_rest(scratch_.magnitudes, group);
    lanes_.fold();
  }

  LOWP_FN void add_each() {
    for (int i = 0; i < size; i += Isa::lanes) lanes_.add_magnitude(at(i));
  }

  /// Adds a group of zeros and of normal numbers that do not overflow.
  LOWP_FN void add_ordinary(range const& group) {
    lanes_.add_range(group);
    if (is_exact(group))
      add_exact(group);
    else if (has_larger_error(group)) [[unlikely]]
      compare_errors();
  }
  /// Adds all of a group but its largest error. Returns true if that is above the largest so far.
  LOWP_FN bool has_larger_error(range const& group) {
    if constexpr (std::same_as<To, float>) {
      return false;
    } else if (!has_small(group)) {
      return add_errors<true, true>(group);
    } else if constexpr (may_have_small) {
      if (group.has_below(borders.kept)) lanes_.expect_flushed();
      return lanes_.has_largest_error() ? add_errors<false, false>(group)
                                        : add_errors<false, true>(group);
    }
    return false;
  }
  LOWP_FN void add_exact(range const& group) {
    if (!has_small(group)) return;
    small_counts<To> small;
    for (int i = 0; i < size; i += Isa::lanes) small.add_unflushed(at(i));
    lanes_.add_small(small);
  }
  template <bool AllNormal, bool Compares>
  LOWP_FN bool add_errors(range const& group) {
    error_sums<To, F, AllNormal, Compares> errors(lanes_.relative());
    exponents_.add(scratch_.magnitudes, group, errors);
    lanes_.add_squares(errors.squares());
    lanes_.add_small(errors.small());
    return errors.has_larger();
  }
  LOWP_FN void compare_errors() {
    for (int i = 0; i < size; i += Isa::lanes) lanes_.compare_error(at(i));
    lanes_.share_largest_error();
  }

  /// Returns true if all are numbers of the format. The first ones mostly decide.
  LOWP_FN bool is_exact(range const& group) const {
    // Subnormal numbers have one bit less for each exponent.
    int less = 0;
    for (; group.has_below(min_normal - (static_cast<std::uint32_t>(less) << 23)); ++less)
      if (less == target().significand_bits) return false;
    std::uint32_t const dropped = (std::uint32_t{1} << (24 - target().precision() + less)) - 1;
    U bits = at(0);
    if (has_any(bits & dropped)) return false;
    for (int i = Isa::lanes; i < size; i += Isa::lanes) bits = bits | at(i);
    return !has_any(bits & dropped);
  }
  LOWP_FN static bool has_any(U const& bits) {
    return lanes::any(lanes::greater(bits, lanes::broadcast<U>(0)));
  }

  LOWP_FN static constexpr format target() {
    if constexpr (std::same_as<To, float>)
      return {8, 23, 127};
    else
      return To::descriptor;
  }
  LOWP_FN static bool has_small(range const& group) {
    return may_have_small && group.has_below(min_normal);
  }
  static constexpr bool may_have_small = target().min_exponent() > -126;
  static constexpr auto min_normal = static_cast<std::uint32_t>(target().min_exponent() + 127)
                                     << 23;

  scratch& scratch_;
  range_census& all_;
  int filled_ = 0;
  lanes_type lanes_;
  tally exponents_;
};

LOWP_EXACT_END

template <census_target To, class Isa>
struct lanes_of_report<census_report<To>, simd::pack<float, Isa>> {
  using type = census_groups<To, Isa>;
};

}  // namespace lowp::detail

#endif
