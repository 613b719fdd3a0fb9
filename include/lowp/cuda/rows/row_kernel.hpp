// SPDX-License-Identifier: Apache-2.0
// The kernel over rows, for teams of a warp and of a block. It reads a row from memory once, in
// chunks of eight elements. Shared memory keeps the row as it was loaded, or costly values. From
// there the results are written, in chunks again. A row that is too long for a block is read anew.
// bench/cuda/README.md has instructions.
#pragma once

#include <lowp/cuda/rows/row_folder.hpp>

namespace lowp::cuda {

/// The work of a team: its rows, one after another.
template <class Call, class Thread>
class row_runner;
template <unsigned TeamThreads, class Operation, class To, class Scores, class Columns,
          class Statistics, class Sum, class Thread>
class row_runner<row_kernel_call<TeamThreads, Operation, To, Scores, Columns, Statistics, Sum>,
                 Thread>
    : row_folder<row_kernel_call<TeamThreads, Operation, To, Scores, Columns, Statistics, Sum>,
                 Thread> {
  using base =
      row_folder<row_kernel_call<TeamThreads, Operation, To, Scores, Columns, Statistics, Sum>,
                 Thread>;
  using base::call_, base::thread_, base::team_, base::cached_, base::end_;
  using base::has_visible, base::uses_scores, base::keeps, base::last_fold, base::stride;
  using base::room, base::is_cached, base::within_chunk, base::recall;
  using typename base::call_type, typename base::team_type, typename base::hardware,
      typename base::state, typename base::indices, typename base::scores_of_chunk,
      typename base::memory_type;
  static_assert(!To::is_random);
  using columns_of_chunk = float[Columns::size][chunk_size];
  using sums_type =
      std::conditional_t<Sum::sums != 0, team_sums<Sum::sums, team_type, Thread>, no_row_sum>;

 public:
  LOWP_FN row_runner(call_type const& call, Thread const& thread)
      : base(call, thread), sums_(sums()) {}

  LOWP_FN void run() {
    if constexpr (Sum::sums != 0) {
      sums_.run([&](std::uint64_t r) { run_row(r); });
    } else {
      unsigned const teams = team_type::is_warp ? thread_.threads() / team_type::threads : 1;
      for (std::uint64_t r = thread_.block() * teams + team_.number(); r < call_.rows;
           r += thread_.blocks() * teams)
        run_row(r);
    }
  }

 private:
  LOWP_FN void run_row(std::uint64_t r) {
    state s{};
    detail::start_row(call_.operation, s, r);
    end_ = static_cast<std::uint32_t>(detail::visible_columns(call_.operation, r, call_.columns));
    this->fold(r, s);
    write_statistics(r, s, call_.statistics);
    write_row(r, s);
  }
  LOWP_FN sums_type sums() const {
    if constexpr (Sum::sums != 0) {
      constexpr unsigned all = kept_bytes<Operation, Scores, Sum>;
      return sums_type(
          thread_, team_, call_.sum.lines,
          reinterpret_cast<float*>(thread_.dynamic_memory() + room() * memory_type::bytes),
          room() * all / unsigned{sizeof(float)}, room());
    } else {
      return {};
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
      scores_of_chunk x = {};
      if (!is_cached()) {
        with_width(call_.width,
                   [&](auto width) { from.template load<width>(0, thread_, first, count); });
        from.decode(thread_, 0, x);
        compute(s, x, value);
      } else if (!has_visible || first < end_) {
        if constexpr (keeps) {
          recall(from, first, count, x);
          compute(s, x, value);
        } else {
          cached_.load_chunk(offset, value);
        }
      }
      if constexpr (Columns::bytes_read != 0)
        with_width(call_.width,
                   [&](auto width) { with.template load<width>(0, thread_, first, count); });
      with.decode(thread_, 0, weight);
      if constexpr (Sum::sums != 0) sums_.add(call_.operation, s, x, first);
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

  /// Computes the values of a chunk, if results are made of these.
  LOWP_FN void compute([[maybe_unused]] state const& s, [[maybe_unused]] scores_of_chunk const& x,
                       [[maybe_unused]] float (&value)[chunk_size]) const {
    if constexpr (!uses_scores) {
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k)
        value[k] = base::template value_at<last_fold>(s, x, k, indices{});
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

  sums_type sums_;
};

}  // namespace lowp::cuda
