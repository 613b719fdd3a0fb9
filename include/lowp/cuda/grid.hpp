// SPDX-License-Identifier: Apache-2.0
// From the ranges of a call to the arguments of a kernel, on whatever grid of threads runs it:
//
//     threads()                                   of a block
//     run<Report>(call)                           a kernel_call
//     copy(to, from, bytes)
//     unreachable(address)                        why, or nothing
//     refuse(problem)                             of an argument, after which nothing runs
#pragma once

#include <lowp/cuda/kernel.hpp>
#include <lowp/cuda/rows.hpp>
#include <lowp/ranges.hpp>
#include <lowp/simd/operand.hpp>
#include <lowp/simd/row_call.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>

namespace lowp::cuda {

/// Element functions are made on the host, once per call, unless what they are made of lies in device
/// memory.
template <class Function>
struct made {
  Function function;
  LOWP_FN Function operator()() const { return function; }
};
template <class Make>
auto kernel_make(Make const& make) {
  if constexpr (requires { make.stored_at(); })
    return make;
  else
    return made<decltype(make())>{make()};
}

/// The widths that kernels are compiled for; the least means element by element.
inline constexpr int widths[] = {16, 4, 1};

/// Whether groups of T at `data` may be moved by accesses of `width` bytes.
template <element T>
bool permits(int width, T const* data) {
  return reinterpret_cast<std::uintptr_t>(data) % static_cast<unsigned>(access_bytes<T>(width)) ==
         0;
}
/// Scales are moved one by one.
inline bool permits(int, void const*) { return true; }

template <class... Pointer>
int widest(std::tuple<Pointer...> const& data) {
  for (int const width : widths)
    if (std::apply([&](auto const*... each) { return (permits(width, each) && ...); }, data))
      return width;
  return 1;
}

/// Pointers to all arrays of all operands.
template <simd::element_operand Operand>
auto arrays_of(Operand const& o) {
  return std::tuple(o.data);
}
template <class Layout, class... Part>
auto arrays_of(simd::composite<Layout, Part...> const& o) {
  return std::apply([](auto const&... part) { return std::tuple_cat(arrays_of(part)...); },
                    o.parts);
}

/// body(std::integral_constant<int, width>{})
template <class Body>
void with_width(int width, Body const& body) {
  if (width == widths[0])
    body(std::integral_constant<int, widths[0]>{});
  else if (width == widths[1])
    body(std::integral_constant<int, widths[1]>{});
  else
    body(std::integral_constant<int, widths[2]>{});
}

/// An operand's slot: `type`, made by `of`.
template <class Operand>
struct slot_of_operand {
  using type = slot<typename Operand::type, Operand::direction,
                    typename kernel_rounding<std::remove_cv_t<decltype(Operand::rounding)>>::type>;
  static type of(Operand const& o, detail::nans kind) { return type::of(o, kind); }
};
template <class Layout, class... Part>
struct slot_of_operand<simd::composite<Layout, Part...>> {
  using type = composite_slot<std::index_sequence_for<Part...>, Layout,
                              typename slot_of_operand<Part>::type...>;
  static type of(simd::composite<Layout, Part...> const& o, detail::nans kind) {
    return {o.layout, o.parts, std::get<Layout::rounded>(o.parts), kind};
  }
};
template <narrow T, int Block, access A, class R>
struct slot_of_operand<simd::blocked<T, Block, A, R>> {
  using codes = slot_of_operand<simd::operand<T, A, R>>;
  using type = blocked_slot<Block, typename codes::type>;
  static type of(simd::blocked<T, Block, A, R> const& o, detail::nans kind) {
    return {codes::of(o.codes, kind), o.rule};
  }
};
template <class Operand>
using slot_of = typename slot_of_operand<Operand>::type;

template <class T>
void* address_of(T* data) {
  return const_cast<std::remove_const_t<T>*>(data);
}

template <class Make, class Operand>
slot_of<Operand> slot_for(Operand const& o) {
  constexpr bool is_conversion =
      requires { decltype(std::declval<Make const&>()())::is_conversion; };
  return slot_of_operand<Operand>::of(o,
                                      is_conversion ? detail::nans::kept : detail::nans::canonical);
}

/// Tiles of a tensor.
template <class... Operand>
std::uint64_t tiles_of(std::uint64_t count, unsigned threads) {
  std::uint64_t const per_tile =
      std::uint64_t{threads} * group_size * groups_per_thread<slot_of<Operand>...>;
  return count / per_tile + (count % per_tile != 0 ? 1 : 0);
}

template <narrow T, int Block, access A, class R>
auto arrays_of(simd::blocked<T, Block, A, R> const& o) {
  using scales = std::conditional_t<A == access::read, void const, void>;
  return std::tuple(o.codes.data, static_cast<scales*>(o.scales));
}

template <class Operand>
auto const& rounding_of(Operand const& o) {
  if constexpr (simd::element_operand<Operand>)
    return o.rounding;
  else if constexpr (requires { o.codes; })
    return o.codes.rounding;
  else
    return std::get<Operand::rounded>(o.parts).rounding;
}

/// An operand of a row operation.
template <class Operand>
struct row_slot_of {
  using type = slot_of<Operand>;
  static row_slot<type> of(Operand const& o) {
    return {slot_of_operand<Operand>::of(o, detail::nans::canonical), address_of(o.data), {}};
  }
};
template <>
struct row_slot_of<simd::byte_operand> {
  using type = byte_slot;
  static row_slot<type> of(simd::byte_operand const& o) { return {{}, address_of(o.data), {}}; }
};
template <class Operand>
struct row_slot_of<simd::repeated<Operand>> {
  using type = typename row_slot_of<Operand>::type;
  static row_slot<type> of(simd::repeated<Operand> const& o) {
    row_slot<type> s = row_slot_of<Operand>::of(o.operand);
    s.rows = o.rows;
    return s;
  }
};

template <class... Operand>
auto row_slots_of(std::tuple<Operand...> const& operands) {
  return std::apply(
      [](auto const&... each) {
        return row_slots<std::index_sequence_for<Operand...>,
                         typename row_slot_of<Operand>::type...>{
            {row_slot_of<Operand>::of(each)}...};
      },
      operands);
}

/// The widest accesses that every row of an operand permits.
template <class Slot>
bool permits(int width, row_slot<Slot> const& s, std::size_t columns) {
  using T = typename Slot::type;
  return permits(width, static_cast<T const*>(s.data)) &&
         columns * sizeof(T) % static_cast<unsigned>(access_bytes<T>(width)) == 0;
}
template <std::size_t... I, class... Slot>
bool permits(int width, row_slots<std::index_sequence<I...>, Slot...> const& slots,
             std::size_t columns) {
  static_cast<void>(columns + static_cast<unsigned>(width));  // there may be none
  return (permits(width, slots.indexed_slot<I, row_slot<Slot>>::slot, columns) && ...);
}

/// Where an operation may run: on a grid.
template <class Grid>
struct on_grid {
  Grid& grid;

  template <class Make, class Report, class... Operand>
  void operator()(Make const& make, std::size_t count, Report* report,
                  Operand const&... operands) const {
    if (count == 0) return;
    auto const arrays = std::tuple_cat(arrays_of(operands)...);
    auto const table = std::apply(
        [&](auto*... data) {
          return tensor_table<sizeof...(data), 1>{{{{address_of(data)...}, count, 0, 0}},
                                                  1,
                                                  tiles_of<Operand...>(count, grid.threads())};
        },
        arrays);
    with_width(widest(arrays),
               [&](auto width) { launch<width>(make, report, 0, table, operands...); });
  }

  template <class Operation, class Out, class Scores, class Columns>
  void rows(simd::row_call<Operation, Out, Scores, Columns> const& call) const {
    auto const to = row_slot_of<Out>::of(call.out);
    auto const scores = row_slots_of(call.scores);
    auto const per_column = row_slots_of(call.per_column);
    auto const is_permitted = [&](int width) {
      return permits(width, to, call.columns) && permits(width, scores, call.columns) &&
             permits(width, per_column, call.columns);
    };
    int width = widths[0];
    for (int const narrower : widths)
      if (!is_permitted(width)) width = narrower;
    std::uint64_t const warps = grid.threads() / warp_threads;
    with_width(width, [&](auto w) {
      grid.template run<simd::no_report>(
          row_kernel_call<w, Operation, typename row_slot_of<Out>::type, decltype(scores),
                          decltype(per_column)>{call.operation,
                                                call.rows,
                                                call.columns,
                                                to,
                                                scores,
                                                per_column,
                                                {(call.rows + warps - 1) / warps}});
    });
  }

  template <class T>
  void copy(T* to, T const* from, std::size_t count) const {
    if (to != from && count != 0) grid.copy(to, from, count * sizeof(T));
  }

  /// What is wrong with where a range lies.
  [[nodiscard]] detail::problem out_of_reach(detail::extent const& range) const {
    auto const address = reinterpret_cast<std::uintptr_t>(range.data);
    if (address % range.element_size != 0)
      return name_of(range) + " is not aligned to its elements of " +
             std::to_string(range.element_size) + " bytes";
    return out_of_reach(name_of(range), range.data);
  }

 protected:
  template <int Width, class Make, class Report, class Table, class... Operand>
  void launch(Make const& make, Report* reports, std::uint32_t stride, Table const& table,
              Operand const&... operands) const {
    detail::problem wrong;
    if constexpr (is_reported<Report>) wrong = out_of_reach("the report", reports);
    if (wrong.empty()) wrong = of_stored(make);
    ((wrong = wrong.empty() ? of_stored(rounding_of(operands)) : wrong), ...);
    if (!wrong.empty()) return grid.refuse(wrong);
    auto const made = kernel_make(make);
    grid.template run<Report>(kernel_call<Width, std::remove_cv_t<decltype(made)>, Report, Table,
                                          std::index_sequence_for<Operand...>, slot_of<Operand>...>{
        {slot_for<Make>(operands)}..., made, reports, stride, table});
  }

 private:
  [[nodiscard]] detail::problem out_of_reach(std::string const& name, void const* address) const {
    detail::problem const why =
        address == nullptr ? "is a null pointer" : grid.unreachable(address);
    return why.empty() ? why : name + " " + why;
  }
  /// What an argument keeps in device memory.
  template <class T>
  [[nodiscard]] detail::problem of_stored(T const& x) const {
    if constexpr (requires { x.stored_at(); })
      return out_of_reach("an argument in device memory", x.stored_at());
    else
      return {};
  }
};

}  // namespace lowp::cuda
