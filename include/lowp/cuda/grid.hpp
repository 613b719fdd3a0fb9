// SPDX-License-Identifier: Apache-2.0
// Converts the ranges of a call to the arguments of a kernel, on any grid of threads:
//
//     threads()               the threads of a block
//     shared_bytes(blocks)    shared memory of each of these, else of tuning::blocks_with_rows
//     run<Report>(call)       runs a kernel_call, or a row_kernel_call with its dynamic_bytes
//                             for each block
//     copy(to, from, bytes)
//     unreachable(address)    the reason, or nothing
//     refuse(problem)         refuses an argument; then nothing runs
//     least_rows_of_runs      optional: see simd/rows/sum_lines.hpp
//     has_one_text            optional: kernels have no text of their own for whole tiles
#pragma once

#include <lowp/cuda/kernel_operands.hpp>
#include <lowp/ops/arguments.hpp>
#include <lowp/simd/element_call.hpp>
#include <lowp/simd/rows/row_call.hpp>

namespace lowp::cuda {

/// The largest size of a kernel's arguments, from CUDA 12.1 on (CUDA C++ Programming Guide,
/// "Function Parameters").
inline constexpr std::size_t parameter_bytes = 32764;

/// True if threads of a block wait for each other.
template <class Report, class... KernelOperand>
inline constexpr bool works_together =
    is_reported<Report> || ((KernelOperand::is_collective || KernelOperand::has_keys) || ...);

/// A kernel and its arguments, which a grid's threads get by value.
template <kernel_text Text, class Make, class Report, class Table, class Indices,
          class... KernelOperand>
struct kernel_call;

template <kernel_text Text, class Make, class Report, class Table, std::size_t... K,
          class... KernelOperand>
struct kernel_call<Text, Make, Report, Table, std::index_sequence<K...>, KernelOperand...>
    : indexed<K, KernelOperand>... {
  static constexpr unsigned least_blocks = tuning::least_blocks(
      is_reported<Report> || Text == kernel_text::any, (keeps_tables<KernelOperand> || ...),
      (draws<KernelOperand> || ...), (0 + ... + KernelOperand::bytes_read));

  static constexpr bool is_collective = works_together<Report, KernelOperand...>;

  /// True if a block has to do much once, however few its tiles are.
  static constexpr bool has_few_blocks = (KernelOperand::has_few_blocks || ...);

  Make make_function;
  Report* reports;
  std::uint32_t stride;
  int width;
  Table table;

  template <class Thread>
  LOWP_FN void run(Thread const& thread) const {
    auto const function = thread.once(make_function);
    if constexpr (requires { function.is_idle; })
      if (function.is_idle) return;
    if constexpr (is_reported<Report> && (keeps_tables<KernelOperand> || ...)) {
      run_tiles(thread_without_tables<Thread>{thread}, function);
    } else {
      auto const keep_tables = [&]<class S>(std::type_identity<S>) {
        if constexpr (keeps_tables<S>) S::tables::copy(thread);
      };
      (keep_tables(std::type_identity<KernelOperand>{}), ...);
      if constexpr ((keeps_tables<KernelOperand> || ...)) thread.barrier();
      run_tiles(thread, function);
    }
  }
  template <class Thread, class Function>
  LOWP_FN void run_tiles(Thread const& thread, Function const& function) const {
    using runner =
        tile_runner<Text, Thread, Function, Report, std::index_sequence<K...>, KernelOperand...>;
    runner(thread, function, reports, stride, width)
        .run(table, indexed<K, KernelOperand>::value...);
  }
};

/// True for a `Make` whose argument in device memory may be null, and its report.
template <class Make>
inline constexpr bool may_be_absent = requires { Make::may_be_absent; };

template <class Grid>
struct on_grid {
  static constexpr bool has_own_memory = true;
  /// The most columns of rows, and their largest stride: no thread's next column exceeds 32 bits.
  static constexpr std::uint32_t most_stride = 0x7fffffff;

  Grid& grid;

  template <class Make, class Report, class Indices, class... Operand>
  void operator()(simd::element_call<Make, Report, Indices, Operand...> const& call) const {
    std::size_t const count = call.size.count;
    if (count == 0) return;
    constexpr int arrays = (0 + ... + kernel_operand_of<Operand>::parts);
    tensor_table<arrays, 1> table{
        {{{}, count, 0, 0}}, 1, tiles_of<Operand...>(count, grid.threads())};
    keep_arrays(call, table.at[0].data);
    launch(widest_of(call), call, 0, table);
  }
  void operator()(auto const& call) const { run_row_call(*this, call); }
  /// Returns true if a block can keep a row of a summing_row_call.
  [[nodiscard]] bool keeps_rows(auto const& call) const { return may_keep_rows(*this, call); }
  /// Returns the number of rows below which groups of rows have lines of sums.
  [[nodiscard]] std::size_t least_rows_of_runs() const
    requires requires { Grid::least_rows_of_runs; }
  {
    return grid.least_rows_of_runs;
  }
  template <class Label>
  void operator()(simd::label_call<Label> const& call) const {
    detail::error_text wrong;
    if (call.seen != nullptr) wrong = out_of_reach("the report", call.seen, sizeof *call.seen);
    wrong.empty() ? run_row_call(*this, call) : grid.refuse(wrong);
  }

  template <class T>
  void copy(T* to, T const* from, std::size_t count) const {
    if (to != from && count != 0) grid.copy(to, from, count * sizeof(T));
  }

  /// Nothing runs after a refusal.
  void refuse_if(detail::error_text const& what) const {
    if (!what.empty()) grid.refuse(what);
  }

  [[nodiscard]] detail::error_text out_of_reach(detail::extent const& range) const {
    return out_of_reach(name_of(range).c_str(), range.data, range.element_size,
                        " is not aligned to its elements of ");
  }

 protected:
  template <class Make, class Report, std::size_t... K, class... Operand, class Table>
  void launch(int width,
              simd::element_call<Make, Report, std::index_sequence<K...>, Operand...> const& call,
              std::uint32_t stride, Table const& table) const {
    detail::error_text wrong;
    if constexpr (is_reported<Report>)
      if (call.report != nullptr || !may_be_absent<Make>)
        wrong = out_of_reach("the report", call.report, alignof(Report));
    if (wrong.empty()) wrong = of_stored(call.make_function);
    ((wrong = wrong.empty() ? of_stored(rounding_of(simd::get<K>(call.operands))) : wrong), ...);
    if (!wrong.empty()) return grid.refuse(wrong);
    // On the host, once per call. If its inputs lie in device memory, the kernel makes it.
    auto const made = [&] {
      if constexpr (requires { call.make_function.stored_at(); })
        return call.make_function;
      else
        return detail::make<decltype(call.make_function())>{call.make_function()};
    }();
    constexpr bool is_conversion = requires { decltype(made())::is_conversion; };
    constexpr detail::nans kind = is_conversion ? detail::nans::kept : detail::nans::canonical;
    auto const run = [&](auto text) {
      grid.template run<Report>(
          kernel_call<text, std::remove_cv_t<decltype(made)>, Report, Table,
                      std::index_sequence<K...>, kernel_operand_of<Operand>...>{
              {kernel_operand_for<Operand>::of(simd::get<K>(call.operands), kind)}...,
              made,
              call.report,
              stride,
              width,
              table});
    };
    // Threads that work together need many registers, and a text for both accesses more.
    constexpr bool has_any =
        (may_be_absent<Make> && is_reported<Report>) || requires { Grid::has_one_text; };
    constexpr kernel_text first = has_any ? kernel_text::any
                                  : works_together<Report, kernel_operand_of<Operand>...>
                                      ? kernel_text::full
                                      : kernel_text::both;
    if constexpr (first == kernel_text::full)
      if (width != widths[0]) return run(std::integral_constant<kernel_text, kernel_text::any>{});
    run(std::integral_constant<kernel_text, first>{});
  }

 private:
  [[nodiscard]] detail::error_text out_of_reach(
      char const* name, void const* address, std::size_t alignment,
      char const* misaligned = " is not aligned to ") const {
    if (reinterpret_cast<std::uintptr_t>(address) % alignment != 0)
      return detail::joined_text(
          {name, misaligned, alignment, " bytes: cudaMemcpy copies it to an aligned address"});
    detail::error_text const why =
        address == nullptr ? "is a null pointer" : grid.unreachable(address);
    return why.empty() ? detail::error_text() : detail::joined_text({name, " ", why.c_str()});
  }
  /// Returns the error text of an argument's device memory, empty if it has none.
  template <class T>
  [[nodiscard]] detail::error_text of_stored(T const& x) const {
    if constexpr (requires { x.stored_at(); })
      if (x.stored_at() != nullptr || !may_be_absent<T>)
        return out_of_reach("an argument in device memory", x.stored_at(),
                            alignof(std::remove_pointer_t<decltype(x.stored_at())>));
    return {};
  }
};

}  // namespace lowp::cuda
