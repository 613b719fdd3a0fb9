// SPDX-License-Identifier: Apache-2.0
// The loop over rows: the folds of a row, then its results. It serves every operation, operand type
// and instruction set. A row of few columns keeps dear values of its last fold; others repeat them.
#pragma once

#include <lowp/simd/rows/row_writer.hpp>

#include <new>

namespace lowp::simd {

LOWP_LAYERS_BEGIN

template <class Isa, class Call>
class row_loop : row_writer<Isa, Call> {
  using writer = row_writer<Isa, Call>;
  using typename writer::column_accessors, typename writer::F, typename writer::out_accessors,
      typename writer::registers, typename writer::score_accessors;
  using typename writer::Operation, typename writer::Out;
  using writer::call_, writer::columns_, writer::has_lines, writer::is_cheap, writer::last_fold,
      writer::most_cached, writer::operation_, writer::repeats, writer::uses_scores;
  template <int K>
  using folded = typename writer::template folded<K>;
  using statistic_accessors = row_accessors<Isa, decltype(Call::statistics)>;

 public:
  LOWP_HOST_FN explicit row_loop(Call const& rows) : writer(rows) {}

  LOWP_HOST_FN void over_rows() const {
    tuple<Out> const out{{call_.out}};
    over_rows(out_accessors(out, streamed()), score_accessors(call_.scores),
              column_accessors(call_.per_column), statistic_accessors(call_.statistics));
  }

 private:
  /// The values of rows that run together take little of the first-level cache. Fewer elements than
  /// least_fetched lie in one of the second level.
  static constexpr std::size_t most_together = 2048, most_at_once = 16,
                               least_fetched = std::size_t{1} << 18;
  template <int K>
  static constexpr std::size_t packs_in_strip = is_cheap ? 16 / folded<K>::count : 4;
  /// Between two folds a core waits for the sum of a row. Meanwhile it could have written another.
  static constexpr bool hides_writes = repeats && !folded<0>::has_no_order && !has_lines &&
                                       column_accessors::may_be_stretched &&
                                       out_accessors::may_be_stretched;

  /// Returns how many elements of a row are written behind the loads of another row's fold 0. Short
  /// rows gain nothing, long ones need more than the first-level cache.
  LOWP_HOST_FN std::size_t hidden([[maybe_unused]] auto& to) const {
    if constexpr (hides_writes) {
      constexpr std::size_t width = packs_in_strip<0> * std::size_t{Isa::lanes};
      if (columns_ >= 2 * fold::sums && columns_ <= most_together &&
          call_.all_rows * columns_ < least_fetched && !to.template get<0>().is_staged(false))
        return columns_ / width * width;
    }
    return 0;
  }
  /// Returns the number of elements if streaming pays and every row has its alignment, else 0.
  LOWP_HOST_FN std::size_t streamed() const {
    using T = typename Out::operand_type::type;
    return call_.out.stride * sizeof(T) % 16 == 0 ? call_.all_rows * columns_ : 0;
  }

  /// Returns the number of short rows that go through each fold together. The end of a fold, a tree
  /// and a quotient, takes longer than its elements.
  LOWP_HOST_FN std::size_t rows_at_once() const {
    std::size_t const fit = most_together / room();
    return fit == 0 ? 1 : fit < most_at_once ? fit : most_at_once;
  }
  LOWP_HOST_FN std::size_t visible(std::size_t row) const {
    return detail::visible_columns(operation_, row, columns_);
  }
  /// Returns the room for the values of a row, in elements.
  LOWP_HOST_FN std::size_t room() const { return (columns_ + 15) / 16 * 16; }

  LOWP_HOST_FN void over_rows(auto&& to, auto&& from, auto&& with, auto&& statistics) const {
    alignas(64) float cached[most_cached];
    [[maybe_unused]] float* sums = cached;
    using state_type = typename Operation::template state<F>;
    state_type states[most_at_once];
    std::size_t const at_once = rows_at_once(), end = first_row_ + rows_, most = hidden(to);
    for (std::size_t row = first_row_, count; row < end; row += count) {
      count = end - row < at_once ? end - row : at_once;
      bool const is_begun = most != 0 && row != first_row_;
      for (std::size_t i = 0; i < count && !is_begun; ++i)
        detail::start_row(operation_, *::new (states + i) state_type, row + i);
      fold_rows<0>(row, count, from, states, cached, is_begun);
      for (std::size_t i = 0; i < count; ++i) {
        write_statistics(row + i, statistics, states[i], typename statistic_accessors::indices{});
        to.start(row + i);
        if constexpr (uses_scores || repeats) from.start(row + i);
        auto const state = states[i];  // whose address no store has
        if constexpr (has_lines) {
          sums = call_.sums_at(row + i, sums, cached, most_cached);
          this->write_row(to, from, with, state, sums, columns_);
          call_.template end_row<F>(row + i, end, sums);
        } else if constexpr (hides_writes) {
          std::size_t const next = row + i + count;
          bool const begins = most != 0 && next < end;
          std::size_t left = begins && detail::is_plain(operation_, state) ? most : 0;
          this->write_row(to, from, with, state, cached, columns_, left);
          if (!begins) continue;
          // A row begins plain, so a strip of it goes with each part of this one.
          begin_row(score_accessors(call_.scores), next, *::new (states + i) state_type, left, to,
                    from, with, state);
        } else {
          this->write_row(to, from, with, state, cached + i * room(), visible(row + i));
        }
      }
    }
    to.finish();
  }

  /// @param is_begun  true if fold 0 is behind the rows
  template <int K, class From, class State>
  LOWP_HOST_FN void fold_rows(std::size_t row, std::size_t count, From& from, State* states,
                              float* cached, bool is_begun) const {
    // Computing with a row takes longer than the hardware looks ahead.
    bool const fetches =
        call_.all_rows * columns_ >= least_fetched && row + 2 * count <= first_row_ + rows_;
    std::size_t const fetched = fetches ? count * get<0>(call_.scores).stride : 0;
    if (K > 0 || !is_begun)
      for (std::size_t i = 0; i < count; ++i) {
        from.start(row + i);
        while (fold_once<K>(from, states[i], cached + i * room(), visible(row + i), fetched));
      }
    if constexpr (K < last_fold) fold_rows<K + 1>(row, count, from, states, cached, is_begun);
  }
  LOWP_HOST_FN void begin_row(auto&& from, std::size_t row, auto& state, auto&... later) const {
    detail::start_row(operation_, state, row);
    from.start(row);
    while (fold_once<0>(from, state, nullptr, columns_, 0, later...));
  }
  /// Returns true if the fold needs another turn.
  template <int K, class From, class State>
  LOWP_HOST_FN bool fold_once(From& from, State& result, float* cached, std::size_t visible,
                              std::size_t fetched, auto&... later) const {
    State const state = result;  // whose address no store has
    folded<K> total(visible);
    std::size_t first = 0;
    if constexpr (!folded<K>::has_no_order && !is_lean<Isa>)
      if (visible >= (is_cheap ? 1 : 2) * fold::sums && detail::is_plain(operation_, state))
        first = fold_strips<K>(from, detail::plain_of(operation_, state), cached, visible, fetched,
                               total, std::make_index_sequence<packs_in_strip<K>>{}, later...);
    for (std::size_t valid; first < visible; first += valid) {
      valid = row_stretch<Isa>(visible - first);
      from.begin(first, valid);
      if (K == last_fold && fetched != 0) from.fetch(fetched + first, valid);
      if (first < fold::sums && !is_lean<Isa>)
        fold_stretch<K, true>(from, state, cached, first, valid, total);
      else
        fold_stretch<K, false>(from, state, cached, first, valid, total);
    }
    return detail::takes_total_again(operation_, fold::number<K>{}, result, total.total());
  }

  /// Folds a row in strips: some packs of every 256 elements, whose sums stay in registers
  /// meanwhile. Returns the start of the row's rest.
  template <int K, class From, class State, std::size_t... P>
  LOWP_HOST_FN std::size_t fold_strips(From& from, State const& state, float* cached,
                                       std::size_t visible, std::size_t fetched, folded<K>& total,
                                       std::index_sequence<P...>, auto&... later) const {
    constexpr std::size_t width = sizeof...(P) * std::size_t{Isa::lanes};
    static_assert(fold::sums % width == 0);
    std::size_t const end = visible / width * width;
    std::size_t ahead = fetched;
    for (std::size_t strip = 0; strip < fold::sums && strip < end; strip += width) {
      typename folded<K>::template strips<P...> sums;
      for (std::size_t first = strip; first < end; first += fold::sums) {
        from.begin(first, width);
        if (K == last_fold && fetched != 0) from.fetch(ahead, width);
        ahead += width;
        float* const to = cached + first % most_cached;
        (sums.template add<P>(term_at<K>(from, state, to, static_cast<int>(P) * Isa::lanes)), ...);
        if constexpr (sizeof...(later) != 0) this->template write_part<width>(first, later...);
      }
      total.set(strip, sums, end == visible && strip + width == fold::sums);
    }
    return end;
  }
  /// Folds whole packs, or less than one.
  template <int K, bool IsFirst, class From, class State>
  LOWP_HOST_FN void fold_stretch(From& from, State const& state, float* cached, std::size_t first,
                                 std::size_t valid, folded<K>& total) const {
    float* const to = cached + first % most_cached;
    for (int k = 0; k < static_cast<int>(valid); k += Isa::lanes) {
      std::size_t const e = first + static_cast<std::size_t>(k);
      auto term = term_at<K>(from, state, to, k);
      if constexpr (folded<K>::has_no_order) {
        // Two packs share one step of the chain.
        if (k + Isa::lanes < static_cast<int>(valid)) {
          k += Isa::lanes;
          term = folded<K>::of_two(term, term_at<K>(from, state, to, k));
        }
      }
      if (valid < Isa::lanes)
        term = folded<K>::masked(first_lanes<registers>(static_cast<int>(valid)), term);
      total.template add<IsFirst>(e, term);
    }
  }
  /// Computes the term of a pack. The last fold keeps, at to + k, what makes results.
  template <int K>
  LOWP_HOST_FN auto term_at(auto& from, auto const& state, [[maybe_unused]] float* to,
                            int k) const {
    auto const value = this->template value_at<K>(from, state, k);
    auto const term = operation_.term(fold::number<K>{}, value);
    if constexpr (K == last_fold && !uses_scores && !repeats)
      detail::kept_of(operation_, value, term).store(to + k);
    return term;
  }

  template <std::size_t... K>
  LOWP_HOST_FN void write_statistics(std::size_t row, auto& statistics,
                                     [[maybe_unused]] auto const& state,
                                     std::index_sequence<K...>) const {
    statistics.start(row);
    statistics.begin(0, 1);
    (statistics.template get<K>().template store<false>(
         0, operation_.statistic(fold::number<static_cast<int>(K)>{}, state)),
     ...);
    statistics.end(0, 1);
  }

  std::size_t first_row_ = call_.first_row, rows_ = call_.rows;
};

LOWP_EXACT_END

}  // namespace lowp::simd
