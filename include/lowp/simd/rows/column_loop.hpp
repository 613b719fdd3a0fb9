// SPDX-License-Identifier: Apache-2.0
// The loop over columns: sums over all rows, one for each column. Rows add up in float in groups of
// column_group, in order. The groups add up in double, in order. So the bits depend neither on
// threads nor on the width of a pack. An operation has these members, beside those of row_call.hpp:
//
//     add_to(fold::number<I>, sum, state, scores...)    adds a row to sum I of a column
#pragma once

#include <lowp/lanes/row_folds.hpp>
#include <lowp/simd/rows/row_accessors.hpp>
#include <lowp/simd/rows/row_call.hpp>
#include <lowp/simd/wide.hpp>

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

namespace lowp::simd {

inline constexpr std::size_t column_group = 16;

/// A call for blocks first_row to first_row + rows of columns. A block is to an executor what a row
/// is in a row_call. Each of the sums is an operand with an element for each column.
template <class Operation, class Scores, class Sums>
struct column_call;

LOWP_EXACT_BEGIN

template <class Isa, class Call>
class column_loop;
template <class Isa, class Operation, class... Score, class... Sum>
class column_loop<Isa, column_call<Operation, std::tuple<Score...>, std::tuple<Sum...>>> {
  using call = column_call<Operation, std::tuple<Score...>, std::tuple<Sum...>>;
  using F = pack<float, typename Isa::registers>;
  using D = lanes::wide<F>;
  using accessors = row_accessors<Isa, std::index_sequence_for<Score...>, Score...>;
  static constexpr std::size_t size = Isa::lanes, packs = call::width / size;

 public:
  LOWP_HOST_FN explicit column_loop(call const& columns) : call_(columns) {}

  LOWP_HOST_FN void over_columns() const {
    over_blocks(accessors(call_.scores, 0, typename accessors::scratch{}));
  }

 private:
  LOWP_HOST_FN void over_blocks(accessors&& from) const {
    for (std::size_t i = 0; i < call_.rows; ++i) {
      std::size_t const first = (call_.first_row + i) * call::width;
      sum_block(from, first, std::min(call_.all_columns - first, call::width),
                std::index_sequence_for<Sum...>{});
    }
  }
  template <std::size_t... I>
  LOWP_HOST_FN void sum_block(accessors& from, std::size_t first, std::size_t count,
                              std::index_sequence<I...> all) const {
    D totals[packs][sizeof...(I)];
    F sums[packs][sizeof...(I)];
    for (auto& total : totals) ((total[I] = lanes::broadcast<D>(0)), ...);
    for (std::size_t row = 0; row < call_.all_rows; row += column_group) {
      for (auto& sum : sums) ((sum[I] = lanes::broadcast<F>(0)), ...);
      for (std::size_t r = row; r < std::min(row + column_group, call_.all_rows); ++r)
        add_row(from, r, first, count, sums, all);
      for (std::size_t p = 0; p < packs; ++p)
        ((totals[p][I] = lanes::add(totals[p][I], lanes::widen(sums[p][I]))), ...);
    }
    for (std::size_t i = 0; i < count; ++i)
      ((std::get<I>(call_.sums).operand.data[first + i] = lanes::canonical(
            lane<float>::narrowed(lane<D>::at(totals[i / size][I], static_cast<int>(i % size))))),
       ...);
  }
  template <std::size_t... I>
  LOWP_HOST_FN void add_row(accessors& from, std::size_t row, std::size_t first, std::size_t count,
                            F (&sums)[packs][sizeof...(I)], std::index_sequence<I...> all) const {
    typename Operation::template state<F> state;
    call_.operation.start(state, row);
    from.start(row);
    std::size_t const whole = count / size * size;
    from.begin(first, whole);
    for (std::size_t e = 0; e < whole; e += size)
      add_pack(from, state, static_cast<int>(e), sums[e / size], all,
               std::index_sequence_for<Score...>{});
    if (whole == count) return;
    from.begin(first + whole, count - whole);
    add_pack(from, state, 0, sums[whole / size], all, std::index_sequence_for<Score...>{});
  }
  template <class State, std::size_t... I, std::size_t... J>
  LOWP_HOST_FN void add_pack(accessors& from, State const& state, int k, F (&sums)[sizeof...(I)],
                             std::index_sequence<I...>, std::index_sequence<J...>) const {
    F const scores[] = {F(from.template get<J>().load(k))...};
    (call_.operation.add_to(fold::number<static_cast<int>(I)>{}, sums[I], state, scores[J]...),
     ...);
  }

  call const& call_;
};

LOWP_EXACT_END

template <class Operation, class Scores, class Sums>
struct column_call {
  /// The columns of a block: a multiple of every pack, and little enough to keep a team busy.
  static constexpr std::size_t width = 128;

  Operation operation;
  std::size_t all_rows, all_columns;
  Scores scores;
  Sums sums;
  std::size_t first_row = 0, rows = (all_columns + width - 1) / width;
  std::size_t columns = width * all_rows + 1;  ///< the work of a block

  LOWP_HOST_FN column_call subrange(std::size_t first, std::size_t count) const {
    column_call some = *this;
    some.first_row += first;
    some.rows = count;
    return some;
  }
  template <class Isa>
  LOWP_HOST_FN void body() const {
    column_loop<Isa, column_call>(*this).over_columns();
  }
};

}  // namespace lowp::simd
