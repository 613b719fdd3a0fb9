// SPDX-License-Identifier: Apache-2.0
// The loop over columns: sums over all rows, one for each column. column_group rows add up in
// float, as many such groups in double, and those in double, each in order. So the bits depend
// neither on threads nor on the width of a pack. An operand that is read, too, gets its old value
// added in double. An operation has these members, beside those of row_call.hpp:
//
//     add_to(fold::number<K>, sum, state, scores...)    adds a row to sum K of a column
#pragma once

#include <lowp/lanes/row_folds.hpp>
#include <lowp/simd/rows/row_accessors.hpp>
#include <lowp/simd/rows/row_call.hpp>
#include <lowp/simd/wide.hpp>

#include <tuple>
#include <utility>

namespace lowp::simd {

inline constexpr std::size_t column_group = 16;

/// A call for blocks first_row to first_row + rows of columns. A block is to an executor what a row
/// is in a row_call. Each of the sums is an operand with an element for each column.
template <class Operation, class Scores, class Sums>
struct column_call;

LOWP_EXACT_BEGIN

template <class Operation, class... Score, class... Sum>
struct column_call<Operation, std::tuple<Score...>, std::tuple<Sum...>> {
  /// The columns of a block: a multiple of every pack, and little enough to keep a team busy.
  static constexpr std::size_t width = 128;

  Operation operation;
  std::size_t all_rows, all_columns;
  std::tuple<Score...> scores;
  std::tuple<Sum...> sums;
  std::size_t first_row = 0, rows = (all_columns + width - 1) / width;
  std::size_t columns = width * all_rows + 1;  ///< the work of a block

  template <class Isa>
  LOWP_HOST_FN void body() const {
    using accessors = row_accessors<Isa, std::tuple<Score...>>;
    typename accessors::scratch scratch;
    accessors from(scores, 0, std::move(scratch));
    for (std::size_t i = first_row; i < first_row + rows; ++i) {
      std::size_t const rest = all_columns - i * width;
      sum_block<Isa>(from, i * width, rest < width ? rest : width,
                     std::index_sequence_for<Sum...>{});
    }
  }

 private:
  template <class Isa, class From, std::size_t... K>
  LOWP_HOST_FN void sum_block(From& from, std::size_t first, std::size_t count,
                              std::index_sequence<K...> all) const {
    using F = pack<float, typename Isa::registers>;
    using D = lanes::wide<F>;
    constexpr std::size_t size = Isa::lanes, packs = width / size;
    D totals[packs][sizeof...(K)], groups[packs][sizeof...(K)];
    F each[packs][sizeof...(K)];
    for (auto& total : totals) ((total[K] = lanes::broadcast<D>(0)), ...);
    for (std::size_t row = 0; row < all_rows;) {
      for (auto& sum : groups) ((sum[K] = lanes::broadcast<D>(0)), ...);
      for (std::size_t g = 0; g < column_group && row < all_rows; ++g, row += column_group) {
        for (auto& sum : each) ((sum[K] = lanes::broadcast<F>(0)), ...);
        for (std::size_t r = row; r < row + column_group && r < all_rows; ++r)
          add_row(from, r, first, count, each, all);
        for (std::size_t p = 0; p < packs; ++p)
          ((groups[p][K] = lanes::add(groups[p][K], lanes::widen(each[p][K]))), ...);
      }
      for (std::size_t p = 0; p < packs; ++p)
        ((totals[p][K] = lanes::add(totals[p][K], groups[p][K])), ...);
    }
    for (std::size_t i = 0; i < count; ++i)
      (write(std::get<K>(sums), first + i,
             lane<D>::at(totals[i / size][K], static_cast<int>(i % size))),
       ...);
  }
  template <class To>
  LOWP_HOST_FN static void write(To const& to, std::size_t i, double sum) {
    float& old = to.operand.data[i];
    if constexpr (To::operand_type::is_read) sum = lanes::add(lane<float>::widen(old), sum);
    old = lanes::canonical(lane<float>::narrowed(sum));
  }
  template <class From, class F, std::size_t Packs, std::size_t... K>
  LOWP_HOST_FN void add_row(From& from, std::size_t row, std::size_t first, std::size_t count,
                            F (&each)[Packs][sizeof...(K)], std::index_sequence<K...> all) const {
    typename Operation::template state<F> state;
    operation.start(state, row);
    from.start(row);
    constexpr std::size_t size = F::lanes;
    std::size_t const whole = count / size * size;
    from.begin(first, whole);
    for (std::size_t e = 0; e < whole; e += size)
      add_pack(from, state, static_cast<int>(e), each[e / size], all,
               std::index_sequence_for<Score...>{});
    if (whole == count) return;
    from.begin(first + whole, count - whole);
    add_pack(from, state, 0, each[whole / size], all, std::index_sequence_for<Score...>{});
  }
  template <class From, class State, class F, std::size_t... K, std::size_t... J>
  LOWP_HOST_FN void add_pack(From& from, State const& state, int k, F (&sum)[sizeof...(K)],
                             std::index_sequence<K...>, std::index_sequence<J...>) const {
    F const score[] = {F(from.template get<J>().load(k))...};
    (operation.add_to(fold::number<static_cast<int>(K)>{}, sum[K], state, score[J]...), ...);
  }
};

LOWP_EXACT_END

}  // namespace lowp::simd
