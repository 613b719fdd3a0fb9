// SPDX-License-Identifier: Apache-2.0
// The kernel over rows, for teams of a warp and of a block. It reads a row from memory once, in
// chunks of eight elements. Shared memory keeps the values for the folds until the results are
// written, in chunks again. Each fold reads anew a row that is too long for that.
//
// So an element of a kept row costs one read and one write of memory. Each operand that is read
// takes 4 bytes of shared memory, beside 2 KB of a block. bench/cuda/README.md has instructions.
#pragma once

#include <lowp/cuda/rows/row_sum.hpp>
#include <lowp/cuda/rows/row_team.hpp>

namespace lowp::cuda {

template <class Scores, class Sum>
inline constexpr int chunks_at_once = tuning::row_chunks(Scores::bytes_read + Sum::bytes_read);

template <unsigned TeamThreads, class Operation, class To, class Scores, class Columns,
          class Statistics, class Sum>
struct row_kernel_call;

/// The work of a team: its rows, one after another.
template <class Call, class Thread>
class row_runner;
template <unsigned TeamThreads, class Operation, class To, class Scores, class Columns,
          class Statistics, class Sum, class Thread>
class row_runner<row_kernel_call<TeamThreads, Operation, To, Scores, Columns, Statistics, Sum>,
                 Thread> {
  using call_type = row_kernel_call<TeamThreads, Operation, To, Scores, Columns, Statistics, Sum>;
  static_assert(!To::is_random);
  using team_type = row_team<TeamThreads, Thread>;
  using hardware = typename Thread::hardware;
  using folds = typename Operation::folds;
  using state = typename Operation::template state<float>;
  using indices = typename Scores::indices;
  using scores_of_chunk = float[Scores::size][chunk_size];
  using columns_of_chunk = float[Columns::size][chunk_size];
  template <int K>
  using fold_type = team_fold<std::tuple_element_t<std::size_t{K}, folds>, team_type>;

  static constexpr int last_fold = static_cast<int>(std::tuple_size_v<folds>) - 1;
  static constexpr int step = team_type::step, stride = team_type::stride;
  static constexpr bool has_visible = call_type::has_visible;
  static constexpr bool uses_scores = detail::uses_scores<Operation>;
  static constexpr int at_once = chunks_at_once<Scores, Sum>;
  /// True if fold 0 takes chunks as they arrive.
  static constexpr bool folds_chunks = team_type::is_warp || !fold_type<0>::is_ordered;

 public:
  LOWP_FN row_runner(call_type const& call, Thread const& thread)
      : call_(call),
        thread_(thread),
        team_(thread),
        cached_(thread,
                reinterpret_cast<float*>(thread.dynamic_memory()) +
                    static_cast<unsigned>(Scores::size) * team_.number() * room(),
                team_) {}

  LOWP_FN void run() {
    unsigned const teams = team_type::is_warp ? thread_.threads() / team_type::threads : 1;
    for (std::uint64_t r = thread_.block() * teams + team_.number(); r < call_.rows;
         r += thread_.blocks() * teams) {
      state s{};
      detail::start_row(call_.operation, s, r);
      end_ = static_cast<std::uint32_t>(detail::visible_columns(call_.operation, r, call_.columns));
      read_row(r, s) ? fold_row<0>(r, s) : fold_row<1>(r, s);
      write_statistics(r, s, call_.statistics);
      write_row(r, s);
    }
  }

 private:
  /// Returns true if rows are kept; a warp's rows are short.
  LOWP_FN bool is_cached() const { return team_type::is_warp || call_.is_cached; }
  /// Returns the place in shared memory of elements at `offset` from a thread's first element. If
  /// rows are not kept, new elements overwrite the old ones.
  LOWP_FN unsigned place_of(std::uint32_t offset) const { return is_cached() ? offset : 0; }
  LOWP_FN unsigned room() const { return call_.room * static_cast<unsigned>(fold::sums); }
  LOWP_FN static int within_chunk(int left) { return left < chunk_size ? left : chunk_size; }

  /// Keeps the scores, and folds them on arrival if that is possible. Returns true if fold 0 needs
  /// a turn.
  LOWP_FN bool read_row(std::uint64_t r, state& s) {
    if constexpr (!folds_chunks && Sum::operands == 0)
      if (!is_cached()) return true;
    fold_type<0> folded;
    row_accessors<Scores, hardware, at_once> from(call_.scores, r);
    row_adder<Sum, hardware, at_once> adder(call_.sum, r, call_.columns);
    for (std::uint32_t first = team_.first_of_chunk(), offset = 0; first < end_;
         first += at_once * stride, offset += at_once * stride) {
      int const left = static_cast<int>(end_ - first);
      if (left >= (at_once - 1) * stride + chunk_size)
        read_chunks(first, at_once * stride, place_of(offset), from, adder, folded, s);
      else
        read_chunks(first, left, place_of(offset), from, adder, folded, s);
    }
    if constexpr (folds_chunks) return takes_total_again<0>(r, s, folded);
    team_.barrier();
    return true;
  }
  /// Reads a thread's next chunks. If `left` is a constant, this has no branch.
  LOWP_FN void read_chunks(std::uint32_t first, int left, unsigned place, auto& from, auto& adder,
                           auto& folded, state const& s) {
    with_width(call_.width, [&](auto width) {
      LOWP_UNROLL_ON_GPU
      for (int i = 0; i < at_once; ++i) {
        if (left <= i * stride) continue;
        std::uint32_t const column = first + static_cast<unsigned>(i * stride);
        from.template load<width>(i, thread_, column, within_chunk(left - i * stride));
        adder.template load<width>(i, thread_, column, within_chunk(left - i * stride));
      }
    });
    LOWP_UNROLL_ON_GPU
    for (int i = 0; i < at_once; ++i) {
      if (left <= i * stride) continue;
      unsigned const to = place + static_cast<unsigned>(i * stride);
      scores_of_chunk x;
      float value[chunk_size];
      from.decode(thread_, i, x);
      std::uint32_t const column = first + static_cast<unsigned>(i * stride);
      adder.add(i, thread_, column, within_chunk(left - i * stride), call_.width, x[0]);
      if constexpr (folds_chunks) fold_some<0, 1>(s, x, value, left - i * stride, folded);
      if constexpr (folds_chunks && last_fold == 0 && !uses_scores) {
        cached_.store_chunk(to, value);
      } else {
        LOWP_UNROLL_ON_GPU
        for (unsigned j = 0; j < Scores::size; ++j) cached_.store_chunk(to + j * room(), x[j]);
      }
    }
  }

  /// Runs the folds from number K on, each over a thread's own elements.
  template <int K>
  LOWP_FN void fold_row(std::uint64_t r, state& s) {
    if constexpr (K <= last_fold) {
      while (fold_once<K>(r, s)) {
      }
      fold_row<K + 1>(r, s);
    }
  }
  /// Returns true if the fold needs another turn.
  template <int K>
  LOWP_FN bool fold_once(std::uint64_t r, state& s) {
    fold_type<K> folded;
    row_accessors<Scores, hardware, 1> const from(call_.scores, r);
    for (std::uint32_t first = team_.first_of_sums(), offset = 0; first < end_;
         first += stride, offset += stride) {
      int const left = static_cast<int>(end_ - first);
      if (!is_cached()) read_own(from, first, left, place_of(offset));
      if (!team_type::is_warp && left > (chunk_size - 1) * step)
        fold_own<K>(s, place_of(offset), chunk_size * step, folded);
      else
        fold_own<K>(s, place_of(offset), left, folded);
    }
    return takes_total_again<K>(r, s, folded);
  }
  /// Returns true if fold K needs another turn. In shared memory, the values of the last fold have
  /// replaced the scores, so it reads these once more.
  template <int K>
  LOWP_FN bool takes_total_again(std::uint64_t r, state& s, auto& folded) {
    if (!detail::takes_total_again(call_.operation, fold::number<K>{}, s, folded.total(team_)))
      return false;
    if constexpr (K == last_fold && !uses_scores)
      if (is_cached()) {
        row_accessors<Scores, hardware, 1> const from(call_.scores, r);
        for (std::uint32_t first = team_.first_of_sums(), offset = 0; first < end_;
             first += stride, offset += stride)
          read_own(from, first, static_cast<int>(end_ - first), offset);
      }
    return true;
  }
  /// Folds a thread's own elements. If `left` is a constant, this has no branch.
  template <int K, class Folded>
  LOWP_FN void fold_own(state const& s, unsigned place, int left, Folded& folded) const {
    scores_of_chunk x;
    float value[chunk_size];
    LOWP_UNROLL_ON_GPU
    for (unsigned j = 0; j < Scores::size; ++j) cached_.load_own(place + j * room(), left, x[j]);
    fold_some<K, step>(s, x, value, left, folded);
    if constexpr (K == last_fold && !uses_scores) cached_.store_own(place, value);
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
      if constexpr (!uses_scores) value[k] = of_element;
      term[k] = call_.operation.term(fold::number<K>{}, of_element);
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

  template <std::size_t... K, class... Statistic>
  LOWP_FN void write_statistics(
      [[maybe_unused]] std::uint64_t r, [[maybe_unused]] state const& s,
      row_operands<std::index_sequence<K...>, Statistic...> const& all) const {
    // The row may have started with its old statistics. A block has waited since, in its folds.
    if constexpr (team_type::is_warp && sizeof...(K) != 0) thread_.warp_barrier();
    if (team_.thread() != 0) return;
    (row_accessor<Statistic, hardware, 1>(all.indexed<K, row_operand<Statistic>>::value, r)
         .write_one(thread_, call_.operation.statistic(fold::number<static_cast<int>(K)>{}, s)),
     ...);
  }

  LOWP_FN void write_row(std::uint64_t r, state const& s) const {
    row_accessors<Scores, hardware, 1> from(call_.scores, r);
    row_accessors<Columns, hardware, 1> with(call_.per_column, 0);
    row_accessor<To, hardware, 1> to(call_.to, r);
    for (std::uint32_t first = team_.first_of_chunk(), offset = 0; first < call_.columns;
         first += stride, offset += stride) {
      int const count = within_chunk(static_cast<int>(call_.columns - first));
      float value[chunk_size] = {}, out[chunk_size];
      columns_of_chunk weight;
      scores_of_chunk x;
      if (!is_cached()) {
        with_width(call_.width,
                   [&](auto width) { from.template load<width>(0, thread_, first, count); });
        from.decode(thread_, 0, x);
        if constexpr (!uses_scores) {
          LOWP_UNROLL_ON_GPU
          for (int k = 0; k < chunk_size; ++k) value[k] = value_at<last_fold>(s, x, k, indices{});
        }
      } else if constexpr (uses_scores) {
        LOWP_UNROLL_ON_GPU
        for (unsigned j = 0; j < Scores::size; ++j) cached_.load_chunk(offset + j * room(), x[j]);
      } else if (!has_visible || first < end_) {
        cached_.load_chunk(offset, value);
      }
      if constexpr (Columns::bytes_read != 0)
        with_width(call_.width,
                   [&](auto width) { with.template load<width>(0, thread_, first, count); });
      with.decode(thread_, 0, weight);
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k) {
        if constexpr (has_visible)
          if (first + static_cast<unsigned>(k) >= end_) value[k] = 0;
        out[k] = result(s, x, value[k], weight, k, indices{}, typename Columns::indices{});
        if constexpr (requires { call_.operation.marked_result(s, value[k]); })
          if (first + static_cast<unsigned>(k) == s.marked)
            out[k] = call_.operation.marked_result(s, value[k]);
      }
      if constexpr (To::is_read) {
        float old[chunk_size];
        with_width(call_.width, [&](auto w) { to.template load<w>(0, thread_, first, count); });
        to.decode(thread_, 0, old);
        LOWP_UNROLL_ON_GPU
        for (int k = 0; k < chunk_size; ++k) out[k] = lanes::add(old[k], out[k]);
      }
      to.encode(thread_, out, first, count);
      with_width(call_.width, [&](auto width) { to.template store<width>(thread_, first, count); });
    }
  }

  template <int K, std::size_t... J>
  LOWP_FN auto value_at(state const& s, scores_of_chunk const& x, int k,
                        std::index_sequence<J...>) const {
    return call_.operation.value(fold::number<K>{}, s, x[J][k]...);
  }
  template <std::size_t... K, std::size_t... J>
  LOWP_FN float result(state const& s, [[maybe_unused]] scores_of_chunk const& x,
                       [[maybe_unused]] float const& value,
                       [[maybe_unused]] columns_of_chunk const& weight, [[maybe_unused]] int k,
                       std::index_sequence<K...>, std::index_sequence<J...>) const {
    if constexpr (uses_scores)
      return call_.operation.result(s, x[K][k]..., weight[J][k]...);
    else
      return call_.operation.result(s, value, weight[J][k]...);
  }

  call_type const& call_;
  Thread const& thread_;
  team_type team_;
  row_memory<team_type> cached_;
  std::uint32_t end_ = 0;  ///< end of a row's folded elements
};

}  // namespace lowp::cuda
