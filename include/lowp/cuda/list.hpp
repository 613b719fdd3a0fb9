// SPDX-License-Identifier: Apache-2.0
// Lists of tensors in one launch: models have hundreds of small ones.
#pragma once

#include <lowp/cuda/grid.hpp>
#include <lowp/ops/lists.hpp>

namespace lowp::cuda {

using lowp::adamw_tensor;
using lowp::fused_add_tensor;
using lowp::momentum_tensor;
using lowp::sgd_tensor;

/// A tensor of a list as a kernel gets it.
struct listed_tensor {
  static constexpr int most_arrays = 8;  // two for each of the four slots of AdamW
  void* data[most_arrays];
  std::uint64_t count;
  int width;
  std::uint32_t number;
};

/// A table of many tensors. A block looks up its tile's tensor near one that is known: each step of
/// a search waits for memory.
template <int Slots, int Capacity>
struct listed_table : tensor_table<Slots, Capacity> {
  static constexpr std::uint32_t runs = 256;  ///< of tiles
  std::uint16_t tensor_of[runs + 1];          ///< the tensor of each run's first tile
  int shift;                                  ///< a run has 2^shift tiles

  /// Makes the table ready for `find`.
  void index_tiles() {
    shift = 0;
    while (this->tiles >> shift >= runs) ++shift;
    std::uint16_t number = 0;
    for (std::uint32_t run = 0; run <= runs; ++run) {
      while (number + 1u < this->size && this->at[number + 1].first_tile <= std::uint64_t{run}
                                                                                << shift)
        ++number;
      tensor_of[run] = number;
    }
  }
  LOWP_FN std::uint32_t find(std::uint64_t tile) const {
    auto const run = static_cast<std::uint32_t>(tile >> shift);
    std::uint32_t low = tensor_of[run], high = tensor_of[run + 1] + 1u;
    while (high - low > 1) {  // at[low].first_tile <= tile < at[high].first_tile
      std::uint32_t const middle = (low + high) / 2;
      if (this->at[middle].first_tile <= tile)
        low = middle;
      else
        high = middle;
    }
    return low;
  }
};

/// An executor that runs nothing and keeps the tensor of a call too.
template <class Recorder>
struct table_recorder : Recorder {
  std::vector<listed_tensor>& tensors;

  void operator()(auto const& call) const {
    Recorder::operator()(call);
    if (call.size.count == 0) return;
    listed_tensor tensor{{}, call.size.count, widest_of(call), this->number};
    keep_arrays(call, tensor.data);
    tensors.push_back(tensor);
  }
};

/// An executor on which a call for any one tensor runs on all tensors of the list.
template <class Grid>
struct on_list : on_grid<Grid> {
  std::vector<listed_tensor> const& tensors;
  std::uint32_t stride;

  template <class Make, class Report, class Indices, class... Operand>
  void operator()(simd::element_call<Make, Report, Indices, Operand...> const& call) const {
    constexpr int arrays = (0 + ... + kernel_operand_of<Operand>::parts);
    constexpr std::size_t other_bytes = 1024;  // all parameters but the table
    constexpr auto capacity =
        static_cast<int>((parameter_bytes - other_bytes - sizeof(listed_table<arrays, 1>)) /
                             sizeof(typename tensor_table<arrays, 1>::tensor) +
                         1);
    listed_table<arrays, capacity> table;
    for (int const width : widths) {
      auto const launch_table = [&] {
        table.index_tiles();
        if (table.size != 0) this->launch(width, call, stride, table);
        table.size = 0;
        table.tiles = 0;
      };
      for (listed_tensor const& tensor : tensors) {
        if (tensor.width != width) continue;
        auto& entry = table.at[table.size++];
        for (int i = 0; i < arrays; ++i) entry.data[i] = tensor.data[i];
        entry.count = tensor.count;
        entry.first_tile = table.tiles;
        entry.number = tensor.number;
        table.tiles += tiles_of<Operand...>(tensor.count, this->grid.threads());
        if (table.size == capacity) launch_table();
      }
      launch_table();
    }
  }
};

/// Checks each tensor of a list by `call(executor, tensor)`, then runs it on all. Launches as few
/// kernels as the space for kernel parameters allows.
template <class Grid, class List, class Call>
detail::error_text run_list(Grid& grid, char const* function, List const& list,
                            std::uint32_t stride, Call const& call) {
  std::vector<listed_tensor> tensors;
  detail::error_text const wrong = detail::check_each(
      on_grid<Grid>{grid}, function, list,
      [&](auto const& recorder, auto const& tensor, std::uint32_t) {
        call(table_recorder<std::remove_cvref_t<decltype(recorder)>>{recorder, tensors}, tensor);
      });
  if (wrong.empty() && !tensors.empty())
    call(on_list<Grid>{{grid}, tensors, stride}, *std::ranges::begin(list));
  return wrong;
}

}  // namespace lowp::cuda
