// SPDX-License-Identifier: Apache-2.0
// The first half of the kernel over rows: reads a row and folds it. See row_kernel.hpp.
#pragma once

#include <lowp/cuda/rows/row_sum.hpp>

namespace lowp::cuda {

/// A team's rows and their folds.
///
/// @tparam Call  a row_kernel_call
template <class Call, class Thread>
class row_folder {
 protected:
  using Operation = decltype(Call::operation);
  using Scores = decltype(Call::scores);
  using Sum = decltype(Call::sum);
  using team_type = row_team<Call::team_threads, Thread>;
  using hardware = typename Thread::hardware;
  using folds = typename Operation::folds;
  using state = typename Operation::template state<float>;
  using indices = typename Scores::indices;
  using scores_of_chunk = float[Scores::size][chunk_size];
  template <int K>
  using fold_type = team_fold<std::tuple_element_t<std::size_t{K}, folds>, team_type>;

  using whole = std::integral_constant<int, widths[0]>;  ///< the width of accesses to chunks

  static constexpr int last_fold = static_cast<int>(std::tuple_size_v<folds>) - 1;
  static constexpr int step = team_type::step, stride = team_type::stride;
  static constexpr bool has_visible = Call::has_visible;
  static constexpr bool uses_scores = detail::uses_scores<Operation>;
  static constexpr bool keeps = keeps_codes<Operation, Sum>;
  static constexpr int at_once = chunks_at_once<Operation, Scores, Sum>;
  static constexpr int kept = kept_scores<Operation, Scores>;
  static constexpr bool may_be_shifted = Call::may_be_shifted;
  template <int K>
  static constexpr bool repeats = !std::is_void_v<decltype(std::declval<Operation>().take_total(
      fold::number<K>{}, std::declval<state&>(),
      std::declval<fold_type<K>>().total(std::declval<team_type&>())))>;
  /// True if fold 0 takes chunks as they arrive.
  static constexpr bool folds_chunks = team_type::is_warp || !fold_type<0>::is_ordered;

  LOWP_FN row_folder(Call const& call, Thread const& thread)
      : call_(call),
        thread_(thread),
        team_(thread, call.shift),
        codes_(thread.register_address(memory_of_row())),
        cached_(thread, reinterpret_cast<float*>(memory_of_row()), team_) {}

  LOWP_FN unsigned char* memory_of_row() const {
    return thread_.dynamic_memory() +
           team_.number() * room() * kept_bytes<Operation, Scores, Sum>(has_floats());
  }
  /// Returns true if rows are kept; a warp's rows are short.
  LOWP_FN bool is_cached() const { return team_type::is_warp || call_.is_cached; }
  /// Returns true if shared memory has floats, which the values of the last fold replace.
  LOWP_FN bool has_floats() const { return !keeps && call_.has_floats; }
  /// Returns the elements from the start of an aligned chunk to the row.
  LOWP_FN unsigned lead_of_row() const { return may_be_shifted ? lead_ : 0; }
  LOWP_FN unsigned room() const { return call_.room * unsigned{row_unit}; }
  /// Returns true if a thread moves chunks. Else it moves elements, which lie side by side with
  /// those of the team's other threads.
  LOWP_FN bool has_chunks() const { return is_cached() && call_.width == whole::value; }
  LOWP_FN static int within_chunk(int left) { return left < chunk_size ? left : chunk_size; }

  LOWP_FN void fold(std::uint64_t r, state& s) {
    fold_row<0>(r, s, read_row(r, s));
    fold_row<1>(r, s, true);
  }
  /// Keeps the scores, and folds them on arrival if that is possible. Returns true if fold 0 needs
  /// a turn.
  LOWP_FN bool read_row(std::uint64_t r, state& s) {
    if constexpr (Sum::operands == 0) {
      if (!has_chunks() && is_cached()) {
        row_accessors<Scores, hardware, 1> const from(call_.scores, r);
        from.template copy<kept, !keeps>(thread_, team_, memory_of_row(), room(), end_,
                                         has_floats());
        team_.full_barrier();
      }
      if (!has_chunks()) return true;
    }
    fold_type<0> folded;
    row_accessors<Scores, hardware, at_once> from(call_.scores, r);
    row_adder<Sum, hardware, at_once> adder(call_.sum, r, call_.columns);
    std::uint32_t first = lanes::hidden(team_.first_of_chunk());  // else it counts turns, too
    std::uint32_t const end = end_ + lead_of_row();
    for (std::uint32_t offset = 0; first < end;
         first += at_once * stride, offset += at_once * stride) {
      int const left = static_cast<int>(end - first);
      if (left >= (at_once - 1) * stride + chunk_size)
        read_chunks(first, at_once * stride, offset, from, adder, folded, s);
      else
        read_chunks(first, left, offset, from, adder, folded, s);
    }
    if constexpr (folds_chunks) return takes_total_again<0>(r, s, folded, true);
    team_.barrier();
    return true;
  }
  /// Reads a thread's next chunks. If `left` is a constant, this has no branch.
  LOWP_FN void read_chunks(std::uint32_t first, int left, unsigned place, auto& from, auto& adder,
                           auto& folded, state const& s) {
    auto const load = [&](auto width) {
      LOWP_UNROLL_ON_GPU
      for (int i = 0; i < at_once; ++i) {
        if (left <= i * stride) continue;
        std::uint32_t const column = first - lead_of_row() + static_cast<unsigned>(i * stride);
        if constexpr (may_be_shifted)
          if (i == 0 && first < lead_of_row()) {
            from.load_head(i, thread_);
            continue;
          }
        from.template load<width>(i, thread_, column, within_chunk(left - i * stride));
        adder.template load<width>(i, thread_, column, within_chunk(left - i * stride));
      }
    };
    if constexpr (Sum::operands != 0)
      with_width(call_.width, load);
    else
      load(whole{});
    LOWP_UNROLL_ON_GPU
    for (int i = 0; i < at_once; ++i) {
      if (left <= i * stride) continue;
      [[maybe_unused]] unsigned const to = place + static_cast<unsigned>(i * stride);
      scores_of_chunk x;
      float value[chunk_size];
      from.decode(thread_, i, x);
      std::uint32_t const column = first + static_cast<unsigned>(i * stride);
      adder.add(i, thread_, column, within_chunk(left - i * stride), call_.width, x[0]);
      if constexpr (folds_chunks) fold_some<0, 1>(s, x, value, left - i * stride, folded);
      if (!has_floats()) {
        if constexpr (Sum::operands == 0) from.template keep<kept>(i, codes_, room(), column);
      } else if constexpr (!keeps && folds_chunks && last_fold == 0) {
        cached_.store_chunk(to, value);
      } else if constexpr (!keeps) {
        LOWP_UNROLL_ON_GPU
        for (unsigned j = 0; j < Scores::size; ++j) cached_.store_chunk(to + j * room(), x[j]);
      }
    }
  }

  /// Runs the folds K = 0, or all others, each over a thread's own elements. A row that needs no
  /// turn of its own waits for those of its warp.
  template <int K>
  LOWP_FN void fold_row(std::uint64_t r, state& s, bool wants) {
    if constexpr (K <= last_fold) {
      if constexpr (repeats<K>)
        while (team_.any(wants)) wants = fold_once<K>(r, s, wants);
      else if (wants)
        fold_once<K>(r, s, true);
      if constexpr (K != 0) fold_row<K + 1>(r, s, true);
    }
  }
  /// Returns true if the fold needs another turn.
  template <int K>
  LOWP_FN bool fold_once(std::uint64_t r, state& s, bool wants) {
    fold_type<K> folded;
    row_accessors<Scores, hardware, 1> from(call_.scores, r);
    std::uint32_t const end = wants ? end_ : 0;
    for (std::uint32_t first = team_.first_of_sums(), offset = 0; first < end;
         first += stride, offset += stride) {
      int const left = static_cast<int>(end - first);
      bool const is_whole = !team_type::is_warp && left > (chunk_size - 1) * step;
      if (!has_floats())
        is_whole ? fold_codes<K>(from, s, first, chunk_size * step, folded)
                 : fold_codes<K>(from, s, first, left, folded);
      else if constexpr (!keeps)
        is_whole ? fold_own<K>(s, offset, chunk_size * step, folded)
                 : fold_own<K>(s, offset, left, folded);
    }
    return takes_total_again<K>(r, s, folded, wants);
  }
  /// Returns true if fold K needs another turn. In shared memory, the values of the last fold have
  /// replaced the scores, so it reads these once more.
  template <int K>
  LOWP_FN bool takes_total_again(std::uint64_t r, state& s, auto& folded, bool wants) {
    auto const total = folded.total(team_);
    if (!wants || !detail::takes_total_again(call_.operation, fold::number<K>{}, s, total))
      return false;
    if constexpr (K == last_fold && !keeps)
      if (has_floats()) {
        row_accessors<Scores, hardware, 1> const from(call_.scores, r);
        for (std::uint32_t first = team_.first_of_sums(), offset = 0; first < end_;
             first += stride, offset += stride)
          read_own(from, first, static_cast<int>(end_ - first), offset);
      }
    return true;
  }
  /// Folds a thread's own elements of a row that is kept as it was loaded, or is read anew.
  template <int K, class Folded>
  LOWP_FN void fold_codes(auto& from, state const& s, std::uint32_t first, int left,
                          Folded& folded) const {
    scores_of_chunk x = {};
    float value[chunk_size];
    if constexpr (team_type::is_warp) {
      recall(from, first, within_chunk(left), x);
    } else {
      auto const each = [&](auto const& load) {
        LOWP_UNROLL_ON_GPU
        for (int k = 0; k < chunk_size; ++k)
          if (left > k * step) load(first + static_cast<unsigned>(k * step), k);
      };
      if (is_cached())
        each([&](std::uint32_t column, int k) {
          from.template kept_element<kept>(codes_, room(), column + lead_of_row(), k, x);
          from.template load_element<kept>(thread_, column, k, x);
        });
      else
        each([&](std::uint32_t column, int k) { from.load_element(thread_, column, k, x); });
    }
    fold_some<K, step>(s, x, value, left, folded);
  }
  /// Takes a chunk from the kept row. Others than its scores are loaded.
  LOWP_FN void recall(auto& from, std::uint32_t column, int count, scores_of_chunk& x) const {
    from.template recall<kept>(codes_, room(), column);
    if constexpr (kept < Scores::size)
      has_chunks() ? from.template load<whole::value, kept>(0, thread_, column, count)
                   : from.template load<1, kept>(0, thread_, column, count);
    from.decode(thread_, 0, x);
  }
  /// Folds a thread's own elements. If `left` is a constant, this has no branch.
  template <int K, class Folded>
  LOWP_FN void fold_own(state const& s, unsigned place, int left, Folded& folded) const {
    scores_of_chunk x;
    float value[chunk_size];
    LOWP_UNROLL_ON_GPU
    for (unsigned j = 0; j < Scores::size; ++j) cached_.load_own(place + j * room(), left, x[j]);
    fold_some<K, step>(s, x, value, left, folded);
    if constexpr (K == last_fold) cached_.store_own(place, value);
  }
  LOWP_FN void read_own(auto const& from, std::uint32_t first, int left, unsigned place) const {
    scores_of_chunk x = {};
    LOWP_UNROLL_ON_GPU
    for (int k = 0; k < chunk_size; ++k)
      if (left > k * step)
        from.load_element(thread_, first + static_cast<unsigned>(k * step), k, x);
    LOWP_UNROLL_ON_GPU
    for (unsigned j = 0; j < Scores::size; ++j) cached_.store_own(place + j * room(), x[j]);
  }
  /// Computes the values of eight elements that are Step apart, and folds those before the row's
  /// end. Those behind it may be anything.
  template <int K, int Step, class Folded>
  LOWP_FN void fold_some(state const& s, scores_of_chunk const& x,
                         [[maybe_unused]] float (&value)[chunk_size], int left,
                         Folded& folded) const {
    decltype(call_.operation.term(fold::number<K>{},
                                  value_at<K>(s, x, 0, indices{}))) term[chunk_size];
    LOWP_UNROLL_ON_GPU
    for (int k = 0; k < chunk_size; ++k) {
      auto const of_element = value_at<K>(s, x, k, indices{});
      term[k] = call_.operation.term(fold::number<K>{}, of_element);
      if constexpr (K == last_fold && !uses_scores)
        value[k] = detail::kept_of(call_.operation, of_element, term[k]);
    }
    if (left > (chunk_size - 1) * Step) {
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k) folded.add(k, term[k]);
    } else {
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k)
        if (left > k * Step) folded.add(k, term[k]);
    }
  }

  template <int K, std::size_t... J>
  LOWP_FN auto value_at(state const& s, scores_of_chunk const& x, int k,
                        std::index_sequence<J...>) const {
    return call_.operation.value(fold::number<K>{}, s, x[J][k]...);
  }
  /// Computes the values of a chunk's first elements, if results are made of these.
  template <int Count = chunk_size>
  LOWP_FN void compute([[maybe_unused]] state const& s, [[maybe_unused]] scores_of_chunk const& x,
                       [[maybe_unused]] float (&value)[chunk_size]) const {
    if constexpr (!uses_scores) {
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < Count; ++k) {
        float const of_element = value_at<last_fold>(s, x, k, indices{});
        value[k] = detail::kept_of(call_.operation, of_element,
                                   call_.operation.term(fold::number<last_fold>{}, of_element));
      }
    }
  }

  Call const& call_;
  Thread const& thread_;
  team_type team_;
  unsigned char* codes_;          ///< the row as it was loaded
  row_memory<team_type> cached_;  ///< the row as floats
  std::uint32_t end_ = 0;         ///< end of a row's folded elements
  unsigned lead_ = 0;             ///< see lead_of_row()
};

}  // namespace lowp::cuda
