// SPDX-License-Identifier: Apache-2.0
// The unit that a GPU thread moves: the codes of eight successive elements.
#pragma once

#include <lowp/format/nonfinite_codes.hpp>
#include <lowp/simd/operand.hpp>

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

/// Returns the bytes of an access to elements of T at pointers aligned to `width`, at least to T.
template <class T>
LOWP_FN constexpr int access_bytes(int width) {
  constexpr int element = sizeof(T), all = chunk_size * element;
  return width < element ? element : width < all ? width : all;
}

/// The width for accesses to chunks in runs of 8 / `runs` elements, aligned to 16 bytes. Between
/// two runs lie those of the warp's other threads, so that a warp's stores cover whole lines:
///
///     | thread 0, run 0 | thread 1, run 0 | ... | thread 0, run 1 | ...
LOWP_FN constexpr int width_in_runs(int runs) { return runs == 1 ? 16 : runs << 8; }
LOWP_FN constexpr int runs_of(int width) { return width < 1 << 8 ? 1 : width >> 8; }

/// The widths for which kernels have code; the least means element by element.
inline constexpr int widths[] = {16, 4, 1};

/// Calls body(std::integral_constant<int, width>{}), in host code or in a kernel.
#if defined(__CUDACC__)
#pragma nv_exec_check_disable
#endif
LOWP_FN void with_width(int width, auto const& body) {
  if (width == 16)
    body(std::integral_constant<int, 16>{});
  else if (width == 4)
    body(std::integral_constant<int, 4>{});
  else
    body(std::integral_constant<int, 1>{});
}

/// Returns the threads of a warp, fewer in a block of fewer.
LOWP_FN unsigned warp_threads_of(auto const& thread) {
  return thread.threads() < 32 ? thread.threads() : 32;
}

/// Memory that one instruction moves.
template <int Bytes>
struct alignas(Bytes) piece {
  using word_type =
      std::conditional_t<Bytes == 1, std::uint8_t,
                         std::conditional_t<Bytes == 2, std::uint16_t, std::uint32_t>>;
  word_type word[std::size_t{(Bytes + 3) / 4}];
};

/// The bytes of a chunk in registers, as they lie in memory.
template <int Size>
struct chunk_bytes {
  std::uint32_t word[std::size_t{(Size + 3) / 4}] = {};

  /// Returns the place of a piece of a chunk in runs.
  template <int Bytes, int Runs>
  LOWP_FN static int place_of(int i, auto const& thread) {
    constexpr int run = Size / Runs;
    int const between = Runs == 1 ? 0 : static_cast<int>(warp_threads_of(thread)) - 1;
    return i * Bytes + i * Bytes / run * run * between;
  }
  /// Loads the first `count` pieces; the others become zero. `store` does not store these.
  template <int Bytes, int Runs = 1>
  LOWP_FN void load(int count, auto const& thread, void const* at) {
    *this = {};
    LOWP_UNROLL_ON_GPU
    for (int i = 0; i < Size / Bytes; ++i) {
      if (i >= count) continue;
      auto const from = thread.template read<piece<Bytes>>(static_cast<unsigned char const*>(at) +
                                                           place_of<Bytes, Runs>(i, thread));
      LOWP_UNROLL_ON_GPU
      for (int j = 0; j < Bytes; j += 4)
        word[(i * Bytes + j) / 4] |= std::uint32_t{from.word[j / 4]} << i * Bytes % 4 * 8;
    }
  }
  template <int Bytes, int Runs = 1>
  LOWP_FN void store(int count, auto const& thread, void* at) const {
    LOWP_UNROLL_ON_GPU
    for (int i = 0; i < Size / Bytes; ++i) {
      if (i >= count) continue;
      piece<Bytes> to;
      LOWP_UNROLL_ON_GPU
      for (int j = 0; j < Bytes; j += 4)
        to.word[j / 4] = static_cast<typename piece<Bytes>::word_type>(word[(i * Bytes + j) / 4] >>
                                                                       i * Bytes % 4 * 8);
      thread.write(static_cast<unsigned char*>(at) + place_of<Bytes, Runs>(i, thread), to);
    }
  }

  /// Likewise for pieces of Part bytes. If these are all, pieces of Whole bytes replace them.
  template <int Whole, int Part>
  LOWP_FN void load_any(int count, auto const& thread, void const* at) {
    if (Whole != Part && count == Size / Part)
      load<Whole>(Size / Whole, thread, at);
    else
      load<Part>(count, thread, at);
  }
};

/// Eight codes in registers. `load` and `store` take the first `count` elements, which may be all,
/// at a pointer that is aligned to `Width`; the others become zero.
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
      return bytes_.word[2 * k] | code_type{bytes_.word[2 * k + 1]} << 32;
    else
      return bytes_.word[k / per_word] >> (k % per_word * element_bits) &
             (~0u >> (32 - element_bits));
  }
  /// Sets a code that is still zero, or two narrow ones for even k.
  LOWP_FN void set(int k, code_type code) {
    if constexpr (is_long) {
      bytes_.word[2 * k] = static_cast<std::uint32_t>(code);
      bytes_.word[2 * k + 1] = static_cast<std::uint32_t>(code >> 32);
    } else {
      bytes_.word[k / per_word] |= code << (k % per_word * element_bits);
    }
  }
  LOWP_FN std::uint32_t& word(int i) { return bytes_.word[i]; }
  /// Returns two narrow codes at once, for even k.
  LOWP_FN std::uint32_t pair(int k) const {
    return bytes_.word[k / per_word] >> (k % per_word * element_bits) &
           (element_bytes == 1 ? 0xffff : 0xffffffff);
  }
  /// Returns the bytes with the signs of every other code of 16 bits, beginning with code 0 or 1.
  LOWP_FN std::uint32_t signs(int i) const { return lane<code_type>::high_bytes(bytes_.word, i); }
  /// Returns true if a narrow code's magnitude is Least or more: then a sum sets the sign's bit.
  template <std::uint32_t Least>
  LOWP_FN bool has_magnitude() const {
    constexpr std::uint32_t ones = element_bits == 8 ? 0x01010101 : 0x00010001;
    constexpr std::uint32_t sign = std::uint32_t{1} << (element_bits - 1);
    std::uint32_t seen = 0;
    LOWP_UNROLL_ON_GPU
    for (std::uint32_t const word : bytes_.word)
      seen |= (word & (sign - 1) * ones) + (sign - Least) * ones;
    return (seen & sign * ones) != 0;
  }

  /// Returns false if all codes are finite values.
  LOWP_FN bool may_be_nonfinite() const {
    std::uint32_t found = 0;
    LOWP_UNROLL_ON_GPU
    for (std::uint32_t const word : bytes_.word) found |= detail::nonfinite_codes<T>(word);
    return found != 0;
  }

  template <int Width>
  LOWP_FN void load(int count, auto const& thread, T const* at) {
    if constexpr (runs_of(Width) > 1)
      bytes_.template load<piece_of_run<Width>, runs_of(Width)>(chunk_size, thread, at);
    else
      bytes_.template load_any<access_bytes<T>(Width), element_bytes>(count, thread, at);
  }
  template <int Width>
  LOWP_FN void store(int count, auto const& thread, T* at) const {
    constexpr int whole = access_bytes<T>(Width);
    if constexpr (runs_of(Width) > 1)
      bytes_.template store<piece_of_run<Width>, runs_of(Width)>(chunk_size, thread, at);
    else if (whole != element_bytes && count == chunk_size)
      bytes_.template store<whole>(chunk_size * element_bytes / whole, thread, at);
    else
      bytes_.template store<element_bytes>(count, thread, at);
  }

 private:
  template <int Width, int Run = chunk_size * element_bytes / runs_of(Width)>
  static constexpr int piece_of_run = Run < 16 ? Run : 16;

  chunk_bytes<chunk_size * element_bytes> bytes_;
};

/// Eight packed codes in registers, as they lie in memory: four or six bytes of this chunk alone.
template <class T>
class chunk<T, pair_order> {
  static constexpr int bits = T::descriptor.bits();
  using word_type = std::conditional_t<bits == 4, std::uint32_t, std::uint64_t>;
  using bytes = chunk_bytes<bits>;

 public:
  LOWP_FN std::uint32_t code(int k) const {
    return static_cast<std::uint32_t>(codes_ >> bits * k) & T::descriptor.code_mask();
  }
  /// Sets a code that is still zero.
  LOWP_FN void set(int k, std::uint32_t code) { codes_ |= word_type{code} << bits * k; }
  LOWP_FN void set_nibbles(std::uint32_t nibbles) { codes_ = nibbles; }

  template <int Width>
  LOWP_FN void load(int count, auto const& thread, std::uint8_t const* at) {
    bytes loaded;
    if constexpr (runs_of(Width) > 1)
      loaded.template load<bits / runs_of(Width), runs_of(Width)>(bits, thread, at);
    else
      loaded.template load_any<whole<Width>, 1>((bits * count + 7) >> 3, thread, at);
    codes_ = __builtin_bit_cast(word_type, loaded) & codes_of_first(count);
  }
  template <int Width>
  LOWP_FN void store(int count, auto const& thread, std::uint8_t* at) const {
    if (count == chunk_size)
      __builtin_bit_cast(bytes, codes_)
          .template store<whole<Width>>(bits / whole<Width>, thread, at);
    else
      __builtin_bit_cast(bytes, codes_ & codes_of_first(count))
          .template store<1>((bits * count + 7) >> 3, thread, at);
  }

 private:
  // A chunk of six bytes is aligned to two.
  template <int Width>
  static constexpr int whole = Width == 1  ? 1
                               : bits == 4 ? 4
                                           : 2;

  LOWP_FN static word_type codes_of_first(int count) {
    return count == chunk_size ? ~word_type{0} : (word_type{1} << bits * count) - 1;
  }

  word_type codes_ = 0;
};

/// Eight codes of split_order in registers, a byte each: all, or none. Two threads, two apart,
/// share eight bytes: one has the low halves, and the other the high ones. Each stores four bytes.
template <class T>
class chunk<T, split_order> {
 public:
  LOWP_FN std::uint32_t code(int k) const { return halves_.word[k / 4] >> k % 4 * 8 & 15; }
  /// Sets a code that is still zero.
  LOWP_FN void set(int k, std::uint32_t code) { halves_.word[k / 4] |= code << k % 4 * 8; }
  LOWP_FN void set_nibbles(std::uint32_t nibbles) {
    LOWP_UNROLL_ON_GPU
    for (int k = 0; k < chunk_size; ++k) set(k, nibbles >> 4 * k & 15);
  }

  template <int Width>
  LOWP_FN void load(int count, auto const& thread, std::uint8_t const* at) {
    halves_ = {};
    if (count != 0) halves_.template load<whole<Width>>(chunk_size, thread, at);
    LOWP_UNROLL_ON_GPU
    for (std::uint32_t& word : halves_.word) word = word >> (is_high(thread) ? 4 : 0) & 0x0f0f0f0f;
  }
  /// The other thread must call this, too.
  template <int Width>
  LOWP_FN void store(int count, auto const& thread, std::uint8_t* at) const {
    bool const high = is_high(thread);
    auto const& [low_half, high_half] = halves_.word;
    std::uint32_t const other = thread.template exchanged<2>(high ? low_half : high_half);
    chunk_bytes<4> const both{{high ? other | high_half << 4 : low_half | other << 4}};
    if (count != 0) both.template store<whole<Width>>(chunk_size, thread, at + (high ? 4 : 0));
  }

 private:
  template <int Width>
  static constexpr int whole = Width >= 4 ? 4 : 1;

  LOWP_FN static bool is_high(auto const& thread) { return thread.thread() / 2 % 2 != 0; }

  chunk_bytes<chunk_size> halves_;
};

}  // namespace lowp::cuda
