// SPDX-License-Identifier: Apache-2.0
// The threads that hold a block of scaled elements, or a square tile of them, and what they find
// together. See kernel.hpp for a `Thread`.
#pragma once

#include <lowp/cuda/accessor.hpp>
#include <lowp/cuda/tuning.hpp>
#include <lowp/report/warp_sums.hpp>
#include <lowp/storage/scale.hpp>

namespace lowp::cuda {

/// The square tiles that a block of threads has at a time: each row has a sector of their scales.
inline constexpr std::uint64_t squares_of_block = 32;

/// Returns true if warps take whole squares of `square` chunks, in strips. A strip is 64 elements
/// wide. Each pass has four rows of it, and eight threads have a row:
///
///     pass 0   threads 0 to 7: row 0   8 to 15: row 1   16 to 23: row 2   24 to 31: row 3
///     pass 1   threads 0 to 7: row 4   ...
LOWP_FN constexpr bool is_in_strips(std::uint64_t square, unsigned threads) {
  return square > 1 && square <= 128 && threads >= 32;
}

/// The passes of a tile: whole squares of a strip, or whole turns of larger squares.
template <class... KernelOperand>
inline constexpr int chunks_per_thread = [] {
  int chunks = tuning::chunks(chunk_size * (0 + ... + KernelOperand::bytes_read),
                              (KernelOperand::finds_scales || ...));
  for (std::uint64_t const square : {KernelOperand::chunks_of_square...}) {
    auto const turns = static_cast<int>(square / tuning::block_threads);
    if (turns > 0 && turns < chunks) chunks = turns;
    if (is_in_strips(square, tuning::block_threads)) chunks = square > 32 ? 8 : 4;
  }
  return chunks;
}();

/// Returns the chunks of a tile. A block's threads take those of squares in turns.
template <class... KernelOperand>
LOWP_FN constexpr std::uint64_t chunks_of_tile(unsigned threads) {
  std::uint64_t chunks = std::uint64_t{threads} * chunks_per_thread<KernelOperand...>;
  for (std::uint64_t square : {KernelOperand::chunks_of_square...}) {
    if (is_in_strips(square, threads)) square *= squares_of_block;
    if (chunks < square) chunks = square;
  }
  return chunks;
}

/// @tparam Threads  of a block: neighbours in a warp, with a chunk each in every pass
/// @tparam Square   the chunks of a square tile, which are successive in the order of threads
/// @tparam Finders  the threads of a block that find scales, of every Finders-th pass each
template <class Thread, int Threads, std::uint64_t Square, int Finders>
struct scale_group : detail::warp<Thread> {
  using warp = detail::warp<Thread>;
  using warp::thread, warp::is_upper;

  /// Leaves a thread the words of its own passes, each the larger one of two or more threads':
  ///
  ///     pass          0  1  2  3
  ///     thread 0      a  b  c  d   ->   max(a, e)  max(c, g)
  ///     thread 1      e  f  g  h   ->   max(b, f)  max(d, h)
  template <int Distance, int N>
  LOWP_FN void divide(std::uint32_t* x) const {
    if constexpr (Distance < Finders) {
      bool const is_upper_one = is_upper(Distance);
      LOWP_UNROLL_ON_GPU
      for (int i = 0; i < N / 2; ++i) {
        std::uint32_t const kept = is_upper_one ? x[2 * i + 1] : x[2 * i];
        std::uint32_t const given = is_upper_one ? x[2 * i] : x[2 * i + 1];
        x[i] = lanes::max(kept, thread.template exchanged<Distance>(given));
      }
      divide<2 * Distance, N / 2>(x);
    }
  }
  /// Gives each thread the numbers of all N passes, in the order of passes.
  template <int Distance, int N>
  LOWP_FN void spread(float* x) const {
    if constexpr (Distance != 0) {
      bool const is_upper_one = is_upper(Distance);
      LOWP_UNROLL_ON_GPU
      for (int i = N / (2 * Distance) - 1; i >= 0; --i) {
        float const own = x[i], other = warp::template other<Distance>(own);
        x[2 * i] = is_upper_one ? other : own;
        x[2 * i + 1] = is_upper_one ? own : other;
      }
      spread<Distance / 2, N>(x);
    }
  }

  /// Returns the largest word of a block's threads, after `divide`.
  LOWP_FN std::uint32_t max_of_block(std::uint32_t x) const {
    return warp::template max_among<Finders, Threads>(x);
  }
  /// Returns the largest word of the threads that have a square of a strip.
  LOWP_FN std::uint32_t max_of_strip(std::uint32_t x) const {
    return warp::template max_among<chunk_size, 32>(max_of_block(x));
  }
  /// Adds the sums of a square's rows in a strip, as a tree. A thread has those of N passes.
  template <int N>
  LOWP_FN float sum_of_strip(float* sums) const {
    LOWP_UNROLL_ON_GPU
    for (int half = N / 2; half != 0; half /= 2) {
      LOWP_UNROLL_ON_GPU
      for (int i = 0; i < half; ++i) sums[i] = lanes::add(sums[i], sums[i + half]);
    }
    return warp::template sum_of_two<8>(warp::template sum_of_two<16>(sums[0]));
  }
  /// Returns the largest of a square, or of all threads of a GPU's block if a square has more.
  /// @param x  the largest word of a row of the square
  LOWP_FN std::uint32_t max_of_square(std::uint32_t x) const {
    constexpr unsigned of_warp = 32;
    constexpr int together = static_cast<int>(Square < of_warp ? Square : of_warp);
    x = warp::template max_among<Threads, together>(x);
    if constexpr (Square > of_warp) {
      auto* const words = thread.template shared<std::uint32_t>();
      words[thread.thread()] = x;
      thread.barrier();
      auto const first =
          static_cast<unsigned>(thread.thread() / Square * Square) + thread.thread() % Finders;
      for (unsigned i = first; i < first + Square && i < thread.threads(); i += of_warp)
        x = lanes::max(x, words[i]);
      thread.barrier();  // before the next words
    }
    return x;
  }

  /// Returns the better one of two scales. A block's neighbours try one each.
  LOWP_FN auto better_of_two(auto const& candidate) const {
    auto const own = candidate(is_upper(1));
    decltype(candidate(true)) const other{
        {thread.template exchanged<1>(own.scale.code), warp::template other<1>(own.scale.factor)},
        warp::template other<1>(own.error)};
    return is_upper(1) ? own.or_that_to_four(other) : other.or_that_to_four(own);
  }
  /// Adds up the errors of two chunks, a row, in order. Rules choose for such rows alone.
  LOWP_FN float sum_of_errors([[maybe_unused]] float const* x,
                              [[maybe_unused]] auto const& error) const {
    float sum = 0;
    if constexpr (Threads == 2 && Finders == 1) {
      unsigned const number = thread.thread() % 2;
      float row[2 * chunk_size];
      LOWP_UNROLL_ON_GPU
      for (unsigned k = 0; k < 2 * chunk_size; ++k)
        row[k] = lanes::from_bits<float>(
            thread.exchanged(lanes::bits(x[k % chunk_size]), k / chunk_size ^ number));
      if (error.is_plain) {
        LOWP_UNROLL_ON_GPU
        for (float const each : row) sum = lanes::add(sum, lanes::size_of(error.plain(each)));
      } else {
        float each[2 * chunk_size];
        LOWP_UNROLL_ON_GPU
        for (int k = 0; k < 2 * chunk_size; ++k) each[k] = row[k];
        LOWP_KEEP_LOOP
        for (float const x_k : each) sum = lanes::add(sum, error(x_k));
      }
    }
    return sum;
  }
};

/// The tables of a rule that has some, in the memory that a block of threads shares.
template <class Rule>
struct shared_tables {
  static constexpr bool exist = requires { typename Rule::tables_type; };

  template <class Thread>
  LOWP_FN static decltype(auto) of([[maybe_unused]] Thread const& thread) {
    if constexpr (exist && requires { Thread::keeps_no_tables; })
      return Rule::tables();
    else if constexpr (exist)
      return *thread.template shared<typename Rule::tables_type, 1>();
    else
      return exist;
  }
  LOWP_FN static void copy(auto const& thread) {
    using quad = piece<16>;
    auto* const to = thread.template shared<typename Rule::tables_type, 1>();
    for (unsigned i = thread.thread(); i < sizeof *to / sizeof(quad); i += thread.threads())
      reinterpret_cast<quad*>(to)[i] = thread.template read<quad>(
          reinterpret_cast<unsigned char const*>(&Rule::tables()) + i * sizeof(quad));
  }
};
template <class KernelOperand>
inline constexpr bool keeps_tables = requires { requires KernelOperand::tables::exist; };

/// A thread of a block whose shared memory a report needs: it reads tables where they lie.
template <class Thread>
struct thread_without_tables : Thread {
  static constexpr bool keeps_no_tables = true;
};

}  // namespace lowp::cuda
