// SPDX-License-Identifier: Apache-2.0
// The counts of an update_report in lanes. Its terms are summed in groups, in ways that give the
// same bits: simd/update_sums.hpp does so in packs, cuda/block_report.hpp in a GPU's warp.
#pragma once

#include <lowp/lanes/lanes.hpp>
#include <lowp/report/update_report.hpp>

namespace lowp::detail {

/// The class that counts a report in lanes F (`type`). Its `total` returns one loop's partial.
template <class Report, class F>
struct lanes_of_report;

/// A counter of lanes F. One thread of a GPU sees fewer than 2^32 elements, and has few registers.
template <class F>
using lane_counter = std::conditional_t<std::is_same_v<F, float>, std::uint32_t, std::uint64_t>;

/// Returns x with zeros in the other lanes.
template <class F>
LOWP_FN F only(lanes::mask<F> const& is_element, F const& x) {
  return lanes::select(is_element, x, lanes::broadcast<F>(0));
}

LOWP_EXACT_BEGIN

/// A compensated_sum for each lane of D, a double or a pack of doubles.
template <class D>
class compensated_lanes {
 public:
  LOWP_FN void add(D const& x) {
    D const total = lanes::add(high_, x);
    D const partial = lanes::sub(total, high_);
    low_ = lanes::add(
        low_, lanes::add(lanes::sub(high_, lanes::sub(total, partial)), lanes::sub(x, partial)));
    high_ = total;
  }
  LOWP_FN void add_to(compensated_sum& total) const {
    compensated_lanes all = *this;
    all.template add_lanes<lane<D>::lanes / 2>();
    total += compensated_sum{lane<D>::at(all.high_, 0), lane<D>::at(all.low_, 0)};
  }

 private:
  /// Adds to each lane the lane whose number differs in this bit, then in the next lower bit. Every
  /// addition works on all lanes.
  template <int Bit>
  LOWP_FN void add_lanes() {
    if constexpr (Bit != 0) {
      D const high = lane<D>::template exchanged<Bit>(high_);
      D const low = lane<D>::template exchanged<Bit>(low_);
      add(high);
      low_ = lanes::add(low_, low);
      add_lanes<Bit / 2>();
    }
  }

  D high_ = lanes::broadcast<D>(0), low_ = lanes::broadcast<D>(0);
};

/// Terms of the sums of an update_report.
template <class F>
struct update_terms {
  F applied, requested;

  LOWP_FN void multiply(float factor) {
    applied = lanes::mul(applied, lanes::broadcast<F>(factor));
    requested = lanes::mul(requested, lanes::broadcast<F>(factor));
  }
};

/// Counts elements in lanes F: a float or a pack of floats.
template <class F>
class update_counts {
  using U = lanes::word<F>;
  using M = lanes::mask<F>;

 public:
  static constexpr bool sees_codes = true;

  /// Counts one pack, and returns its terms. Its parameters went from the codes `before` to the
  /// codes `after`, with the values `old` and `now`. u is the requested update. An element that is
  /// not finite has such a term.
  LOWP_FN update_terms<F> count(F const& u, U const& before, U const& after, F const& old,
                                F const& now, M const& overflowed) {
    if (lanes::any(overflowed)) overflowed_ += lanes::count(overflowed);
    U const size = lanes::hidden(lanes::magnitude(u)), sign_of_u = lanes::bits(u) ^ size;
    M const stays = lanes::equal(before, after);
    F const change = lanes::sub(now, old);
    U toward = lanes::bits(change) ^ sign_of_u;
    if constexpr (requires { lane<U>::xor3(size, size, size); })  // g++ would need another constant
      toward = lane<U>::xor3(lanes::bits(change), lanes::bits(u), size);
    if constexpr (!std::is_same_v<F, float>)
      if (!lanes::any(lanes::equal(size, lanes::broadcast<U>(0)))) [[likely]] {
        stalled_ += lanes::count(stays);
        return {lanes::from_bits<F>(toward), lanes::from_bits<F>(size)};
      }
    M const is_wished = lanes::greater(size, lanes::broadcast<U>(0));
    stalled_ += lanes::count(lanes::mask_and(stays, is_wished));
    F const one = lanes::select(is_wished, lanes::broadcast<F>(1), lanes::broadcast<F>(0));
    F const toward_u = lanes::from_bits<F>(lanes::bits(one) | sign_of_u);
    // Infinite or NaN if `old` or `now` is, or if the step overflows, also times zero.
    return {lanes::mul(change, toward_u), lanes::from_bits<F>(size)};
  }

  /// Counts the elements that have a term that is not finite. Sets their terms to zero.
  LOWP_FN void remove_nonfinite(update_terms<F>& terms) {
    U const largest =
        lanes::max(lanes::magnitude(terms.applied), lanes::magnitude(terms.requested));
    M const nonfinite = lanes::greater(largest, lanes::broadcast<U>(lanes::binary32_infinity - 1));
    nonfinite_ += lanes::count(nonfinite);
    F const zero = lanes::broadcast<F>(0);
    terms = {lanes::select(nonfinite, zero, terms.applied),
             lanes::select(nonfinite, zero, terms.requested)};
  }

  /// Returns a report without sums.
  LOWP_FN update_report counted(std::uint64_t count) const {
    return {count, stalled_, overflowed_, nonfinite_, {}, {}};
  }

 private:
  lane_counter<F> stalled_ = 0, overflowed_ = 0, nonfinite_ = 0;
};

/// The exponent of the unit of large sums.
inline constexpr int sum_exponent = 9;

/// Sums a group of fold::sums terms in float. `group.sum(team...)` sums in the order of fold::sum.
/// It returns false if a sum is not finite: then a term is not, or the sum is too large for a
/// float. `group.change(fn)` calls fn for all terms. Returns true if the unit of the sums is
/// 2^sum_exponent.
template <class Group, class... Team>
LOWP_FN bool sum_in_float(Group& group, Team const&... team) {
  bool is_scaled = false, has_numbers_only = false;
  while (!group.sum(team...) && !is_scaled) {
    if (has_numbers_only)
      group.change([](auto& terms) { terms.multiply(1.0f / (1 << sum_exponent)); });
    else
      group.change([&](auto& terms) { group.remove_nonfinite(terms); });
    is_scaled = has_numbers_only;
    has_numbers_only = true;
  }
  return is_scaled;
}

LOWP_EXACT_END

}  // namespace lowp::detail
