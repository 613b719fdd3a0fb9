// SPDX-License-Identifier: Apache-2.0
// Lists of tensors in one launch: models have hundreds of small ones.
#pragma once

#include <lowp/cuda/grid.hpp>
#include <lowp/ops/lists.hpp>
#include <lowp/ops/storage_operands.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace lowp::cuda {

using lowp::adamw_tensor;
using lowp::fused_add_tensor;
using lowp::momentum_tensor;
using lowp::sgd_tensor;

/// The tensors of a list, checked before the first launch.
struct checked_list {
  static constexpr int most_arrays = 8;  // two for each of the four slots of AdamW
  struct tensor {
    void* data[most_arrays];
    std::uint64_t count;
    int width;
    std::uint32_t number;
  };
  std::vector<tensor> tensors;
  std::vector<detail::listed_range> ranges;
};

/// An executor that runs nothing and records the tensor of an operation.
template <class Grid>
struct list_recorder : on_grid<Grid> {
  checked_list& list;
  std::uint32_t number;

  template <class Make, class Report, class... Operand>
  void operator()(Make const&, std::size_t count, Report*, Operand const&... operands) const {
    if (count == 0) return;
    auto const arrays = std::tuple_cat(arrays_of(operands)...);
    checked_list::tensor tensor{{}, count, widest(arrays), number};
    int i = 0;
    std::apply([&](auto*... data) { ((tensor.data[i++] = address_of(data)), ...); }, arrays);
    detail::list_ranges(list.ranges, arrays, count, number);
    list.tensors.push_back(tensor);
  }
};

/// An executor on which a call for any one tensor runs on all tensors of the list.
template <class Grid>
struct on_list : on_grid<Grid> {
  checked_list const& list;
  std::uint32_t stride;

  template <class Make, class Report, class... Operand>
  void operator()(Make const& make, std::size_t, Report* reports,
                  Operand const&... operands) const {
    constexpr int arrays = (0 + ... + kernel_operand_of<Operand>::parts);
    constexpr std::size_t other_bytes = 1024;  // all parameters but the table
    constexpr auto capacity =
        static_cast<int>((parameter_bytes - other_bytes - sizeof(tensor_table<arrays, 1>)) /
                             sizeof(typename tensor_table<arrays, 1>::tensor) +
                         1);
    tensor_table<arrays, capacity> table;
    for (int const width : widths) {
      table.size = 0;
      table.tiles = 0;
      auto const launch_table = [&] {
        if (table.size == 0) return;
        with_width(width, [&](auto w) {
          this->template launch<w>(make, reports, stride, table, operands...);
        });
        table.size = 0;
        table.tiles = 0;
      };
      for (checked_list::tensor const& tensor : list.tensors) {
        if (tensor.width != width) continue;
        auto& entry = table.at[table.size++];
        std::copy_n(tensor.data, arrays, entry.data);
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
  checked_list checked;
  std::uint32_t number = 0;
  for (auto const& tensor : list) {
    detail::error_text const wrong = call(list_recorder<Grid>{{grid}, checked, number}, tensor);
    if (!wrong.empty()) return wrong + ", in tensor " + std::to_string(number) + " of the list";
    ++number;
  }
  detail::error_text const wrong = detail::shared_memory(function, checked.ranges);
  if (!wrong.empty() || checked.tensors.empty()) return wrong;
  return call(on_list<Grid>{{grid}, checked, stride}, *std::begin(list));
}

}  // namespace lowp::cuda
