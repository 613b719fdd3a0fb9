// SPDX-License-Identifier: Apache-2.0
// A histogram of exponents at a few instructions a pack: a positional population count (M.
// Klarqvist, W. Mula, D. Lemire, Concurrency and Computation 33 (17), 2021). An exponent becomes
// one bit of a word. A lane's words are added bit by bit, into planes of the digits of 31 counters.
#pragma once

#include <lowp/simd/pack.hpp>

#include <cstdint>

namespace lowp::simd {

/// Counts exponent fields of binary32, except all zeros and all ones, which the caller counts.
template <class Isa>
class exponent_tally {
  using U = word<Isa>;

 public:
  static constexpr int packs = 32;  ///< packs of a group, which is counted at once
  using group = std::uint32_t[packs * Isa::lanes];

  /// The memory outside this object. Inside, the compiler would keep its neighbours in memory too,
  /// because pointers write to it.
  struct scratch;

  /// Adds to counts[i] the number of magnitudes with exponent field i, from 1 to 254.
  LOWP_HOST_FN exponent_tally(scratch& r, std::uint64_t* counts) : scratch_(r), counts_(counts) {}

  /// Counts those of a group's magnitudes whose exponents are expected. Call `add_rest` next, with
  /// the same arguments. `visit` gets each pack, so that nothing reads it again.
  template <class Range, class Visit>
  LOWP_HOST_FN void add(group const& magnitudes, Range const& range, Visit& visit) {
    if (!is_chosen_) choose_window(range.largest());
    add_to(chosen_, magnitudes, visit);
    is_counted_ = true;
  }
  /// Counts the magnitudes of a group that `add` has not counted.
  template <class Range>
  LOWP_HOST_FN void add_rest(group const& magnitudes, Range const& range) {
    if (!is_chosen_) choose_window(range.largest());
    int const least = has_below(range, chosen_) ? 0 : chosen_;
    int const end = has_above(range, chosen_) ? windows : chosen_ + 1;
    for (int i = least; i < end; ++i)
      if (i == chosen_ ? !is_counted_ : has_below(range, i + 1) && has_above(range, i - 1)) {
        visit_nothing nothing;
        add_to(i, magnitudes, nothing);
      }
    is_counted_ = false;
    ++groups_;
  }
  /// Returns true if the caller must `count` before the next group.
  LOWP_HOST_FN bool is_full() const { return groups_ == most_groups; }
  /// Moves the counts of all groups to `counts`. Call it if full, and after the last group.
  LOWP_HOST_FN void count() {
    for (int i = 0; i < windows; ++i)
      if (scratch_.groups[i] != 0) count(i);
    groups_ = 0;
  }

 private:
  // A window has a bit for each of `width` exponents. Most tensors need one window.
  static constexpr int width = 31, fields = 256, windows = (fields + width - 2) / width + 1;
  static constexpr int low_digits = 5, high_digits = 10, most_groups = (1 << high_digits) - 1;
  static_assert(packs == 1 << low_digits);

 public:
  struct scratch {
    struct {
      U digits[low_digits + high_digits];
    } window[windows];
    int groups[windows] = {};  ///< number of groups in each window
  };

 private:
  /// Returns the exponent field of the window's first bit, which may be below zero.
  LOWP_HOST_FN int first(int window) const { return offset_ + (window - 1) * width; }
  LOWP_HOST_FN static std::uint32_t magnitude(int field) {
    return static_cast<std::uint32_t>(field) << 23;
  }
  template <class Range>
  LOWP_HOST_FN bool has_below(Range const& range, int window) const {
    int const field = first(window);
    return field > 0 && range.has_below(magnitude(field < fields ? field : fields));
  }
  template <class Range>
  LOWP_HOST_FN bool has_above(Range const& range, int window) const {
    int const field = first(window + 1);
    return field < fields && (field <= 0 || range.has_from(magnitude(field)));
  }

  /// Chooses the window from a tensor's start. Elsewhere a tensor has larger numbers, but rarely
  /// much larger ones, and always smaller ones.
  LOWP_HOST_FN void choose_window(U largest) {
    constexpr int above = 6;
    std::uint32_t most = 0;
    for (int i = 0; i < Isa::lanes; ++i) {
      std::uint32_t const x = lane<U>::at(largest, i);
      if (x < lanes::binary32_infinity) most = lanes::max(most, x);
    }
    int const end = static_cast<int>(most >> 23) + above + 1;
    offset_ = end % width;
    chosen_ = end / width;
    is_chosen_ = true;
  }

  struct visit_nothing {
    LOWP_HOST_FN void operator()(U const&) const {}
  };
  template <class Visit>
  LOWP_HOST_FN void add_to(int window, group const& magnitudes, Visit& visit) {
    U* const digits = scratch_.window[window].digits;
    if (scratch_.groups[window] == 0)
      for (int i = 0; i < low_digits + high_digits; ++i) digits[i] = lanes::broadcast<U>(0);
    U const from = lanes::broadcast<U>(magnitude(first(window)));
    // Two variables stay in registers; an array would not.
    U ones = digits[0], twos = digits[1];
    constexpr int fours = packs / 4;
    U carry[fours];
    for (int i = 0; i < fours; ++i)
      carry[i] = carry_of_four(ones, twos, magnitudes + i * 4 * Isa::lanes, from, visit);
    digits[0] = ones;
    digits[1] = twos;
    add_pairs<fours / 2>(digits + 2, carry);
    U* digit = digits + low_digits;
    int const groups = ++scratch_.groups[window];
    for (int i = 0; groups >> i != 0; ++i, ++digit) {
      U const both = *digit & carry[0];
      *digit = *digit ^ carry[0];
      carry[0] = both;
    }
  }
  /// Adds all to a digit and the carries to the next one, repeatedly. The last carry is carry[0].
  template <int Pairs>
  LOWP_HOST_FN static void add_pairs(U* digit, U* carry) {
    if constexpr (Pairs != 0) {
      U sum = *digit;
      LOWP_UNROLL
      for (int i = 0; i < Pairs; ++i) carry[i] = added(sum, carry[2 * i], carry[2 * i + 1]);
      *digit = sum;
      add_pairs<Pairs / 2>(digit + 1, carry);
    }
  }
  template <class Visit>
  LOWP_HOST_FN static U carry_of_four(U& ones, U& twos, std::uint32_t const* magnitudes,
                                      U const& from, Visit& visit) {
    U const first = carry_of_two(ones, magnitudes, from, visit);
    U const second = carry_of_two(ones, magnitudes + 2 * Isa::lanes, from, visit);
    return added(twos, first, second);
  }
  template <class Visit>
  LOWP_HOST_FN static U carry_of_two(U& ones, std::uint32_t const* magnitudes, U const& from,
                                     Visit& visit) {
    U const first = bit_of(magnitudes, from, visit);
    U const second = bit_of(magnitudes + Isa::lanes, from, visit);
    return added(ones, first, second);
  }
  template <class Visit>
  LOWP_HOST_FN static U bit_of(std::uint32_t const* magnitudes, U const& from, Visit& visit) {
    U const a = U::load(magnitudes);
    visit(a);
    U bit;
    Isa::power_of_two(bit, (a - from) >> 23);
    return bit;
  }
  LOWP_HOST_FN static U added(U& digit, U const& a, U const& b) {
    U carry;
    Isa::add_bits(digit, carry, a, b);
    return carry;
  }
  LOWP_HOST_FN void count(int window) {
    int const digits =
        low_digits + 32 - __builtin_clz(static_cast<unsigned>(scratch_.groups[window]));
    U const* const digit = scratch_.window[window].digits;
    U seen = digit[0];
    for (int i = 1; i < digits; ++i) seen = seen | digit[i];
    for (int bit = 0; bit < width; ++bit) {
      int const field = first(window) + bit, up = 31 - bit;
      if (field < 1 || field >= fields - 1 || !lanes::any(has_sign(seen << up))) continue;
      for (int i = 0; i < digits; ++i)
        counts_[field] += std::uint64_t{lanes::count(has_sign(digit[i] << up))} << i;
    }
    scratch_.groups[window] = 0;
  }
  LOWP_HOST_FN static auto has_sign(U const& a) {
    return lanes::greater(lanes::broadcast<U>(0), a);
  }

  scratch& scratch_;
  std::uint64_t* counts_;
  int offset_ = 0, chosen_ = 0, groups_ = 0;
  bool is_chosen_ = false, is_counted_ = false;
};

}  // namespace lowp::simd
