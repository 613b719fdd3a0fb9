// SPDX-License-Identifier: Apache-2.0
// The operands of a row operation, and what a thread has of a row of theirs in its registers.
#pragma once

#include <lowp/cuda/kernel.hpp>
#include <lowp/simd/row_call.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace lowp::cuda {

template <class Slot>
struct row_slot {
  Slot slot;
  void* data;
  simd::row_repetition rows;
};

/// Bytes that are loaded as words: see simd::byte_operand.
struct byte_slot {
  using type = float8_e4m3fn;  // any of its size
  static constexpr int bytes_read = 1;
};

/// Groups of row r of an operand, which are not rounded at random: what a row has no number for.
template <class Slot, class Hardware, int Groups>
class row_port {
  using T = typename Slot::type;
  static_assert(!Slot::is_random);

 public:
  LOWP_FN row_port(row_slot<Slot> const& s, std::uint64_t r, std::uint32_t columns)
      : row_(static_cast<T*>(s.data) + s.rows.row(r) * columns), port_(s.slot, &row_, 0) {}

  template <int Width, class Thread>
  LOWP_FN void load(int i, Thread const& thread, std::uint32_t column, int count) {
    port_.template load<Width>(i, thread, column, count);
  }
  LOWP_FN void decode(int i, float (&x)[group_size]) const { port_.decode(i, x); }
  /// One element alone.
  template <class Thread>
  LOWP_FN float element(Thread const& thread, std::uint32_t column) const {
    group<T> code;
    code.load_first(1, thread, static_cast<T const*>(row_) + column);
    return port_.decoded(code.code(0));
  }

  template <class Thread>
  LOWP_FN void encode(Thread const& thread, float const (&x)[group_size], std::uint32_t column,
                      int count) {
    port_.encode(thread, x, column, count);
  }
  template <int Width, class Thread>
  LOWP_FN void store(Thread const& thread, std::uint32_t column, int count) const {
    port_.template store<Width>(thread, column, count);
  }

 private:
  void* row_;
  port<Slot, true, Hardware, Groups> port_;
};

template <class Hardware, int Groups>
class row_port<byte_slot, Hardware, Groups> {
  using code = byte_slot::type;

 public:
  LOWP_FN row_port(row_slot<byte_slot> const& s, std::uint64_t r, std::uint32_t columns)
      : row_(static_cast<code const*>(s.data) + s.rows.row(r) * columns) {}

  template <int Width, class Thread>
  LOWP_FN void load(int i, Thread const& thread, std::uint32_t column, int count) {
    if (count == group_size)
      bytes_[i].template load<access_bytes<code>(Width)>(thread, row_ + column);
    else
      bytes_[i].load_first(count, thread, row_ + column);
  }
  LOWP_FN void decode(int i, float (&x)[group_size]) const {
    LOWP_UNROLL_ON_GPU
    for (int k = 0; k < group_size; ++k) x[k] = lanes::from_bits<float>(bytes_[i].code(k));
  }
  template <class Thread>
  LOWP_FN float element(Thread const& thread, std::uint32_t column) const {
    group<code> byte;
    byte.load_first(1, thread, row_ + column);
    return lanes::from_bits<float>(byte.code(0));
  }

 private:
  group<code> bytes_[Groups];
  code const* row_;
};

/// Operands that are read.
template <class Indices, class... Slot>
struct row_slots;
template <std::size_t... I, class... Slot>
struct row_slots<std::index_sequence<I...>, Slot...> : indexed_slot<I, row_slot<Slot>>... {
  /// At least 1, so that arrays may have it.
  static constexpr int size = sizeof...(I) == 0 ? 1 : sizeof...(I);
  static constexpr int bytes_read = (0 + ... + Slot::bytes_read);
  using indices = std::index_sequence<I...>;
};

/// What a thread has of a row of theirs.
template <class Slots, class Hardware, int Groups>
class row_ports;
template <std::size_t... I, class... Slot, class Hardware, int Groups>
class row_ports<row_slots<std::index_sequence<I...>, Slot...>, Hardware, Groups>
    : indexed_slot<I, row_port<Slot, Hardware, Groups>>... {
  using slots = row_slots<std::index_sequence<I...>, Slot...>;
  template <std::size_t J, class S>
  using base = indexed_slot<J, row_port<S, Hardware, Groups>>;

 public:
  LOWP_FN row_ports([[maybe_unused]] slots const& s, [[maybe_unused]] std::uint64_t r,
                    [[maybe_unused]] std::uint32_t columns)
      : base<I, Slot>{{s.indexed_slot<I, row_slot<Slot>>::slot, r, columns}}... {}

  template <int Width, class Thread>
  LOWP_FN void load([[maybe_unused]] int i, [[maybe_unused]] Thread const& thread,
                    [[maybe_unused]] std::uint32_t column, [[maybe_unused]] int count) {
    (base<I, Slot>::slot.template load<Width>(i, thread, column, count), ...);
  }
  LOWP_FN void decode([[maybe_unused]] int i,
                      [[maybe_unused]] float (&x)[slots::size][group_size]) const {
    (base<I, Slot>::slot.decode(i, x[I]), ...);
  }
  template <class Thread>
  LOWP_FN void load_element([[maybe_unused]] Thread const& thread,
                            [[maybe_unused]] std::uint32_t column, [[maybe_unused]] int k,
                            [[maybe_unused]] float (&x)[slots::size][group_size]) const {
    ((x[I][k] = base<I, Slot>::slot.element(thread, column)), ...);
  }
};

}  // namespace lowp::cuda
