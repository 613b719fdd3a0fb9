// SPDX-License-Identifier: Apache-2.0
// The kernel over rows, for teams of a warp and of a block. It reads a row from memory once, in
// chunks of eight elements. A short row stays in registers. Else shared memory keeps it as it was
// loaded, or costly values if these fit. From there the results are written, in chunks again. A row
// that is too long for a block is read anew. bench/cuda/README.md has instructions.
#pragma once

#include <lowp/cuda/rows/row_folder.hpp>

namespace lowp::cuda {

/// The work of a team: its rows, one after another.
template <class Call, class Thread>
class row_runner : row_folder<Call, Thread> {
  using base = row_folder<Call, Thread>;
  using base::call_, base::thread_, base::team_, base::codes_, base::cached_, base::end_;
  using base::has_visible, base::uses_scores, base::keeps, base::last_fold, base::stride;
  using base::may_be_shifted, base::lead_of_row, base::lead_, base::compute;
  using base::room, base::is_cached, base::within_chunk, base::has_chunks, base::kept;
  using typename base::team_type, typename base::hardware, typename base::state,
      typename base::indices, typename base::scores_of_chunk, typename base::whole,
      typename base::Operation, typename base::Scores, typename base::Sum;
  using To = decltype(Call::to.kernel_operand);
  using Columns = decltype(Call::per_column);
  using columns_of_chunk = float[Columns::size][chunk_size];
  static_assert(!To::is_random);
  /// The elements that a thread writes at once if it does not write chunks. More would spill.
  static constexpr unsigned turn = Scores::size > 2 ? 2 : 4;
  /// True if a thread writes halves of chunks, so that a warp's stores cover whole lines. Then it
  /// writes chunks only where all of a team are whole.
  static constexpr bool has_halves = sizeof(typename To::type) == 4;
  using width = std::integral_constant<int, has_halves ? width_in_runs(2) : whole::value>;
  using sums_type =
      std::conditional_t<Sum::sums != 0, team_sums<Sum::sums, team_type, Thread>, no_row_sum>;

 public:
  LOWP_FN row_runner(Call const& call, Thread const& thread) : base(call, thread), sums_(sums()) {}

  LOWP_FN void run() {
    if constexpr (Call::may_be_short)
      if (call_.is_short) return run_short();
    if constexpr (Sum::sums != 0) {
      sums_.run([&](std::uint64_t r, bool is_row) { run_row(r, is_row); });
    } else {
      for (std::uint64_t r = thread_.block() * team_.count() + team_.number();
           team_.any(r < call_.rows); r += thread_.blocks() * team_.count())
        run_row(r, r < call_.rows);
    }
  }

 private:
  /// Runs rows of one chunk a thread, which stay in registers. The next one is loaded ahead.
  LOWP_FN void run_short() {
    std::uint32_t const first = team_.first_of_chunk();
    bool const has_chunk = first < call_.columns;
    std::uint64_t const distance = thread_.blocks() * team_.count();
    std::uint64_t r = thread_.block() * team_.count() + team_.number();
    row_accessors<Scores, hardware, 2> from(call_.scores, r);
    row_accessors<Columns, hardware, 1> with(call_.per_column, 0);
    columns_of_chunk weight;
    auto const load = [&](std::uint64_t row) {
      if (has_chunk && row < call_.rows)
        from.template load<whole::value>(1, thread_, first, chunk_size);
    };
    load(r);
    for (; team_.any(r < call_.rows); r += distance) {
      bool const is_row = r < call_.rows;
      from.move(call_.scores, r + distance);
      load(r + distance);
      state s{};
      if (is_row) detail::start_row(call_.operation, s, r);
      scores_of_chunk x;
      float value[chunk_size], out[chunk_size], old[chunk_size];
      from.decode(thread_, 0, x);
      fold_short<0>(r, s, x, value, has_chunk && is_row);
      write_statistics(r, s, is_row, call_.statistics);
      if (!has_chunk || !is_row) continue;
      row_accessor<To, hardware, 1> to(call_.to, r);
      if constexpr (To::is_read) {
        to.template load<whole::value>(0, thread_, first, chunk_size);
        to.decode(thread_, 0, old);
      }
      with.template load<whole::value>(0, thread_, first, chunk_size);  // kept, it would spill
      with.decode(thread_, 0, weight);
      finish(s, x, value, weight, old, first, 1, 0, out);
      to.encode(thread_, out, first, chunk_size);
      to.template store<whole::value>(thread_, first, chunk_size);
    }
  }
  template <int K>
  LOWP_FN void fold_short(std::uint64_t r, state& s, scores_of_chunk const& x,
                          float (&value)[chunk_size], bool has_chunk) {
    if constexpr (K <= last_fold) {
      bool wants = r < call_.rows;
      do {
        typename base::template fold_type<K> folded;
        if (wants && has_chunk) base::template fold_some<K, 1>(s, x, value, chunk_size, folded);
        auto const total = folded.total(team_);
        wants = wants && detail::takes_total_again(call_.operation, fold::number<K>{}, s, total);
      } while (base::template repeats<K> && team_.any(wants));
      fold_short<K + 1>(r, s, x, value, has_chunk);
    }
  }
  /// @param is_row  false if only other teams of the warp have a row
  LOWP_FN void run_row(std::uint64_t r, bool is_row) {
    state s{};
    end_ = 0;
    if (is_row) {
      detail::start_row(call_.operation, s, r);
      end_ = static_cast<std::uint32_t>(detail::visible_columns(call_.operation, r, call_.columns));
    }
    if constexpr (may_be_shifted) {
      lead_ = has_chunks() ? row_accessor<To, hardware, 1>(call_.to, r).lead_in_chunk() : 0;
      cached_ = row_memory<team_type>(thread_, reinterpret_cast<float*>(this->memory_of_row()),
                                      team_, lead_);
    }
    this->fold(r, s);
    write_statistics(r, s, is_row, call_.statistics);
    std::uint32_t const columns = is_row ? call_.columns : 0;
    if (!has_halves && has_chunks()) return write_row(r, s, columns + lead_of_row());
    team_.full_barrier();  // elements of other threads
    std::uint32_t const in_chunks =
        has_chunks() ? columns / (team_.threads() * chunk_size) * (team_.threads() * chunk_size)
                     : 0;
    if (has_halves) write_row(r, s, in_chunks);
    write_elements(r, s, columns, in_chunks);
    team_.full_barrier();
  }
  LOWP_FN sums_type sums() const {
    if constexpr (Sum::sums != 0) {
      constexpr unsigned all = kept_bytes<Operation, Scores, Sum>(false);
      auto* const first = thread_.dynamic_memory() + room() * Scores::template bytes_of<kept>;
      return {thread_,
              team_,
              call_.sum.lines,
              reinterpret_cast<float*>(first),
              room() * all / unsigned{sizeof(float)},
              room()};
    } else {
      return {};
    }
  }
  template <std::size_t... K, class... Statistic>
  LOWP_FN void write_statistics(
      [[maybe_unused]] std::uint64_t r, [[maybe_unused]] state const& s, bool is_row,
      row_operands<std::index_sequence<K...>, Statistic...> const& all) const {
    // The row may have started with its old statistics. A block has waited since, in its folds.
    if constexpr (team_type::is_warp && sizeof...(K) != 0) thread_.warp_barrier();
    if (team_.thread() != 0 || !is_row) return;
    (row_accessor<Statistic, hardware, 1>(all.indexed<K, row_operand<Statistic>>::value, r)
         .write_one(thread_, call_.operation.statistic(fold::number<static_cast<int>(K)>{}, s)),
     ...);
  }

  /// Makes the results of these. `column` is that of the first one, and the next is `apart`. Those
  /// of a second half are `more` further away.
  template <int Count = chunk_size>
  LOWP_FN void finish(state const& s, scores_of_chunk const& x, float (&value)[chunk_size],
                      columns_of_chunk const& weight,
                      [[maybe_unused]] float const (&old)[chunk_size],
                      [[maybe_unused]] std::uint32_t column, [[maybe_unused]] unsigned apart,
                      [[maybe_unused]] unsigned more, float (&out)[chunk_size]) const {
    [[maybe_unused]] auto const place = [=](int k) {
      return column + static_cast<unsigned>(k) * apart + (k < chunk_size / 2 ? 0 : more);
    };
    if constexpr (has_visible)
      if (place(Count - 1) >= end_) {
        LOWP_UNROLL_ON_GPU
        for (int k = 0; k < Count; ++k)
          if (place(k) >= end_) value[k] = 0;
      }
    LOWP_UNROLL_ON_GPU
    for (int k = 0; k < Count; ++k)
      out[k] = result(s, x, value[k], weight, k, indices{}, typename Columns::indices{});
    if constexpr (requires { call_.operation.marked_result(s, value[0]); })
      if (auto const marked = static_cast<std::uint32_t>(s.marked);
          marked - column <= place(Count - 1) - column) {
        LOWP_UNROLL_ON_GPU
        for (int k = 0; k < Count; ++k)
          if (place(k) == marked) out[k] = call_.operation.marked_result(s, value[k]);
      }
    if constexpr (To::is_read) {
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < Count; ++k) out[k] = lanes::add(old[k], out[k]);
    }
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
  LOWP_FN void write_row(std::uint64_t r, state const& s, std::uint32_t columns) const {
    row_accessors<Scores, hardware, 1> from(call_.scores, r);
    row_accessors<Columns, hardware, 1> with(call_.per_column, 0);
    row_accessor<To, hardware, 1> to(call_.to, r);
    thread_in_row<Thread> const thread{
        thread_, warp_threads < team_.threads() ? warp_threads : team_.threads()};
    // Elements between the halves of a chunk, and the first one of a thread's first chunk.
    unsigned const more = has_halves ? (thread.of_row - 1) * (chunk_size / 2) : 0;
    unsigned const begin = team_.first_of_chunk() -
                           (has_halves ? team_.thread() % thread.of_row * (chunk_size / 2) : 0);
    [[maybe_unused]] row_memory<team_type> const memory_of_halves(
        thread_, reinterpret_cast<float*>(this->memory_of_row()), begin, begin + 4 + more, begin);
    for (std::uint32_t first = begin, offset = 0; first < columns;
         first += stride, offset += stride) {
      int const count = has_halves ? chunk_size : within_chunk(static_cast<int>(columns - first));
      float value[chunk_size] = {}, out[chunk_size], old[chunk_size];
      columns_of_chunk weight;
      scores_of_chunk x = {};
      if (!has_visible || first < end_) {
        bool const has_second = !has_visible || first + chunk_size / 2 + more < end_;
        if (!this->has_floats()) {
          from.template recall<kept, has_halves>(codes_, room(), first, more, has_second);
          from.template load<width::value, kept>(0, thread, first, count);
          from.decode(thread_, 0, x);
          compute(s, x, value);
        } else if constexpr (has_halves) {
          memory_of_halves.load_chunk(offset, value, has_second);
        } else if constexpr (!keeps) {
          cached_.load_chunk(offset, value);
        }
      }
      with.template load<width::value>(0, thread, first, count);
      with.decode(thread_, 0, weight);
      if constexpr (Sum::sums != 0) {
        sums_.template add<4>(call_.operation, s, x, 0, first);
        sums_.template add<4>(call_.operation, s, x, 4, first + 4 + more);
      }
      if constexpr (To::is_read) {
        to.template load<width::value>(0, thread, first, count);
        to.decode(thread_, 0, old);
      }
      finish(s, x, value, weight, old, first - lead_of_row(), 1, more, out);
      to.encode(thread_, out, first, count);
      if constexpr (may_be_shifted)
        if (first < lead_of_row()) {
          to.store_head(thread_);
          continue;
        }
      to.template store<width::value>(thread, first - lead_of_row(), count);
    }
  }
  /// Likewise by elements. Those of a warp lie side by side and begin with a sector.
  LOWP_FN void write_elements(std::uint64_t r, state const& s, std::uint32_t columns,
                              std::uint32_t begin) const {
    row_accessors<Scores, hardware, 1> const from(call_.scores, r);
    row_accessors<Columns, hardware, 1> const with(call_.per_column, 0);
    row_accessor<To, hardware, 1> to(call_.to, r);
    unsigned const apart = team_.threads();
    unsigned const lead = begin != 0 ? 0 : to.lead();
    for (unsigned first = begin + team_.thread() - lead; first + lead < columns + lead;
         first += turn * apart) {
      float value[chunk_size] = {}, out[chunk_size] = {}, old[chunk_size] = {};
      columns_of_chunk weight = {};
      scores_of_chunk x = {};
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < int{turn}; ++k) {
        std::uint32_t const e = first + static_cast<unsigned>(k) * apart;
        if (e >= columns) continue;
        if (!is_cached()) {
          from.load_element(thread_, e, k, x);
        } else if (!has_visible || e < end_) {
          if (!this->has_floats()) {
            from.template kept_element<kept>(codes_, room(), e, k, x);
            from.template load_element<kept>(thread_, e, k, x);
          } else {
            value[k] = reinterpret_cast<float const*>(this->memory_of_row())[kept_place<4>(e)];
          }
        }
        with.load_element(thread_, e, k, weight);
        if constexpr (To::is_read) old[k] = to.element(thread_, e);
        if constexpr (Sum::sums != 0) sums_.template add<1>(call_.operation, s, x, k, e);
      }
      if (!this->has_floats()) base::template compute<int{turn}>(s, x, value);
      finish<int{turn}>(s, x, value, weight, old, first, apart, 0, out);
      to.encode(thread_, out, 0, chunk_size);
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < int{turn}; ++k) {
        std::uint32_t const e = first + static_cast<unsigned>(k) * apart;
        if (e < columns) to.store_element(thread_, e, k);
      }
    }
  }

  sums_type sums_;
};

}  // namespace lowp::cuda
