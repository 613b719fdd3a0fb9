// SPDX-License-Identifier: Apache-2.0
// The results of a row, in the kernel over rows. See row_kernel.hpp.
#pragma once

#include <lowp/cuda/rows/row_folder.hpp>

namespace lowp::cuda {

/// A team's rows, their folds, and results from these.
template <class Call, class Thread>
class row_results;
template <unsigned TeamThreads, class Operation, class To, class Scores, class Columns,
          class Statistics, class Sum, class Thread>
class row_results<row_kernel_call<TeamThreads, Operation, To, Scores, Columns, Statistics, Sum>,
                  Thread>
    : protected row_folder<
          row_kernel_call<TeamThreads, Operation, To, Scores, Columns, Statistics, Sum>, Thread> {
 protected:
  using base =
      row_folder<row_kernel_call<TeamThreads, Operation, To, Scores, Columns, Statistics, Sum>,
                 Thread>;
  using base::base;
  using base::call_, base::thread_, base::team_, base::end_;
  using base::has_visible, base::uses_scores, base::last_fold;
  using typename base::team_type, typename base::hardware, typename base::state,
      typename base::indices, typename base::scores_of_chunk;
  using columns_of_chunk = float[Columns::size][chunk_size];

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

  /// Computes the values of a chunk's first elements, if results are made of these.
  template <int Count = chunk_size>
  LOWP_FN void compute([[maybe_unused]] state const& s, [[maybe_unused]] scores_of_chunk const& x,
                       [[maybe_unused]] float (&value)[chunk_size]) const {
    if constexpr (!uses_scores) {
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < Count; ++k) {
        float const of_element = base::template value_at<last_fold>(s, x, k, indices{});
        value[k] = detail::kept_of(call_.operation, of_element,
                                   call_.operation.term(fold::number<last_fold>{}, of_element));
      }
    }
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
};

}  // namespace lowp::cuda
