// SPDX-License-Identifier: Apache-2.0
// The unit that a GPU thread moves: the codes of eight successive elements.
#pragma once

#include <lowp/format/basic_float.hpp>
#include <lowp/simd/operand.hpp>

#include <cstdint>
#include <span>
#include <type_traits>

namespace lowp::cuda {

/// The elements of a chunk: as many as share one Philox block.
inline constexpr int chunk_size = static_cast<int>(random_source::elements_per_block);

/// The first element of a thread's chunk: that of pass 0, and what its pass adds. Compilers know
/// the latter, so that all passes share an address.
struct chunk_place {
  std::uint64_t of_first_pass;
  std::uint32_t further;

  LOWP_FN chunk_place(std::uint64_t of_first, std::uint32_t more = 0)
      : of_first_pass(of_first), further(more) {}
  LOWP_FN operator std::uint64_t() const { return of_first_pass + further; }
};

/// Returns the bytes of one access to elements of T at pointers that are aligned to `width`. Every
/// pointer is aligned to one element.
template <class T>
LOWP_FN constexpr int access_bytes(int width) {
  constexpr int element = sizeof(T), all = chunk_size * element;
  return width < element ? element : width < all ? width : all;
}

/// The widths for which kernels have code; the least means element by element.
inline constexpr int widths[] = {16, 4, 1};

/// Calls body(std::integral_constant<int, width>{}), in host code or in a kernel.
#if defined(__CUDACC__)
#pragma nv_exec_check_disable
#endif
template <int I = 0, class Body>
LOWP_FN void with_width(int width, Body const& body) {
  using candidate = std::integral_constant<int, widths[I]>;
  if constexpr (I + 1 == std::size(widths))
    body(candidate{});
  else if (width == candidate::value)
    body(candidate{});
  else
    with_width<I + 1>(width, body);
}

/// Eight codes in registers:
///
///     64 bits  | 0   0 | 1   1 | ...               sixteen words
///     32 bits  | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 |   eight
///     16 bits  | 1 0 | 3 2 | 5 4 | 7 6 |           four
///     8 bits   | 3 2 1 0 | 7 6 5 4 |               two
template <class T, class Order = simd::unpacked>
class chunk {
  static constexpr int element_bytes = sizeof(T);
  static constexpr int element_bits = 8 * element_bytes;
  static constexpr bool is_long = element_bytes == 8;
  static constexpr int per_word = is_long ? 1 : 4 / element_bytes;

 public:
  using code_type = std::conditional_t<is_long, std::uint64_t, std::uint32_t>;

  LOWP_FN code_type code(int k) const {
    if constexpr (is_long)
      return word_[2 * k] | code_type{word_[2 * k + 1]} << 32;
    else
      return word_[k / per_word] >> (k % per_word * element_bits) & mask;
  }
  /// Sets a code that is still zero, or two narrow ones for even k.
  LOWP_FN void set(int k, code_type code) {
    if constexpr (is_long) {
      word_[2 * k] = static_cast<std::uint32_t>(code);
      word_[2 * k + 1] = static_cast<std::uint32_t>(code >> 32);
    } else {
      word_[k / per_word] |= code << (k % per_word * element_bits);
    }
  }
  /// Returns two narrow codes at once, for even k.
  LOWP_FN std::uint32_t pair(int k) const {
    return word_[k / per_word] >> (k % per_word * element_bits) & pair_mask;
  }
  /// Returns the bytes with the signs of every other code, beginning with code 0 or 1.
  LOWP_FN std::uint32_t signs(int i) const
    requires(element_bytes == 2)
  {
    return lane<code_type>::high_bytes(word_, i);
  }
  /// Returns true if a narrow code's magnitude is Least or more: adding the rest up to the sign's
  /// bit sets that bit.
  template <std::uint32_t Least>
  LOWP_FN bool has_magnitude() const {
    constexpr std::uint32_t ones = element_bits == 8 ? 0x01010101 : 0x00010001;
    constexpr std::uint32_t sign = std::uint32_t{1} << (element_bits - 1);
    std::uint32_t seen = 0;
    LOWP_UNROLL_ON_GPU
    for (std::uint32_t const word : word_)
      seen |= (word & (sign - 1) * ones) + (sign - Least) * ones;
    return (seen & sign * ones) != 0;
  }

  template <int Bytes, class Thread>
  LOWP_FN void load(Thread const& thread, T const* at) {
    *this = {};
    LOWP_UNROLL_ON_GPU
    for (int i = 0; i < chunk_size * element_bytes / Bytes; ++i) {
      auto const bytes = thread.template read<access<Bytes>>(bytes_of(at) + i * Bytes);
      if constexpr (Bytes >= 4) {
        LOWP_UNROLL_ON_GPU
        for (int j = 0; j < Bytes / 4; ++j) word_[i * (Bytes / 4) + j] = bytes.word[j];
      } else {
        word_[i * Bytes / 4] |= std::uint32_t{bytes.part} << (i * Bytes % 4 * 8);
      }
    }
  }
  template <int Bytes, class Thread>
  LOWP_FN void store(Thread const& thread, T* at) const {
    LOWP_UNROLL_ON_GPU
    for (int i = 0; i < chunk_size * element_bytes / Bytes; ++i) {
      access<Bytes> bytes;
      if constexpr (Bytes >= 4) {
        LOWP_UNROLL_ON_GPU
        for (int j = 0; j < Bytes / 4; ++j) bytes.word[j] = word_[i * (Bytes / 4) + j];
      } else {
        bytes.part = static_cast<decltype(bytes.part)>(word_[i * Bytes / 4] >> (i * Bytes % 4 * 8));
      }
      thread.write(bytes_of(at) + i * Bytes, bytes);
    }
  }

  /// Loads the first `count` elements; the others become zero. store_first does not store these.
  LOWP_FN void load_first(int count, auto const& thread, T const* at) {
    *this = {};
    LOWP_UNROLL_ON_GPU
    for (int k = 0; k < chunk_size; ++k)
      if (k < count) set(k, thread.template read<whole>(bytes_of(at + k)));
  }
  LOWP_FN void store_first(int count, auto const& thread, T* at) const {
    LOWP_UNROLL_ON_GPU
    for (int k = 0; k < chunk_size; ++k)
      if (k < count) thread.write(bytes_of(at + k), static_cast<whole>(code(k)));
  }

  /// Loads the first `count` elements, which may be all. Pointers are aligned to `Width`.
  template <int Width, class Thread>
  LOWP_FN void load(int count, Thread const& thread, T const* at) {
    if (count == chunk_size)
      load<access_bytes<T>(Width)>(thread, at);
    else
      load_first(count, thread, at);
  }
  template <int Width, class Thread>
  LOWP_FN void store(int count, Thread const& thread, T* at) const {
    if (count == chunk_size)
      store<access_bytes<T>(Width)>(thread, at);
    else
      store_first(count, thread, at);
  }

 private:
  using whole =
      std::conditional_t<element_bytes >= 4, code_type,
                         std::conditional_t<element_bytes == 2, std::uint16_t, std::uint8_t>>;
  static constexpr code_type mask = static_cast<whole>(-1);
  static constexpr std::uint32_t pair_mask = element_bytes == 1 ? 0xffff : 0xffffffff;

  LOWP_FN static unsigned char const* bytes_of(T const* at) {
    return reinterpret_cast<unsigned char const*>(at);
  }
  LOWP_FN static unsigned char* bytes_of(T* at) { return reinterpret_cast<unsigned char*>(at); }

  // Memory that one instruction moves.
  template <int Bytes>
  struct alignas(Bytes) words {
    std::uint32_t word[std::size_t{Bytes / 4}];
  };
  template <int Bytes>
  struct alignas(Bytes) piece {
    std::conditional_t<Bytes == 2, std::uint16_t, std::uint8_t> part;
  };
  template <int Bytes>
  using access = std::conditional_t < (Bytes >= 4),
        words<Bytes<4 ? 4 : Bytes>, piece<Bytes >= 4 ? 2 : Bytes>>;

  std::uint32_t word_[std::size_t{chunk_size * element_bytes / 4}] = {};
};

/// Eight packed codes in registers, as they lie in memory: four or six bytes. Two chunks share no
/// byte.
template <class T>
class chunk<T, pair_order> {
  static constexpr int bits = T::descriptor.bits();
  using word_type = std::conditional_t<bits == 4, std::uint32_t, std::uint64_t>;

 public:
  LOWP_FN std::uint32_t code(int k) const {
    return static_cast<std::uint32_t>(codes_ >> bits * k) & T::descriptor.code_mask();
  }
  /// Sets a code that is still zero.
  LOWP_FN void set(int k, std::uint32_t code) { codes_ |= word_type{code} << bits * k; }
  LOWP_FN void set_nibbles(std::uint32_t nibbles) { codes_ = nibbles; }

  /// Loads the first `count` elements, which may be all. Pointers are aligned to `Width`.
  template <int Width, class Thread>
  LOWP_FN void load(int count, Thread const& thread, std::uint8_t const* at) {
    codes_ = 0;
    if (count == chunk_size)
      load_pieces<piece<Width>>(chunk_size, thread, at);
    else
      load_pieces<std::uint8_t>(count, thread, at);
    codes_ &= codes_of_first(count);
  }
  template <int Width, class Thread>
  LOWP_FN void store(int count, Thread const& thread, std::uint8_t* at) const {
    if (count == chunk_size)
      store_pieces<piece<Width>>(chunk_size, thread, at);
    else
      store_pieces<std::uint8_t>(count, thread, at);
  }

 private:
  // A chunk of six bytes is aligned to two.
  template <int Width>
  using piece = std::conditional_t<Width == 1, std::uint8_t,
                                   std::conditional_t<bits == 4, std::uint32_t, std::uint16_t>>;

  template <class Piece, class Thread>
  LOWP_FN void load_pieces(int count, Thread const& thread, std::uint8_t const* at) {
    constexpr int size = sizeof(Piece);
    LOWP_UNROLL_ON_GPU
    for (int i = 0; i < bits; i += size)
      if (8 * i < bits * count) codes_ |= word_type{thread.template read<Piece>(at + i)} << 8 * i;
  }
  template <class Piece, class Thread>
  LOWP_FN void store_pieces(int count, Thread const& thread, std::uint8_t* at) const {
    constexpr int size = sizeof(Piece);
    word_type const first = codes_ & codes_of_first(count);
    LOWP_UNROLL_ON_GPU
    for (int i = 0; i < bits; i += size)
      if (8 * i < bits * count) thread.write(at + i, static_cast<Piece>(first >> 8 * i));
  }
  LOWP_FN static word_type codes_of_first(int count) {
    return count == chunk_size ? ~word_type{0} : (word_type{1} << bits * count) - 1;
  }

  word_type codes_ = 0;
};

/// Eight codes of split_order in registers, a byte each. Two threads, two apart, share eight bytes:
/// one has the low halves, and the other the high ones. Each stores four bytes.
template <class T>
class chunk<T, split_order> {
 public:
  LOWP_FN std::uint32_t code(int k) const { return word_[k / 4] >> k % 4 * 8 & 15; }
  /// Sets a code that is still zero.
  LOWP_FN void set(int k, std::uint32_t code) { word_[k / 4] |= code << k % 4 * 8; }
  LOWP_FN void set_nibbles(std::uint32_t nibbles) {
    LOWP_UNROLL_ON_GPU
    for (int k = 0; k < chunk_size; ++k) set(k, nibbles >> 4 * k & 15);
  }

  /// Loads all elements, or none. Pointers are aligned to `Width`.
  template <int Width, class Thread>
  LOWP_FN void load(int count, Thread const& thread, std::uint8_t const* at) {
    LOWP_UNROLL_ON_GPU
    for (int i = 0; i < 2; ++i)
      word_[i] =
          count == 0 ? 0 : read<Width>(thread, at + 4 * i) >> (is_high(thread) ? 4 : 0) & low;
  }
  /// Stores likewise. The other thread must call this, too.
  template <int Width, class Thread>
  LOWP_FN void store(int count, Thread const& thread, std::uint8_t* at) const {
    bool const high = is_high(thread);
    std::uint32_t const other = thread.template exchanged<2>(high ? word_[0] : word_[1]);
    if (count == 0) return;
    std::uint32_t const both = high ? other | word_[1] << 4 : word_[0] | other << 4;
    using piece = std::conditional_t<(Width >= 4), std::uint32_t, std::uint8_t>;
    LOWP_UNROLL_ON_GPU
    for (int i = 0; i < 4; i += static_cast<int>(sizeof(piece)))
      thread.write(at + (high ? 4 : 0) + i, static_cast<piece>(both >> 8 * i));
  }

 private:
  static constexpr std::uint32_t low = 0x0f0f0f0f;

  LOWP_FN static bool is_high(auto const& thread) { return thread.thread() / 2 % 2 != 0; }
  template <int Width, class Thread>
  LOWP_FN static std::uint32_t read(Thread const& thread, std::uint8_t const* at) {
    using piece = std::conditional_t<(Width >= 4), std::uint32_t, std::uint8_t>;
    std::uint32_t word = 0;
    LOWP_UNROLL_ON_GPU
    for (int i = 0; i < 4; i += static_cast<int>(sizeof(piece)))
      word |= std::uint32_t{thread.template read<piece>(at + i)} << 8 * i;
    return word;
  }

  std::uint32_t word_[2] = {};
};

}  // namespace lowp::cuda
