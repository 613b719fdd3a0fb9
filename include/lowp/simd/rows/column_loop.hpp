// SPDX-License-Identifier: Apache-2.0
// The loop over columns: sums over all rows, one for each column. column_group rows add up in
// float, as many such groups in double, and those in double, each in order. So the bits depend
// neither on threads nor on the width of a pack. An operand that is read, too, gets its old value
// added in double, and one rounding. Rows may come in groups, each with sums of its own. An
// operation has these members, beside those of row_call.hpp:
//
//     add_to(fold::number<K>, sum, state, scores...)    adds a row to sum K of a column
#pragma once

#include <lowp/lanes/row_folds.hpp>
#include <lowp/simd/rows/row_accessors.hpp>

namespace lowp::simd {

inline constexpr std::size_t column_group = 16, column_run = column_group * column_group;

/// All rows as one group, whose sums are row 0 of a matrix of sums.
struct one_group {
  static constexpr std::size_t places = 1;  ///< where a group may begin

  std::size_t rows;

  LOWP_FN static bool begins(std::size_t) { return true; }
  LOWP_FN static std::uint32_t before(std::size_t, std::uint32_t) { return 0; }
  LOWP_FN std::size_t end(std::size_t) const { return rows; }
  LOWP_FN static std::size_t row(std::size_t place) { return place; }
  LOWP_FN static std::size_t target(std::size_t) { return 0; }
};

/// A call for blocks first_row to first_row + rows. A block has a place and some columns, and is to
/// an executor what a row is in a row_call. Sums are rows with an element for each column.
template <class Operation, class Groups, class Scores, class Sums>
struct column_call;

/// The rounding of a sum to float. It is rounded again to a narrow type.
template <class T>
using rounding_of_sum =
    std::conditional_t<narrow<T>, detail::intermediate_rounding<to_odd>, nearest_even>;

LOWP_EXACT_BEGIN

/// Rounds a sum once and stores it, or adds it to what is there in double, and rounds once.
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

/// Writes the sums of `count` columns, the first of which has number `first`.
template <class Isa, class D, std::size_t Packs, class... Sum, std::size_t... K>
LOWP_HOST_FN void write_sums(tuple_of<std::index_sequence<K...>, Sum...> const&, auto& to,
                             std::size_t first, std::size_t count,
                             D const (&totals)[Packs][sizeof...(K)]) {
  constexpr std::size_t size = Isa::lanes;
  std::size_t const whole = count / size * size;
  for (std::size_t at = 0, valid; at < count; at += valid) {
    valid = count - at < size ? count - at : whole;
    to.begin(first + at, valid);
    for (std::size_t e = 0; e < valid; e += size)
      (write_sum<Isa, typename Sum::operand_type>(to.template get<K>(), static_cast<int>(e),
                                                  totals[(at + e) / size][K]),
       ...);
    to.end(first + at, valid);
  }
}

template <class Operation, class Groups, std::size_t... J, class... Score, std::size_t... K,
          class... Sum>
struct column_call<Operation, Groups, tuple_of<std::index_sequence<J...>, Score...>,
                   tuple_of<std::index_sequence<K...>, Sum...>> {
  /// The columns of a block: a multiple of every pack, and little enough to keep a team busy.
  static constexpr std::size_t width = 128;

  Operation operation;
  Groups groups;
  std::size_t all_rows, all_columns;
  tuple<Score...> scores;
  tuple<Sum...> sums;
  std::size_t of_row = (all_columns + width - 1) / width;  ///< blocks
  std::size_t first_row = 0, rows = of_row * groups.places;
  std::size_t columns = width * (all_rows / (groups.places | 1)) + 1;  ///< the work of a block

  template <class Isa>
  LOWP_HOST_FN void body() const {
    using accessors = row_accessors<Isa, tuple<Score...>>;
    using sum_accessors = row_accessors<Isa, tuple<Sum...>>;
    typename accessors::scratch scratch;
    typename sum_accessors::scratch scratch_of_sums;
    accessors from(scores, 0, std::move(scratch));
    sum_accessors to(sums, 0, std::move(scratch_of_sums));
    std::size_t const last = first_row + rows;
    for (std::size_t i = first_row, next; i < last; i = next) {
      std::size_t const place = i / of_row, row = i - i % of_row;
      next = last - row < of_row ? last : row + of_row;
      if (!groups.begins(place)) continue;
      to.start(groups.target(place));
      std::size_t const end = groups.end(place), before = (next - row) * width;
      std::size_t const stop = before < all_columns ? before : all_columns;
      sum_group<Isa>(from, to, place, end, (i - row) * width, stop);
    }
  }

 private:
  template <class Isa>
  LOWP_HOST_FN void sum_group(auto& from, auto& to, std::size_t place, std::size_t end,
                              std::size_t first, std::size_t stop) const {
    constexpr std::size_t size = Isa::lanes, packs = 4;
    for (std::size_t step; first < stop; first += step) {
      std::size_t const rest = stop - first;
      if constexpr (!std::is_same_v<Groups, one_group>) {
        if (end - place <= column_group) {
          step = rest >= packs * size ? packs * size : rest < size ? rest : size;
          if (step == packs * size)
            sum_packs<Isa, packs>(from, to, place, end, first, step);
          else
            sum_packs<Isa, 1>(from, to, place, end, first, step);
          continue;
        }
      }
      step = rest < width ? rest : width;
      sum_block<Isa>(from, to, place, end, first, step);
    }
  }
  template <class Isa>
  LOWP_HOST_FN void sum_block(auto& from, auto& to, std::size_t place, std::size_t end,
                              std::size_t first, std::size_t count) const {
    using F = pack<float, typename Isa::registers>;
    using D = lanes::wide<F>;
    constexpr std::size_t size = Isa::lanes, packs = width / size;
    D totals[packs][sizeof...(K)], sixteen[packs][sizeof...(K)];
    F each[packs][sizeof...(K)];
    for (auto& total : totals) ((total[K] = lanes::broadcast<D>(0)), ...);
    for (std::size_t row = place; row < end;) {
      for (auto& sum : sixteen) ((sum[K] = lanes::broadcast<D>(0)), ...);
      for (std::size_t g = 0; g < column_group && row < end; ++g, row += column_group) {
        for (auto& sum : each) ((sum[K] = lanes::broadcast<F>(0)), ...);
        for (std::size_t r = row; r < row + column_group && r < end; ++r)
          add_row(from, groups.row(r), first, count, each);
        for (std::size_t p = 0; p < packs; ++p)
          ((sixteen[p][K] = lanes::add(sixteen[p][K], lanes::widen(each[p][K]))), ...);
      }
      for (std::size_t p = 0; p < packs; ++p)
        ((totals[p][K] = lanes::add(totals[p][K], sixteen[p][K])), ...);
    }
    write_sums<Isa>(sums, to, first, count, totals);
  }
  /// Adds up some packs of a group in float, in registers. In double the sum would be the same.
  template <class Isa, std::size_t Packs>
  LOWP_HOST_FN void sum_packs(auto& from, auto& to, std::size_t place, std::size_t end,
                              std::size_t first, std::size_t valid) const {
    using F = pack<float, typename Isa::registers>;
    F sum[Packs][sizeof...(K)];
    LOWP_UNROLL
    for (auto& each : sum) ((each[K] = lanes::broadcast<F>(0)), ...);
    for (std::size_t r = place; r < end; ++r) {
      std::size_t const row = groups.row(r);
      typename Operation::template state<F> state;
      operation.start(state, row);
      from.start(row);
      from.begin(first, valid);
      LOWP_UNROLL
      for (std::size_t p = 0; p < Packs; ++p)
        add_pack(from, state, static_cast<int>(p * Isa::lanes), sum[p]);
    }
    to.begin(first, valid);
    (write_sums_of_floats<Isa, typename Sum::operand_type, Packs>(to.template get<0>(), sum), ...);
    to.end(first, valid);
  }
  template <class F, std::size_t Packs>
  LOWP_HOST_FN void add_row(auto& from, std::size_t row, std::size_t first, std::size_t count,
                            F (&each)[Packs][sizeof...(K)]) const {
    typename Operation::template state<F> state;
    operation.start(state, row);
    from.start(row);
    constexpr std::size_t size = F::lanes;
    std::size_t const whole = count / size * size;
    from.begin(first, whole);
    for (std::size_t e = 0; e < whole; e += size)
      add_pack(from, state, static_cast<int>(e), each[e / size]);
    if (whole == count) return;
    from.begin(first + whole, count - whole);
    add_pack(from, state, 0, each[whole / size]);
  }
  template <class F>
  LOWP_HOST_FN void add_pack(auto& from, auto const& state, int k, F (&sum)[sizeof...(K)]) const {
    F const score[] = {F(from.template get<J>().load(k))...};
    (operation.add_to(fold::number<static_cast<int>(K)>{}, sum[K], state, score[J]...), ...);
  }
};

LOWP_EXACT_END

}  // namespace lowp::simd
