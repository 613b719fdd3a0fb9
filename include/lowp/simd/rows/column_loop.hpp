// SPDX-License-Identifier: Apache-2.0
// The loop over columns: sums over all rows, one for each column. A sum is in double. Rows add up
// in groups of column_group, in order, and the groups in order. So the bits depend neither on
// threads nor on the width of a pack. An operation has these members, beside those of row_loop.hpp:
//
//     state<F>, start(state, row)
//     add_to(fold::number<I>, sum, state, scores...)    adds a row to sum I of a column
#pragma once

#include <lowp/lanes/row_folds.hpp>
#include <lowp/simd/rows/row_accessors.hpp>
#include <lowp/simd/rows/row_call.hpp>
#include <lowp/simd/wide.hpp>

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
  using all_sums = std::index_sequence_for<Sum...>;
  static constexpr std::size_t packs = call::width / Isa::lanes;
  /// The packs whose sums stay in registers.
  static constexpr std::size_t packs_at_once = 4 / sizeof...(Sum);

 public:
  LOWP_HOST_FN explicit column_loop(call const& columns) : call_(columns) {}

  LOWP_HOST_FN void over_columns() const {
    over_blocks(accessors(call_.scores, 0, typename accessors::scratch{}));
  }

 private:
  LOWP_HOST_FN void over_blocks(accessors&& from) const {
    for (std::size_t i = 0; i < call_.rows; ++i) {
      std::size_t const first = (call_.first_row + i) * call::width;
      std::size_t const left = call_.all_columns - first;
      sum_block(from, first, left < call::width ? left : call::width, all_sums{});
    }
  }

  template <std::size_t... I>
  LOWP_HOST_FN void sum_block(accessors& from, std::size_t first, std::size_t count,
                              std::index_sequence<I...>) const {
    D totals[packs][sizeof...(Sum)];
    for (auto& total : totals) ((total[I] = lanes::broadcast<D>(0)), ...);
    for (std::size_t row = 0; row < call_.all_rows; row += column_group) {
      std::size_t const left = call_.all_rows - row;
      add_group(from, row, left < column_group ? left : column_group, first, count, totals);
    }
    for (std::size_t i = 0; i < count; ++i)
      ((std::get<I>(call_.sums).operand.data[first + i] = lanes::canonical(lane<float>::narrowed(
            lane<D>::at(totals[i / Isa::lanes][I], static_cast<int>(i % Isa::lanes))))),
       ...);
  }

  LOWP_HOST_FN void add_group(accessors& from, std::size_t row, std::size_t rows, std::size_t first,
                              std::size_t count, D (*totals)[sizeof...(Sum)]) const {
    constexpr std::size_t width = Isa::lanes;
    std::size_t done = 0;
    for (; done + packs_at_once * width <= count; done += packs_at_once * width)
      add_packs(from, row, rows, first + done, packs_at_once * width, totals + done / width,
                std::make_index_sequence<packs_at_once>{});
    for (; done < count; done += width)
      add_packs(from, row, rows, first + done, count - done < width ? count - done : width,
                totals + done / width, std::index_sequence<0>{});
  }
  template <std::size_t... P>
  LOWP_HOST_FN void add_packs(accessors& from, std::size_t row, std::size_t rows, std::size_t first,
                              std::size_t valid, D (*totals)[sizeof...(Sum)],
                              std::index_sequence<P...>) const {
    D sums[sizeof...(P)][sizeof...(Sum)];
    ((clear(sums[P], all_sums{})), ...);
    for (std::size_t r = row; r < row + rows; ++r) {
      typename Operation::template state<F> state;
      call_.operation.start(state, r);
      from.start(r);
      from.begin(first, valid);
      (add_row(sums[P], state, from, static_cast<int>(P * Isa::lanes), all_sums{},
               std::index_sequence_for<Score...>{}),
       ...);
    }
    ((add_sums(totals[P], sums[P], all_sums{})), ...);
  }
  template <std::size_t... I>
  LOWP_HOST_FN static void clear(D (&sums)[sizeof...(Sum)], std::index_sequence<I...>) {
    ((sums[I] = lanes::broadcast<D>(0)), ...);
  }
  template <std::size_t... I>
  LOWP_HOST_FN static void add_sums(D (&to)[sizeof...(Sum)], D const (&sums)[sizeof...(Sum)],
                                    std::index_sequence<I...>) {
    ((to[I] = lanes::add(to[I], sums[I])), ...);
  }
  template <class State, std::size_t... I, std::size_t... J>
  LOWP_HOST_FN void add_row(D (&sums)[sizeof...(Sum)], State const& state, accessors& from, int k,
                            std::index_sequence<I...>, std::index_sequence<J...>) const {
    F const scores[] = {F(from.template get<J>().load(k))...};
    ((call_.operation.add_to(fold::number<static_cast<int>(I)>{}, sums[I], state, scores[J]...)),
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
