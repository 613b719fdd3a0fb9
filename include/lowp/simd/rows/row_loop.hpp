// SPDX-License-Identifier: Apache-2.0
// The loop over rows: the folds of a row, then its results. It serves every operation, operand type
// and instruction set. A row of few columns keeps dear values of its last fold; others repeat them.
#pragma once

#include <lowp/lanes/row_folds.hpp>
#include <lowp/simd/rows/row_accessors.hpp>
#include <lowp/simd/rows/row_fold.hpp>

namespace lowp::simd {

LOWP_LAYERS_BEGIN

template <class Isa, class Call>
class row_loop {
  using Operation = decltype(Call::operation);
  using Out = decltype(Call::out);
  using out_accessors = row_accessors<Isa, std::tuple<Out>>;
  using score_accessors = row_accessors<Isa, decltype(Call::scores)>;
  using column_accessors = row_accessors<Isa, decltype(Call::per_column)>;
  using statistic_accessors = row_accessors<Isa, decltype(Call::statistics)>;

 public:
  LOWP_HOST_FN explicit row_loop(Call const& rows) : call_(rows) {}

  LOWP_HOST_FN void over_rows() const {
    std::tuple<Out> const out(call_.out);
    over_rows(out_accessors(out, streamed()), score_accessors(call_.scores),
              column_accessors(call_.per_column), statistic_accessors(call_.statistics));
  }

 private:
  /// The values kept take half of the smallest second-level caches. The values of rows that run
  /// together take little of the first-level cache. Fewer elements than least_fetched lie in one.
  static constexpr std::size_t most_cached = 8192, most_together = 2048, most_at_once = 16,
                               least_fetched = std::size_t{1} << 18;
  using folds = typename Operation::folds;
  using registers = typename Isa::registers;
  using F = pack<float, registers>;
  template <int K>
  using folded = row_fold<std::tuple_element_t<std::size_t{K}, folds>, F>;
  static constexpr int last_fold = static_cast<int>(std::tuple_size_v<folds>) - 1;
  static constexpr typename score_accessors::indices each_score{};
  static constexpr typename column_accessors::indices each_column{};
  static constexpr bool uses_scores = detail::uses_scores<Operation>;
  static constexpr bool has_lines = requires { Call::has_lines; };
  /// With 16 lanes a store takes longer than cheap values do, and registers hold a longer strip.
  static constexpr bool is_cheap = Isa::lanes == 16 && detail::has_plain_state<Operation, F>;
  static constexpr bool repeats = is_cheap && score_accessors::has_floats;

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
    std::size_t const at_once = rows_at_once(), end = first_row_ + rows_;
    for (std::size_t row = first_row_, count; row < end; row += count) {
      count = end - row < at_once ? end - row : at_once;
      typename Operation::template state<F> states[most_at_once];
      for (std::size_t i = 0; i < count; ++i) detail::start_row(operation_, states[i], row + i);
      fold_rows<0>(row, count, from, states, cached);
      for (std::size_t i = 0; i < count; ++i) {
        write_statistics(row + i, statistics, states[i], typename statistic_accessors::indices{});
        to.start(row + i);
        if constexpr (uses_scores || repeats) from.start(row + i);
        auto const state = states[i];  // whose address no store has
        if constexpr (has_lines) {
          sums = call_.sums_at(row + i, sums, cached, most_cached);
          write_row(to, from, with, state, sums, columns_);
          call_.template end_row<F>(row + i, end, sums);
        } else {
          write_row(to, from, with, state, cached + i * room(), visible(row + i));
        }
      }
    }
    to.finish();
  }

  template <int K, class From, class State>
  LOWP_HOST_FN void fold_rows(std::size_t row, std::size_t count, From& from, State* states,
                              float* cached) const {
    // Computing with a row takes longer than the hardware looks ahead.
    bool const fetches =
        call_.all_rows * columns_ >= least_fetched && row + 2 * count <= first_row_ + rows_;
    std::size_t const fetched = fetches ? count * std::get<0>(call_.scores).stride : 0;
    for (std::size_t i = 0; i < count; ++i) {
      from.start(row + i);
      while (fold_once<K>(from, states[i], cached + i * room(), visible(row + i), fetched));
    }
    if constexpr (K < last_fold) fold_rows<K + 1>(row, count, from, states, cached);
  }

  /// Returns true if the fold needs another turn.
  template <int K, class From, class State>
  LOWP_HOST_FN bool fold_once(From& from, State& result, float* cached, std::size_t visible,
                              std::size_t fetched) const {
    State const state = result;  // whose address no store has
    folded<K> total(visible);
    std::size_t first = 0;
    if constexpr (!folded<K>::has_no_order)
      if (visible >= (is_cheap ? 1 : 2) * fold::sums && detail::is_plain(operation_, state))
        first =
            fold_strips<K>(from, detail::plain_of(operation_, state), cached, visible, fetched,
                           total, std::make_index_sequence<is_cheap ? 16 / folded<K>::count : 4>{});
    for (std::size_t valid; first < visible; first += valid) {
      valid = row_stretch<Isa>(visible - first);
      from.begin(first, valid);
      if (K == last_fold && fetched != 0) from.fetch(fetched + first, valid);
      if (first < fold::sums)
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
                                       std::index_sequence<P...>) const {
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
    auto const value = value_at<K>(from, state, k, each_score);
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

  LOWP_HOST_FN void write_row(auto& to, auto& from, auto& with, auto const& state, float* cached,
                              std::size_t visible) const {
    std::size_t stretch = batch<Isa>;  // those of a row that is not streamed run into each other
    if constexpr (out_accessors::may_be_stretched && score_accessors::may_be_stretched &&
                  column_accessors::may_be_stretched)
      if (!to.template get<0>().is_staged(false)) stretch = columns_ + 1;
    for (std::size_t first = 0, valid; first < columns_; first += valid) {
      valid = row_stretch<Isa>(columns_ - first, stretch);
      if (uses_scores || repeats || columns_ > most_cached) from.begin(first, valid);
      with.begin(first, valid);
      to.begin(first, valid);
      if ((repeats || columns_ <= most_cached) && first + valid <= visible &&
          detail::is_plain(operation_, state))
        write_stretch<true>(to, from, with, detail::plain_of(operation_, state), cached, visible,
                            first, valid);
      else
        write_stretch<false>(to, from, with, state, cached, visible, first, valid);
      to.end(first, valid);
    }
  }
  /// @tparam IsPlain  true if values are at hand, and the whole stretch is visible
  template <bool IsPlain, class To, class From, class With, class State>
  LOWP_HOST_FN void write_stretch(To& to, From& from, With& with, State const& state, float* cached,
                                  std::size_t visible, std::size_t first, std::size_t valid) const {
    auto& out = to.template get<0>();
    int const left = static_cast<int>(valid);
    int k = 0;
    if constexpr (std::remove_cvref_t<decltype(out)>::stores_in_order) {
      for (; k + 2 * Isa::lanes <= left; k += 2 * Isa::lanes) {
        F const a = total_of<IsPlain>(out, from, with, state, cached, visible, first, k);
        F const b =
            total_of<IsPlain>(out, from, with, state, cached, visible, first, k + Isa::lanes);
        out.template store_pair<false>(k, a, b);
      }
    }
    for (; k < left; k += Isa::lanes)
      out.template store<false>(
          k, total_of<IsPlain>(out, from, with, state, cached, visible, first, k));
  }
  /// Returns the results of a pack, added to the old values if the operand is read, too.
  template <bool IsPlain>
  LOWP_HOST_FN F total_of(auto& out, auto& from, auto& with, auto const& state, float* cached,
                          std::size_t visible, std::size_t first, int k) const {
    F const result = result_of<IsPlain>(from, with, state, cached, visible, first, k);
    return Out::operand_type::is_read ? lanes::add(out.load(k), result) : result;
  }
  template <bool IsPlain>
  LOWP_HOST_FN F result_of(auto& from, auto& with, auto const& state, float* cached,
                           std::size_t visible, std::size_t first, int k) const {
    if constexpr (uses_scores) {
      return result_of_scores(from, with, state, k, cached + first, each_score);
    } else {
      std::size_t const e = first + static_cast<std::size_t>(k);
      F value = repeats || (!IsPlain && columns_ > most_cached) ? kept_at(from, state, k)
                                                                : F::load(cached + e);
      if (!IsPlain && e + Isa::lanes > visible)
        value =
            lanes::select(first_lanes<registers>(e < visible ? static_cast<int>(visible - e) : 0),
                          value, lanes::broadcast<F>(0));
      F result = result_at(with, state, k, each_column, cached, value);
      if constexpr (requires { operation_.marked_result(state, value); })
        if (std::size_t const lane = state.marked - e; lane < Isa::lanes)
          result = lanes::select(only_lane<registers>(static_cast<int>(lane)),
                                 operation_.marked_result(state, value), result);
      return result;
    }
  }

  template <std::size_t... K>
  LOWP_HOST_FN F result_of_scores(auto& from, auto& with, auto const& state, int k, float* sums,
                                  std::index_sequence<K...>) const {
    return result_at(with, state, k, each_column, sums, F(from.template get<K>().load(k))...);
  }
  LOWP_HOST_FN F kept_at(auto& from, auto const& state, int k) const {
    F const value = value_at<last_fold>(from, state, k, each_score);
    return detail::kept_of(operation_, value, operation_.term(fold::number<last_fold>{}, value));
  }
  template <int K, class From, class State, std::size_t... J>
  LOWP_HOST_FN auto value_at(From& from, State const& state, int k,
                             std::index_sequence<J...>) const {
    return operation_.value(fold::number<K>{}, state, F(from.template get<J>().load(k))...);
  }
  template <class With, class State, std::size_t... J, class... Value>
  LOWP_HOST_FN F result_at([[maybe_unused]] With& with, State const& state, [[maybe_unused]] int k,
                           std::index_sequence<J...>, [[maybe_unused]] float* sums,
                           Value const&... value) const {
    if constexpr (has_lines) call_.template add_to<F>(state, sums + k, value...);
    return operation_.result(state, value..., F(with.template get<J>().load(k))...);
  }

  Call const& call_;
  Operation const& operation_ = call_.operation;
  std::size_t first_row_ = call_.first_row, rows_ = call_.rows, columns_ = call_.columns;
};

LOWP_EXACT_END

}  // namespace lowp::simd
