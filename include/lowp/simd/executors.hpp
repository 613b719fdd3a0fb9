// SPDX-License-Identifier: Apache-2.0
// Executors of the calling thread. An executor says where an operation runs:
//
//     executor(call)                    runs an element_call, a row_call, a summed_row_call, a
//                                       column_call or a gather_call
//     executor.copy(to, from, count)
//     executor.refuse_if(error_text)    handles a refused call
//     executor.out_of_reach(extent)     optional: the error text of a range beyond its reach
//     executor.has_checked              optional: its calls were checked, as a list
//     executor.function                 optional: the name of the call in error texts
//     executor.has_own_memory           optional: the caller's memory is out of its reach. It runs
//                                       a label_call and an id_order_call, too
//     executor.knows_numbers()          optional: numbers of a list's call were checked
#pragma once

#include <lowp/base/environment.hpp>
#include <lowp/base/error_text.hpp>
#include <lowp/simd/compiled.hpp>

namespace lowp::simd {

inline namespace LOWP_UNIT {

/// The backends of a unit, and the first of all. The doors of operations include simd/dispatch.hpp,
/// which has them.
struct native;
struct portable;

}  // namespace LOWP_UNIT

template <class T, class Isa>
struct pack;

struct this_thread : detail::throwing {
  /// Runs a call on the chosen backend, in the environment of a kernel. `Backends` is an argument,
  /// so that units with different flags share no body: its name spells the unit's own.
  template <class Backends = native, class Call>
  void operator()(Call const& call) const;
  template <class T>
  LOWP_HOST_FN void copy(T* to, T const* from, std::size_t count) const {
    if (count != 0) __builtin_memmove(to, from, count * sizeof(T));  // else both may be null
  }
};

/// Names all kernels of a call. It is not inline: `extern template` keeps them out of a unit.
template <class Backends, class Call>
void this_thread::operator()(Call const& call) const {
  static_assert(
      requires { sizeof(Backends); },
      "include the header of the operation for the processor, such as <lowp/cast.hpp>");
  if constexpr (is_compiled<Call>) {
    run_compiled(call);
  } else if constexpr (requires { call.run_parts(*this); }) {
    call.run_parts(*this);
  } else {
    auto const enter = Backends::template entries<Call>[Backends::chosen()];
    if constexpr (requires { call.size.count; })  // after the choice, which may throw
      if (call.size.count == 0) return;  // otherwise g++ 12 casts to bfloat16 a sixth slower
    detail::default_environment const environment;
    enter(call);
  }
}

#if defined(LOWP_COMPILING)
template <class Call>
void run_compiled(Call const& call) {
  this_thread{}(call);
}
#endif

}  // namespace lowp::simd

namespace lowp::detail::inline LOWP_UNIT {

/// An executor for reports: the calling thread takes block after block, each with its own sums. It
/// adds these exactly, so a range gives the bits of its shards if they are multiples of a block.
struct blocks_on_this_thread : throwing {
  static constexpr std::size_t block = 1 << 14;

  template <class Call>
  void operator()(Call const& call) const {
    std::size_t const count = call.size.count;
    for (std::size_t first = 0; first < count; first += block)
      simd::this_thread{}(
          call.subrange(first, count - first < block ? count - first : block, call.report));
  }
};

template <class Executor>
struct checked : Executor {
  static constexpr bool has_checked = true;
};

/// Returns the name of a call in error texts.
LOWP_HOST_FN char const* name_on(auto const& executor, char const* name) {
  if constexpr (requires { executor.function; }) return executor.function;
  return name;
}

/// Returns the executor that fixes the bits of an operation's sums.
LOWP_HOST_FN auto const& by_blocks(auto const& executor) { return executor; }
LOWP_HOST_FN blocks_on_this_thread by_blocks(simd::this_thread const&) { return {}; }
LOWP_HOST_FN checked<blocks_on_this_thread> by_blocks(checked<simd::this_thread> const&) {
  return {};
}

}  // namespace lowp::detail::inline LOWP_UNIT
