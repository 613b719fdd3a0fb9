// SPDX-License-Identifier: Apache-2.0
// Converts the operands of a call to kernel operands, and its tensors to tiles.
#pragma once

#include <lowp/cuda/kernel.hpp>
#include <lowp/simd/operand.hpp>

namespace lowp::cuda {

/// Returns true if accesses of `width` bytes may move chunks of T at `data`.
template <class T>
bool permits(int width, T const* data) {
  return reinterpret_cast<std::uintptr_t>(data) % static_cast<unsigned>(access_bytes<T>(width)) ==
         0;
}
/// Returns true for scales, which are bytes and are moved one by one.
inline bool permits(int, std::byte const*) { return true; }

/// Returns the widest accesses that are permitted.
int widest(auto const& is_permitted) {
  for (int const width : widths)
    if (is_permitted(width)) return width;
  return 1;
}
int widest_of(auto const& call) {
  return widest([&](int width) {
    bool is_permitted = true;
    call.each_array([&](auto const& array) { is_permitted &= permits(width, array.data()); });
    return is_permitted;
  });
}

/// The kernel operand of an operand: a `type`, which `of` makes. Numbers have one rounding to
/// float when they are read, which no other mode shares.
template <class Operand>
struct kernel_operand_for {
  using mode = simd::rounding_type<Operand>;
  using rounding =
      std::conditional_t<detail::plain_number<typename Operand::type>, mode, kernel_rounding<mode>>;
  using type =
      kernel_operand<typename Operand::type, Operand::direction, rounding, typename Operand::order>;
  static type of(Operand const& o, detail::nans kind) { return type::of(o, kind); }
};
template <class Indices, class Layout, class... Part>
struct kernel_operand_for<simd::composite<Indices, Layout, Part...>> {
  using type =
      composite_kernel_operand<Indices, Layout, typename kernel_operand_for<Part>::type...>;
  static type of(simd::composite<Indices, Layout, Part...> const& o, detail::nans kind) {
    return {o, kind};
  }
};
template <narrow T, int Block, access A, class R, class Order, class Rule>
struct kernel_operand_for<simd::blocked<T, Block, A, R, Order, Rule>> {
  using codes = kernel_operand_for<simd::operand<T, A, R, Order>>;
  using type = blocked_kernel_operand<Block, typename codes::type, Rule>;
  static type of(simd::blocked<T, Block, A, R, Order, Rule> const& o, detail::nans kind) {
    bool is_by_tables = type::tables::exist && std::same_as<R, nearest_even>;
    if constexpr (type::tables::exist && std::same_as<R, rounding_mode>)
      is_by_tables = o.codes.rounding.is_nearest_even();
    return {codes::of(o.codes, kind), o.rule, is_by_tables};
  }
};
template <class Operand>
using kernel_operand_of = typename kernel_operand_for<Operand>::type;

template <class T>
void* address_of(T* data) {
  return const_cast<std::remove_const_t<T>*>(data);
}
void keep_arrays(auto const& call, void** to) {
  call.each_array([&](auto const& array) { *to++ = address_of(array.data()); });
}

/// Tensors whose tiles have successive numbers, one tensor after another. For lists see list.hpp.
template <int Slots, int Capacity>
struct tensor_table {
  struct tensor {
    void* data[std::size_t{Slots}];
    std::uint64_t count, first_tile;
    std::uint32_t number;
  };
  tensor at[std::size_t{Capacity}];
  std::uint32_t size = 0;
  std::uint64_t tiles = 0;

  LOWP_FN static std::uint32_t find(std::uint64_t) { return 0; }
};

template <class... Operand>
std::uint64_t tiles_of(std::uint64_t count, unsigned threads) {
  std::uint64_t const per_tile =
      chunk_size * chunks_of_tile<kernel_operand_of<Operand>...>(threads);
  return count / per_tile + (count % per_tile != 0 ? 1 : 0);
}

template <class Operand>
auto const& rounding_of(Operand const& o) {
  if constexpr (simd::element_operand<Operand>)
    return o.rounding;
  else if constexpr (requires { o.codes; })
    return o.codes.rounding;
  else if constexpr (requires { o.elements; })
    return o.elements.rounding;
  else
    return simd::get<Operand::rounded>(o.parts).rounding;
}

}  // namespace lowp::cuda
