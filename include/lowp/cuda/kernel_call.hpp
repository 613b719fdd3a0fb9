// SPDX-License-Identifier: Apache-2.0
// A kernel as one object: what a thread of a grid runs, and its arguments.
#pragma once

#include <lowp/cuda/kernel.hpp>

namespace lowp::cuda {

/// The largest size of a kernel's arguments, from CUDA 12.1 on (CUDA C++ Programming Guide,
/// "Function Parameters").
inline constexpr std::size_t parameter_bytes = 32764;

/// A kernel and its arguments, which a grid's threads get by value.
template <int Width, class Make, class Report, class Table, class Indices, class... KernelOperand>
struct kernel_call;

template <int Width, class Make, class Report, class Table, std::size_t... K,
          class... KernelOperand>
struct kernel_call<Width, Make, Report, Table, std::index_sequence<K...>, KernelOperand...>
    : indexed<K, KernelOperand>... {
  static constexpr unsigned least_blocks =
      tuning::least_blocks(is_reported<Report> || Width == any_width, (draws<KernelOperand> || ...),
                           (0 + ... + KernelOperand::bytes_read));

  /// True if threads of a block wait for each other.
  static constexpr bool is_collective =
      is_reported<Report> || (KernelOperand::is_collective || ...);

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
    using runner = tile_runner<Width, Thread, std::remove_cv_t<decltype(function)>, Report,
                               std::index_sequence<K...>, KernelOperand...>;
    runner(thread, function, reports, stride, width)
        .run(table, indexed<K, KernelOperand>::value...);
  }
};

}  // namespace lowp::cuda
