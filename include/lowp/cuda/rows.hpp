// SPDX-License-Identifier: Apache-2.0
// The kernel over rows: a warp a row, groups of eight elements a thread, so that thread t adds to the
// sums 8 t to 8 t + 7 of fold::sum. Besides what kernel.hpp asks of a thread:
//
//     exchanged<Distance>(word)    the word of the thread whose number in the warp differs in that bit
#pragma once

#include <lowp/cuda/kernel.hpp>
#include <lowp/row_folds.hpp>
#include <lowp/simd/row_call.hpp>

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

namespace lowp::cuda {

inline constexpr unsigned warp_threads = 32;
static_assert(warp_threads * group_size == fold::sums);

/// What the threads of a warp fold, each some groups.
template <class Fold>
class thread_fold;

template <>
class thread_fold<fold::maximum> {
 public:
  LOWP_FN void add(int, float x) { largest_ = lanes::larger(x, largest_); }
  template <class Thread>
  LOWP_FN float total(Thread const& thread) const {
    return largest_among<warp_threads / 2>(thread, largest_);
  }

 private:
  template <int Distance, class Thread>
  LOWP_FN static float largest_among(Thread const& thread, float x) {
    if constexpr (Distance == 0) {
      return x;
    } else {
      float const other =
          lanes::from_bits<float>(thread.template exchanged<Distance>(lanes::bits(x)));
      return largest_among<Distance / 2>(thread, lanes::larger(x, other));
    }
  }
  float largest_ = detail::neutral<float>(fold::maximum{});
};

template <>
class thread_fold<fold::sum> {
 public:
  LOWP_FN void add(int k, float x) { sums_[k] = lanes::add(sums_[k], x); }
  template <class Thread>
  LOWP_FN float total(Thread const& thread) {
    among<warp_threads / 2>(thread);
    LOWP_UNROLL_ON_GPU
    for (int half = group_size / 2; half != 0; half /= 2) {
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < half; ++k) sums_[k] = lanes::add(sums_[k], sums_[k + half]);
    }
    return sums_[0];
  }

 private:
  template <int Distance, class Thread>
  LOWP_FN void among(Thread const& thread) {
    if constexpr (Distance != 0) {
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < group_size; ++k) {
        float const other =
            lanes::from_bits<float>(thread.template exchanged<Distance>(lanes::bits(sums_[k])));
        sums_[k] = lanes::add(sums_[k], other);
      }
      among<Distance / 2>(thread);
    }
  }
  float sums_[group_size] = {};
};

/// An operand of a row operation.
template <class Slot>
struct row_slot {
  Slot slot;
  void* data;
  simd::row_repetition rows;

  /// Elements from `first` on of row r, `count` of them.
  template <int Width, class Thread>
  LOWP_FN void load(Thread const& thread, std::uint64_t r, std::uint64_t columns,
                    std::uint64_t first, int count, float (&x)[group_size]) const {
    port<Slot, true, typename Thread::hardware, 1> p(slot, &data, 0);
    p.template load<Width>(0, thread, rows.row(r) * columns + first, count);
    p.decode(0, x);
  }
  template <int Width, class Thread>
  LOWP_FN void store(Thread const& thread, std::uint64_t r, std::uint64_t columns,
                     std::uint64_t first, int count, float const (&x)[group_size]) const {
    port<Slot, true, typename Thread::hardware, 1> p(slot, &data, 0);
    p.encode(thread, x, first, count);
    p.template store<Width>(thread, r * columns + first, count);
  }
};

/// Bytes that are loaded as words: see simd::byte_operand.
struct byte_slot {
  using type = float8_e4m3fn;  // any of its size
};
template <>
struct row_slot<byte_slot> {
  byte_slot slot;
  void* data;
  simd::row_repetition rows;

  template <int Width, class Thread>
  LOWP_FN void load(Thread const& thread, std::uint64_t r, std::uint64_t columns,
                    std::uint64_t first, int count, float (&x)[group_size]) const {
    using code = byte_slot::type;
    code const* const at = static_cast<code const*>(data) + rows.row(r) * columns + first;
    group<code> bytes;
    if (count == group_size)
      bytes.template load<access_bytes<code>(Width)>(thread, at);
    else
      bytes.load_first(count, thread, at);
    LOWP_UNROLL_ON_GPU
    for (int k = 0; k < group_size; ++k) x[k] = lanes::from_bits<float>(bytes.code(k));
  }
};

/// Operands that are read.
template <class Indices, class... Slot>
struct row_slots;
template <std::size_t... I, class... Slot>
struct row_slots<std::index_sequence<I...>, Slot...> : indexed_slot<I, row_slot<Slot>>... {
  static constexpr int size = sizeof...(I) == 0 ? 1 : sizeof...(I);
  using indices = std::index_sequence<I...>;

  template <int Width, class Thread>
  LOWP_FN void load(Thread const& thread, std::uint64_t r, std::uint64_t columns,
                    std::uint64_t first, int count, float (&x)[size][group_size]) const {
    static_cast<void>(r + columns + first + static_cast<unsigned>(count));  // there may be none
    (indexed_slot<I, row_slot<Slot>>::slot.template load<Width>(thread, r, columns, first, count,
                                                                x[I]),
     ...);
  }
};

/// simd::row_call for the threads of a grid.
template <int Width, class Operation, class To, class Scores, class Columns>
struct row_kernel_call {
  static constexpr unsigned least_blocks = 0;
  static constexpr bool is_collective = true;
  using folds = typename Operation::folds;
  using state = typename Operation::template state<float>;
  static constexpr int last_fold = static_cast<int>(std::tuple_size_v<folds>) - 1;

  Operation operation;
  std::uint64_t rows, columns;
  row_slot<To> to;
  Scores scores;
  Columns per_column;
  struct {
    std::uint64_t tiles;
  } table;  // the blocks that there is work for

  template <class Thread>
  LOWP_FN void run(Thread const& thread) const {
    unsigned const warps = thread.threads() / warp_threads;
    for (std::uint64_t r = thread.block() * warps + thread.thread() / warp_threads; r < rows;
         r += thread.blocks() * warps) {
      state s{};
      fold_row<0>(thread, r, s);
      write_row(thread, r, s);
    }
  }

 private:
  LOWP_FN std::uint64_t visible(std::uint64_t r) const {
    if constexpr (requires { operation.visible(r, columns); })
      return operation.visible(r, columns);
    else
      return columns;
  }
  LOWP_FN static int within(std::uint64_t first, std::uint64_t end) {
    return end - first < group_size ? static_cast<int>(end - first) : group_size;
  }
  template <class Thread>
  LOWP_FN static std::uint64_t first_of(Thread const& thread) {
    return std::uint64_t{thread.thread() % warp_threads} * group_size;
  }

  template <int I, class Thread>
  LOWP_FN void fold_row(Thread const& thread, std::uint64_t r, state& s) const {
    thread_fold<std::tuple_element_t<I, folds>> folded;
    std::uint64_t const end = visible(r);
    for (std::uint64_t first = first_of(thread); first < end; first += fold::sums) {
      int const count = within(first, end);
      float x[Scores::size][group_size];
      scores.template load<Width>(thread, r, columns, first, count, x);
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < group_size; ++k) {
        float const term =
            operation.term(fold::number<I>{}, value<I>(s, x, k, typename Scores::indices{}));
        if (k < count) folded.add(k, term);
      }
    }
    operation.settle(fold::number<I>{}, s, folded.total(thread));
    if constexpr (I < last_fold) fold_row<I + 1>(thread, r, s);
  }

  template <class Thread>
  LOWP_FN void write_row(Thread const& thread, std::uint64_t r, state const& s) const {
    std::uint64_t const end = visible(r);
    for (std::uint64_t first = first_of(thread); first < columns; first += fold::sums) {
      int const count = within(first, columns);
      float x[Scores::size][group_size], weight[Columns::size][group_size], out[group_size];
      scores.template load<Width>(thread, r, columns, first, count, x);
      per_column.template load<Width>(thread, 0, columns, first, count, weight);
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < group_size; ++k) {
        float v = value<last_fold>(s, x, k, typename Scores::indices{});
        if (first + static_cast<unsigned>(k) >= end) v = 0;
        out[k] = result(s, v, weight, k, typename Columns::indices{});
      }
      to.template store<Width>(thread, r, columns, first, count, out);
    }
  }

  template <int I, std::size_t... J>
  LOWP_FN float value(state const& s, float const (&x)[Scores::size][group_size], int k,
                      std::index_sequence<J...>) const {
    return operation.value(fold::number<I>{}, s, x[J][k]...);
  }
  template <std::size_t... J>
  LOWP_FN float result(state const& s, float const& value,
                       [[maybe_unused]] float const (&weight)[Columns::size][group_size],
                       [[maybe_unused]] int k, std::index_sequence<J...>) const {
    return operation.result(s, value, weight[J][k]...);
  }
};

}  // namespace lowp::cuda
