// SPDX-License-Identifier: Apache-2.0
// A grid without a GPU. It runs the library's kernel, the same text, thread by thread. Converting
// instructions get the results that PTX documents.
#pragma once

#include <gtest/gtest.h>
#include <lowp/cuda/list.hpp>
#include <lowp/cuda/rows/column_kernel.hpp>
#include <lowp/cuda/rows/id_kernel.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fibers.hpp"
#include "support/support.hpp"

namespace lowp_test {

// PTX ISA 9.0, 9.7.9 "cvt": every NaN gets one code without sign; 16-bit formats overflow to
// infinity, 8-bit ones saturate. A kernel must not show it a NaN, because its own results are
// others.
struct documented_conversions {
  static std::uint32_t convert(oracle::facts const& f, float x) {
    std::uint32_t const bits = float_bits(x);
    if ((bits & 0x7fffffffU) > 0x7f800000U) return f.bits() == 8 ? 0x7fU : 0x7fffU;
    return oracle::encode(f, oracle::from_float_bits(bits), oracle::mode::nearest_even,
                          f.bits() == 8 ? oracle::policy::saturate : oracle::policy::infinity);
  }
  template <lowp::narrow T>
    requires std::same_as<T, lowp::bfloat16> || std::same_as<T, lowp::float16> ||
             std::same_as<T, lowp::float8_e4m3fn> || std::same_as<T, lowp::float8_e5m2>
  static std::uint32_t encode(std::type_identity<T>, float first, float second) {
    ++used;
    return convert(facts<T>, first) | convert(facts<T>, second) << facts<T>.bits();
  }
  template <lowp::narrow T>
    requires std::same_as<T, lowp::float16> || std::same_as<T, lowp::float8_e4m3fn> ||
             std::same_as<T, lowp::float8_e5m2>
  static void decode(std::type_identity<T>, std::uint32_t pair, float& first, float& second) {
    ++used;
    auto const one = [](std::uint32_t code) {
      std::uint32_t const bits = oracle::decode_to_float_bits(facts<T>, code & (code_count<T> - 1));
      return float_of((bits & 0x7fffffffU) > 0x7f800000U ? 0x7fffffffU : bits);
    };
    first = one(pair);
    second = one(pair >> facts<T>.bits());
  }
  // 9.7.3 and 9.7.4 "max": .NaN returns the canonical NaN.
  template <lowp::narrow T>
    requires std::same_as<T, lowp::bfloat16> || std::same_as<T, lowp::float16>
  static std::uint32_t larger(std::type_identity<T>, std::uint32_t a, std::uint32_t b) {
    ++used;
    auto const one = [](std::uint32_t x, std::uint32_t y) {
      std::uint32_t const most = std::max(x, y);
      EXPECT_LT(most, 0x8000U) << "codes with signs";
      return most > (std::same_as<T, lowp::bfloat16> ? 0x7f80U : 0x7c00U) ? 0x7fffU : most;
    };
    return one(a & 0xffff, b & 0xffff) | one(a >> 16, b >> 16) << 16;
  }
  // 9.7.9 "cvt", e2m1x2 with .satfinite. A kernel must not show it a NaN.
  static std::uint32_t nibbles(std::type_identity<lowp::float4_e2m1fn>, float const (&x)[8]) {
    ++used;
    std::uint32_t codes = 0;
    for (int k = 0; k < 8; ++k) {
      EXPECT_FALSE(std::isnan(x[k]));
      codes |= oracle::encode(facts<lowp::float4_e2m1fn>, oracle::from_float_bits(float_bits(x[k])),
                              oracle::mode::nearest_even, oracle::policy::saturate)
               << 4 * k;
    }
    return codes;
  }
  static inline std::atomic<std::uint64_t> used = 0;
};

struct no_conversions {};

// Shared by the threads of a block.
struct block_state {
  static constexpr unsigned warp = 32;
  static constexpr std::uint32_t uninitialized = 0xdeadbeef;

  block_state(unsigned threads, std::size_t dynamic_bytes)
      : arrived(threads), dynamic(dynamic_bytes / 16, quad{}) {
    for (unsigned first = 0; first < threads; first += warp)
      warp_arrived.emplace_back(std::min(warp, threads - first));
  }
  fibers::barrier arrived;
  std::vector<fibers::barrier> warp_arrived;
  std::map<void const*, std::vector<std::max_align_t>> memory;  // of each kind of objects
  std::vector<std::uint32_t> words = std::vector<std::uint32_t>(1024);
  // Filled with a pattern, because a GPU's are uninitialized.
  std::vector<std::uint32_t> counters = std::vector<std::uint32_t>(1024, uninitialized);
  struct alignas(16) quad {
    std::array<std::uint32_t, 4> words{uninitialized, uninitialized, uninitialized, uninitialized};
  };
  std::vector<quad> dynamic;
  std::atomic<std::uint64_t> bytes_read = 0, bytes_written = 0;
};

template <class Conversions>
struct simulated_thread {
  using hardware = Conversions;
  unsigned thread_, threads_;
  std::uint64_t block_, blocks_;
  block_state* state;

  [[nodiscard]] unsigned thread() const { return thread_; }
  [[nodiscard]] unsigned threads() const { return threads_; }
  [[nodiscard]] std::uint64_t block() const { return block_; }
  [[nodiscard]] std::uint64_t blocks() const { return blocks_; }

  template <class T>
  T read(unsigned char const* at) const {
    expect_aligned(at, sizeof(T));
    state->bytes_read.fetch_add(sizeof(T), std::memory_order_relaxed);
    T x;
    std::memcpy(&x, at, sizeof x);
    return x;
  }
  template <class T>
  void write(unsigned char* at, T const& x) const {
    expect_aligned(at, sizeof(T));
    state->bytes_written.fetch_add(sizeof(T), std::memory_order_relaxed);
    std::memcpy(at, &x, sizeof x);
  }
  template <class Make>
  auto once(Make const& make) const {
    return make();
  }
  void barrier() const { state->arrived.arrive_and_wait(); }
  void warp_barrier() const { state->warp_arrived[thread_ / block_state::warp].arrive_and_wait(); }
  template <int Distance>
  [[nodiscard]] std::uint32_t exchanged(std::uint32_t x) const {
    return exchanged(x, Distance);
  }
  [[nodiscard]] std::uint32_t exchanged(std::uint32_t x, unsigned distance) const {
    EXPECT_TRUE(distance == 0 || threads_ % (2 * distance) == 0) << "a warp would lack threads";
    std::uint32_t* const all = state->words.data();
    fibers::barrier& warp = callers_of_warp();
    all[thread_] = x;
    warp.arrive_and_wait();
    std::uint32_t const other = all[thread_ ^ distance];
    warp.arrive_and_wait();
    return other;
  }
  [[nodiscard]] bool any_of_warp(bool x) const {
    std::uint32_t any = x ? 1 : 0;
    for (unsigned distance = block_state::warp / 2; distance != 0; distance /= 2)
      any |= exchanged(any, distance);
    return any != 0;
  }
  template <class T, int N = 0>
  T* shared() const {
    static constexpr char kind = 0;
    std::size_t const objects = N == 0 ? threads_ : N;
    auto& memory = state->memory[&kind];
    memory.resize(objects * sizeof(T) / sizeof(std::max_align_t) + 1);
    return reinterpret_cast<T*>(memory.data());
  }

  template <int N>
  [[nodiscard]] std::uint32_t* counters() const {
    static_assert(N <= 1024);
    return state->counters.data();
  }

  [[nodiscard]] unsigned char* dynamic_memory() const {
    return reinterpret_cast<unsigned char*>(state->dynamic.data());
  }
  template <class T>
  T* register_address(T* shared) const {
    return shared;
  }

  struct atomics {
    std::uint32_t add(std::uint32_t& word, std::uint32_t x) const {
      return std::atomic_ref(word).fetch_add(x);
    }
    std::uint64_t add(std::uint64_t& word, std::uint64_t x) const {
      return std::atomic_ref(word).fetch_add(x);
    }
    std::uint32_t max(std::uint32_t& word, std::uint32_t x) const {
      std::uint32_t was = std::atomic_ref(word).load();
      while (was < x && !std::atomic_ref(word).compare_exchange_weak(was, x)) {
      }
      return was;
    }
  };

 private:
  // Another warp of the block may not call what exchanges words.
  fibers::barrier& callers_of_warp() const {
    return threads_ % block_state::warp == 0 ? state->warp_arrived[thread_ / block_state::warp]
                                             : state->arrived;
  }
  // A GPU stops a kernel that does otherwise.
  static void expect_aligned(unsigned char const* at, std::size_t bytes) {
    if (reinterpret_cast<std::uintptr_t>(at) % bytes != 0)
      ADD_FAILURE() << "an access of " << bytes << " bytes is not aligned";
  }
};

// The texts of a kernel. One alone compiles in less time than one more for whole tiles.
// kernel_test.cpp and the programs for a GPU have these.
struct one_text {
  static constexpr bool has_one_text = true;
};
struct text_of_whole_tiles {};

// At most `most_blocks` blocks of `block_threads` threads, so that a block may have several tiles.
// Threads of a block run one after another if they need not wait for each other, else as fibers.
template <class Conversions, class Texts = one_text>
class grid_with : public Texts {
 public:
  explicit grid_with(unsigned block_threads = 8, std::uint64_t most_blocks = ~0ULL)
      : threads_(block_threads), most_blocks_(most_blocks) {}

  [[nodiscard]] unsigned threads() const { return threads_; }
  [[nodiscard]] std::size_t shared_bytes(int blocks = 2) const {
    return blocks == 1 ? std::max(shared_bytes_alone, most_shared_bytes) : most_shared_bytes;
  }

  template <class Report, class Call>
  void run(Call const& call) {
    ++launches;
    if constexpr (requires { call.dynamic_bytes; }) {
      dynamic_bytes = call.dynamic_bytes;
      team_threads = Call::team_threads;
    }
    parameter_bytes = std::max(parameter_bytes, sizeof call);
    std::uint64_t const blocks = std::min(call.table.tiles, most_blocks_);
    for (std::uint64_t block = 0; block < blocks; ++block) {
      block_state state(threads_, dynamic_bytes);
      auto const run_one = [&](unsigned thread) {
        call.run(simulated_thread<Conversions>{thread, threads_, block, blocks, &state});
      };
      if constexpr (Call::is_collective) {
        fibers::run(threads_, launches % 2 != 0, run_one);
      } else {
        for (unsigned thread = threads_; thread-- > 0;) run_one(thread);
      }
      bytes_read += state.bytes_read;
      bytes_written += state.bytes_written;
    }
  }
  void copy(void* to, void const* from, std::size_t bytes) {
    ++launches;
    std::memmove(to, from, bytes);
  }
  [[nodiscard]] std::string unreachable(void const* address) const {
    return address == out_of_reach ? "is far away" : "";
  }
  void refuse(std::string const& what) { refused = what; }

  void const* out_of_reach = nullptr;  // for a test to set
  std::string refused;
  int launches = 0;
  std::size_t parameter_bytes = 0;
  // Totals of what the kernels' threads have read and written.
  std::uint64_t bytes_read = 0, bytes_written = 0;
  // The request of the last kernel over rows.
  std::size_t dynamic_bytes = 0;
  unsigned team_threads = 0;
  std::size_t most_shared_bytes = std::size_t{80} << 10;  // for a test to set
  std::size_t shared_bytes_alone = 0;                     // likewise, if that is more
  std::size_t least_rows_of_runs = lowp::simd::sum_lines::least_rows;

 private:
  unsigned threads_;
  std::uint64_t most_blocks_;
};

using simulated_grid = grid_with<documented_conversions>;
using simulated_grid_without_conversions = grid_with<no_conversions>;

// An executor that keeps the error text of a refused call.
template <class Executor>
struct remembering : Executor {
  std::string& wrong;
  void refuse_if(lowp::detail::error_text const& what) const { wrong = what; }
};

// Runs an operation, and returns the error text of a refused call.
template <template <class> class Operation, class Executor, class... Arguments>
std::string refusal_of(Executor const& executor, Arguments&&... arguments) {
  std::string wrong;
  Operation<remembering<Executor>>{{{executor, wrong}}}(std::forward<Arguments>(arguments)...);
  return wrong;
}

}  // namespace lowp_test
