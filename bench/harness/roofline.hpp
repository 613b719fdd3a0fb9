// SPDX-License-Identifier: Apache-2.0
// The traffic roofline: loops that move the bytes of an operation and compute next to nothing. What
// the fastest of them reaches is what memory allows.
#pragma once

#include "registers.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <array>
#include <cstddef>
#include <string>
#include <utility>

namespace bench {

enum class access { read, write, read_write };

/// An array that is passed over once, and the bytes of its elements.
template <std::size_t Width, access Access>
struct stream {
  static constexpr std::size_t width = Width;
  static constexpr bool is_read = Access != access::write;
  static constexpr bool is_written = Access != access::read;
  static constexpr std::size_t moved = width * ((is_read ? 1 : 0) + (is_written ? 1 : 0));
  static std::string name() {
    return std::string(is_read ? "r" : "")
        .append(is_written ? "w" : "")
        .append(std::to_string(width));
  }
};

template <class T>
using reads = stream<sizeof(T), access::read>;
template <class T>
using writes = stream<sizeof(T), access::write>;
template <class T>
using changes = stream<sizeof(T), access::read_write>;

/// Plain stores win in cache; which of the three wins from memory depends on the machine. Streaming
/// stores save reading a line that is about to be overwritten; with them, only what is not written
/// is prefetched.
enum class method { plain, streaming, prefetching };

inline char const* name_of(method m) {
  return m == method::plain ? "plain" : m == method::streaming ? "streaming" : "prefetching";
}

/// A vector register.
template <std::size_t Bytes>
struct vector_of {
  typedef long long type __attribute__((vector_size(Bytes), may_alias));
};

template <registers Width, method Method>
struct mover {
  static constexpr std::size_t line = 64;     // bytes that memory moves at once
  static constexpr std::size_t block = line;  // elements per turn: a stream of bytes fills a line
  static constexpr std::size_t ahead = 32 * line;  // far enough for memory, near enough for L1
  static constexpr std::size_t bytes = static_cast<std::size_t>(Width);
  using vector = typename vector_of<bytes>::type;

  template <class Stream>
  __attribute__((always_inline)) static void read(std::byte const* at, vector (&sum)[2]) {
    constexpr bool prefetches =
        Method == method::prefetching || (Method == method::streaming && !Stream::is_written);
    if constexpr (prefetches)
#pragma GCC unroll 16
      for (std::size_t i = 0; i < block * Stream::width; i += line)
        __builtin_prefetch(at + i + ahead, Stream::is_written ? 1 : 0);
    if constexpr (!Stream::is_written)
#pragma GCC unroll 16
      for (std::size_t i = 0; i < block * Stream::width; i += bytes)
        sum[i / bytes % 2] ^= *reinterpret_cast<vector const*>(at + i);
  }

  template <class Stream>
  __attribute__((always_inline)) static void write(std::byte* at, vector const& sum) {
    if constexpr (Stream::is_written)
#pragma GCC unroll 16
      for (std::size_t i = 0; i < block * Stream::width; i += bytes) {
        vector* const to = reinterpret_cast<vector*>(at + i);
        vector value = sum;
        if constexpr (Stream::is_read) value ^= *to;
        if constexpr (Method == method::streaming)
          stream_to(to, value);
        else
          *to = value;
      }
  }

  __attribute__((always_inline)) static void stream_to(vector* to, vector const& value) {
#if defined(__clang__)
    __builtin_nontemporal_store(value, to);
#elif defined(__SSE2__)
    _mm_stream_si128(to, value);
#else
    *to = value;
#endif
  }

  template <class... Stream, std::size_t... I>
  __attribute__((always_inline)) static void all(
      std::array<std::byte*, sizeof...(Stream)> const& streams, std::size_t count,
      std::index_sequence<I...>) {
    auto const at = streams;
    if constexpr ((!Stream::is_written && ...)) {
      vector sum[2] = {};
      for (std::size_t first = 0; first < count; first += block)
        (read<Stream>(at[I] + first * Stream::width, sum), ...);
      asm volatile("" : : "m"(sum));  // so that what is read is used
      return;
    }
    for (std::size_t first = 0; first < count; first += block) {
      vector sum[2] = {};  // reading depends on nothing but memory
      (read<Stream>(at[I] + first * Stream::width, sum), ...);
      sum[0] ^= sum[1];
      (write<Stream>(at[I] + first * Stream::width, sum[0]), ...);
    }
  }
};

/// The memory traffic of an operation.
template <class... Stream>
struct traffic {
  /// Per element, read and written ones counted twice.
  static constexpr std::size_t moved = (Stream::moved + ...);
  /// Per element, in memory.
  static constexpr std::size_t footprint = (Stream::width + ...);
  static constexpr std::size_t streams = sizeof...(Stream);
  static constexpr std::size_t elements = 1;  ///< that a unit of the streams holds
  static constexpr std::array<std::size_t, streams> widths = {Stream::width...};

  /// "r4_w2" reads 4 bytes and writes 2.
  static std::string name() {
    std::string all;
    (all.append(all.empty() ? "" : "_").append(Stream::name()), ...);
    return all;
  }

  /// Moves `count` elements, a multiple of 64, of streams that begin at multiples of 64 bytes.
  template <method Method>
  static void move(registers width, std::array<std::byte*, streams> const& at, std::size_t count) {
    if constexpr (Method == method::streaming) {
      // The bus is the limit, and every machine of this kind has the 16-byte instruction.
      mover<registers::baseline, Method>::template all<Stream...>(
          at, count, std::index_sequence_for<Stream...>{});
#if defined(__SSE2__)
      _mm_sfence();
#endif
    } else {
      run(width, [&]<registers Width>() __attribute__((always_inline)) {
        mover<Width, Method>::template all<Stream...>(at, count,
                                                      std::index_sequence_for<Stream...>{});
      });
    }
  }
};

}  // namespace bench
