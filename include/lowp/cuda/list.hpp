// SPDX-License-Identifier: Apache-2.0
// Lists of tensors in one launch: models have hundreds of small ones.
#pragma once

#include <lowp/cuda/grid.hpp>
#include <lowp/ops/storage_operands.hpp>
#include <lowp/ops/tensor_list.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace lowp::cuda {

/// A type for the tensors of a list: an element type, which stands for spans of it, or a storage.
/// The storage has no member `scale`, because one kernel serves all tensors.
template <class S>
concept listable =
    element<S> || (detail::layered<S> && !requires(S const& storage) { storage.scale; });

template <listable S>
struct listed_storage {
  using type = S;
};
template <element T>
struct listed_storage<T> {
  using type = std::span<T>;
};
template <class S>
using listed = typename listed_storage<S>::type;

/// A tensor of a list for `fused_add`, for SGD without and with momentum, and for AdamW. It gets
/// the results of a call of its own. Tensor number i of the list adds i to the tensor number in the
/// upper half of a stochastic mode's stream.
template <listable P, element U>
struct fused_add_tensor {
  listed<P> p;
  std::span<U const> u;

  template <class Operation, class Alpha, class... Rest>
  void call(Operation const& operation, Alpha const& alpha, Rest&&... rest) const {
    operation(p, alpha, u, rest...);
  }
};
template <listable P, element G>
struct sgd_tensor {
  listed<P> p;
  std::span<G const> g;

  template <class Operation, class... Rest>
  void call(Operation const& operation, Rest&&... rest) const {
    operation(p, g, rest...);
  }
};
template <listable P, element G, listable M>
struct momentum_tensor {
  listed<P> p;
  std::span<G const> g;
  listed<M> momentum;

  template <class Operation, class... Rest>
  void call(Operation const& operation, Rest&&... rest) const {
    operation(p, g, momentum, rest...);
  }
};
template <listable P, element G, listable M, listable V>
struct adamw_tensor {
  listed<P> p;
  std::span<G const> g;
  listed<M> m;
  listed<V> v;

  template <class Operation, class... Rest>
  void call(Operation const& operation, Rest&&... rest) const {
    operation(p, g, m, v, rest...);
  }
};

template <class T>
inline constexpr bool is_listed = false;
template <class P, class U>
inline constexpr bool is_listed<fused_add_tensor<P, U>> = true;
template <class P, class G>
inline constexpr bool is_listed<sgd_tensor<P, G>> = true;
template <class P, class G, class M>
inline constexpr bool is_listed<momentum_tensor<P, G, M>> = true;
template <class P, class G, class M, class V>
inline constexpr bool is_listed<adamw_tensor<P, G, M, V>> = true;

/// A range of these structs.
template <class R>
concept tensor_list =
    std::ranges::forward_range<R const> && is_listed<std::ranges::range_value_t<R>>;

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

  /// Returns the error text of a tensor that is listed twice, as tied weights: two would write it.
  detail::error_text overlap(char const* function) {
    auto const [one, other] = detail::find_overlap(ranges);
    if (one != other)
      return std::string(function) + ": tensors " + std::to_string(one) + " and " +
             std::to_string(other) + " of the list share memory that is written";
    return {};
  }
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
    std::apply(
        [&](auto*... data) { ((tensor.data[i++] = address_of(data), note(data, count)), ...); },
        arrays);
    list.tensors.push_back(tensor);
  }

 private:
  template <class T>
  void note(T* data, std::size_t count) const {
    auto const begin = reinterpret_cast<std::uintptr_t>(data);
    if constexpr (!std::is_void_v<T>)  // scales overlap if their codes do
      list.ranges.push_back({begin, begin + count * sizeof(T), number, !std::is_const_v<T>});
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
  detail::error_text const wrong = checked.overlap(function);
  if (!wrong.empty() || checked.tensors.empty()) return wrong;
  return call(on_list<Grid>{{grid}, checked, stride}, *std::begin(list));
}

}  // namespace lowp::cuda
