// SPDX-License-Identifier: Apache-2.0
// The operands of a row operation, and a thread's part of their rows in its registers.
#pragma once

#include <lowp/cuda/kernel.hpp>
#include <lowp/simd/rows/row_call.hpp>

namespace lowp::cuda {

/// See simd::row_operand.
template <class KernelOperand>
struct row_operand {
  KernelOperand kernel_operand;
  void* data;
  std::uint32_t stride;
  simd::row_repetition rows;
};

/// Returns the place of a row's element e in shared memory, for elements of some bytes. Every other
/// four chunks of 32 bytes have their halves exchanged. So eight threads that access a half of
/// eight successive chunks use each bank once. So do 32 that access successive elements.
template <int Bytes>
LOWP_FN unsigned kept_place(unsigned e) {
  return Bytes == 4 ? e ^ (e >> 3 & 4) : e;
}
/// Floats that one access to shared memory moves.
template <int Count>
struct alignas(4 * Count) floats {
  float x[std::size_t{Count}];
};

/// Chunks of row r of an operand. For random rounding, `encode` needs a place in the whole matrix.
template <class KernelOperand, class Hardware, int Groups>
class row_accessor : public accessor<KernelOperand, true, Hardware, Groups> {
  using base = accessor<KernelOperand, true, Hardware, Groups>;
  using T = typename KernelOperand::type;

 public:
  LOWP_FN row_accessor(row_operand<KernelOperand> const& s, std::uint64_t r,
                       std::uint32_t column = 0)
      : row_accessor(s.kernel_operand,
                     static_cast<T*>(s.data) + s.rows.row(r) * s.stride + column) {}

  /// Goes on to row r. Slot 0 takes what slot 1 has.
  LOWP_FN void move(row_operand<KernelOperand> const& s, std::uint64_t r) {
    base::codes(0) = base::codes(1);
    row_ = static_cast<T*>(s.data) + s.rows.row(r) * s.stride;
    base::move(row_);
  }
  template <class Thread>
  LOWP_FN std::uint32_t code(Thread const& thread, std::uint32_t column) const {
    chunk<T> code;
    code.template load<1>(1, thread, static_cast<T const*>(row_) + column);
    return code.code(0);
  }
  template <class Thread>
  LOWP_FN float element(Thread const& thread, std::uint32_t column) const {
    return base::decoded(code(thread, column));
  }
  /// Stores element k of an encoded chunk.
  LOWP_FN void store_element(auto const& thread, std::uint32_t column, int k) const {
    chunk<T> code;
    code.set(0, base::written_code(k));
    code.template store<1>(1, thread, static_cast<T*>(row_) + column);
  }
  /// Returns the number of elements from the start of a sector of memory to the row.
  LOWP_FN unsigned lead() const {
    constexpr unsigned of_sector = 32 / sizeof(T);
    return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(row_) / sizeof(T)) % of_sector;
  }
  /// Returns the number of elements from the start of an aligned chunk to the row.
  LOWP_FN unsigned lead_in_chunk() const { return lead() % chunk_size; }
  /// Loads the aligned chunk in which a row begins. Its first element stands for those before it.
  LOWP_FN void load_head(int i, auto const& thread) {
    std::uint32_t some = code(thread, 0);
    base::codes(i) = {};
    LOWP_UNROLL_ON_GPU
    for (unsigned k = 0, first = lead_in_chunk(); k < chunk_size; ++k) {
      if (k > first) some = code(thread, k - first);
      base::codes(i).set(static_cast<int>(k), some);
    }
  }
  LOWP_FN void store_head(auto const& thread) const {
    LOWP_UNROLL_ON_GPU
    for (unsigned k = 0, first = lead_in_chunk(); k < chunk_size; ++k)
      if (k >= first) store_element(thread, k - first, static_cast<int>(k));
  }
  /// Copies a row's first elements to shared memory, as floats or in their own type. Zeros fill the
  /// last chunk. Each access of a warp has whole sectors, whatever the row's alignment.
  template <bool MayBeFloats>
  LOWP_FN void copy(auto const& thread, auto const& team, unsigned char* to, unsigned end,
                    [[maybe_unused]] bool as_floats) const {
    constexpr unsigned turn = sizeof(T) <= 4 ? 8 : 4;
    unsigned const threads = team.threads(),
                   whole = (end + chunk_size - 1) / chunk_size * chunk_size;
    for (unsigned first = team.thread() - lead(); first + lead() < whole + lead();
         first += turn * threads) {
      std::uint32_t some[turn] = {};
      LOWP_UNROLL_ON_GPU
      for (unsigned k = 0; k < turn; ++k)
        if (first + k * threads < end) some[k] = code(thread, first + k * threads);
      LOWP_UNROLL_ON_GPU
      for (unsigned k = 0; k < turn; ++k) {
        unsigned const e = first + k * threads;
        if (e >= whole) continue;
        if (MayBeFloats && as_floats)
          reinterpret_cast<float*>(to)[kept_place<4>(e)] = base::decoded(some[k]);
        else
          kept<int{sizeof(T)}>(to, e)->word[0] =
              static_cast<typename piece<int{sizeof(T)}>::word_type>(some[k]);
      }
    }
  }
  // Keep chunk i in shared memory as it was loaded, and return a chunk or an element from it.
  LOWP_FN void keep(int i, unsigned char* row, unsigned e) {
    LOWP_UNROLL_ON_GPU
    for (int at = 0; at < bytes_of_chunk; at += kept_bytes) {
      piece<kept_bytes> some;
      LOWP_UNROLL_ON_GPU
      for (int j = 0; j < kept_bytes; j += 4) some.word[j / 4] = base::codes(i).word((at + j) / 4);
      *kept<kept_bytes>(row, e + static_cast<unsigned>(at / int{sizeof(T)})) = some;
    }
  }
  /// @param more        elements between a chunk's halves, if it has these
  /// @param has_second  false if shared memory lacks the second one
  template <bool HasHalves>
  LOWP_FN void recall(unsigned char* row, unsigned e, unsigned more, bool has_second) {
    constexpr int half = bytes_of_chunk / 2, bytes = HasHalves && half < 16 ? half : kept_bytes;
    LOWP_UNROLL_ON_GPU
    for (int at = 0; at < bytes_of_chunk; at += bytes) {
      bool const is_second = HasHalves && at >= half;
      if (is_second && !has_second) continue;
      auto const some = *kept<bytes>(
          row, e + static_cast<unsigned>(at / int{sizeof(T)}) + (is_second ? more : 0));
      LOWP_UNROLL_ON_GPU
      for (int j = 0; j < bytes; j += 4) base::codes(0).word((at + j) / 4) = some.word[j / 4];
    }
  }
  LOWP_FN static float kept_element(unsigned char* row, unsigned e) {
    return base::decoded(kept<int{sizeof(T)}>(row, e)->word[0]);
  }
  /// Writes a row of one element.
  LOWP_FN void write_one(auto const& thread, float value) {
    float const x[chunk_size] = {value};
    base::encode(thread, x, 0, 1);
    base::template store<sizeof(T)>(thread, 0, 1);
  }

 private:
  static constexpr int bytes_of_chunk = chunk_size * static_cast<int>(sizeof(T));
  static constexpr int kept_bytes = bytes_of_chunk < 16 ? bytes_of_chunk : 16;
  template <int Bytes>
  LOWP_FN static piece<Bytes>* kept(unsigned char* row, unsigned e) {
    return reinterpret_cast<piece<Bytes>*>(row + kept_place<int{sizeof(T)}>(e) * sizeof(T));
  }
  LOWP_FN row_accessor(KernelOperand const& s, void* row) : base(s, &row, 0), row_(row) {}

  void* row_;
};

/// Operands of one kind. There may be none.
template <class Indices, class... KernelOperand>
struct row_operands;
template <std::size_t... K, class... KernelOperand>
struct row_operands<std::index_sequence<K...>, KernelOperand...>
    : indexed<K, row_operand<KernelOperand>>... {
  /// The number of operands, but at least 1, so that arrays may have that size.
  static constexpr int size = sizeof...(K) == 0 ? 1 : sizeof...(K);
  static constexpr int bytes_read = (0 + ... + KernelOperand::bytes_read);
  template <int Bytes>
  static constexpr bool have_bytes = ((sizeof(typename KernelOperand::type) == Bytes) && ...);
  /// The bytes of an element of the first Count operands.
  template <int Count>
  static constexpr unsigned bytes_of =
      (0 + ... + (int{K} < Count ? unsigned{sizeof(typename KernelOperand::type)} : 0));
  using indices = std::index_sequence<K...>;
};

/// A thread's part of a row of these operands, which are read.
template <class Slots, class Hardware, int Groups>
class row_accessors;
template <std::size_t... K, class... KernelOperand, class Hardware, int Groups>
class row_accessors<row_operands<std::index_sequence<K...>, KernelOperand...>, Hardware, Groups>
    : indexed<K, row_accessor<KernelOperand, Hardware, Groups>>... {
  using kernel_operands = row_operands<std::index_sequence<K...>, KernelOperand...>;
  template <std::size_t J, class S>
  using base = indexed<J, row_accessor<S, Hardware, Groups>>;

 public:
  LOWP_FN row_accessors([[maybe_unused]] kernel_operands const& s, [[maybe_unused]] std::uint64_t r)
      : base<K, KernelOperand>{{s.indexed<K, row_operand<KernelOperand>>::value, r}}... {}

  /// Loads a chunk of the operands that have number First or more.
  template <int Width, int First = 0, class Thread>
  LOWP_FN void load([[maybe_unused]] int i, [[maybe_unused]] Thread const& thread,
                    [[maybe_unused]] std::uint32_t column, [[maybe_unused]] int count) {
    ((int{K} < First
          ? void()
          : base<K, KernelOperand>::value.template load<Width>(i, thread, column, count)),
     ...);
  }
  LOWP_FN void load_head(int i, auto const& thread) {
    (base<K, KernelOperand>::value.load_head(i, thread), ...);
  }
  LOWP_FN void move(kernel_operands const& s, [[maybe_unused]] std::uint64_t r) {
    (base<K, KernelOperand>::value.move(s.indexed<K, row_operand<KernelOperand>>::value, r), ...);
  }
  LOWP_FN void decode([[maybe_unused]] auto const& thread, [[maybe_unused]] int i,
                      [[maybe_unused]] float (&x)[kernel_operands::size][chunk_size]) const {
    (base<K, KernelOperand>::value.decode(thread, i, x[K]), ...);
  }
  // Likewise for a row of `room` elements in shared memory that has the first Count operands. As
  // floats, it has all.
  template <int Count, bool MayBeFloats>
  LOWP_FN void copy(auto const& thread, auto const& team, unsigned char* row, unsigned room,
                    unsigned end, bool as_floats) const {
    bool const floats = MayBeFloats && as_floats;
    ((floats || int{K} < Count
          ? base<K, KernelOperand>::value.template copy<MayBeFloats>(
                thread, team,
                row + room * (floats ? unsigned{K * sizeof(float)}
                                     : kernel_operands::template bytes_of<int{K}>),
                end, floats)
          : void()),
     ...);
  }
  template <int Count>
  LOWP_FN void keep(int i, unsigned char* row, unsigned room, unsigned e) {
    ((int{K} < Count ? base<K, KernelOperand>::value.keep(
                           i, row + room * kernel_operands::template bytes_of<int{K}>, e)
                     : void()),
     ...);
  }
  template <int Count, bool HasHalves = false>
  LOWP_FN void recall(unsigned char* row, unsigned room, unsigned e, unsigned more = 0,
                      bool has_second = true) {
    ((int{K} < Count
          ? base<K, KernelOperand>::value.template recall<HasHalves>(
                row + room * kernel_operands::template bytes_of<int{K}>, e, more, has_second)
          : void()),
     ...);
  }
  template <int Count>
  LOWP_FN void kept_element(unsigned char* row, unsigned room, unsigned e, int k,
                            float (&x)[kernel_operands::size][chunk_size]) const {
    ((int{K} < Count ? void(x[K][k] = base<K, KernelOperand>::value.kept_element(
                                row + room * kernel_operands::template bytes_of<int{K}>, e))
                     : void()),
     ...);
  }
  template <int First = 0, class Thread>
  LOWP_FN void load_element([[maybe_unused]] Thread const& thread,
                            [[maybe_unused]] std::uint32_t column, [[maybe_unused]] int k,
                            [[maybe_unused]] float (&x)[kernel_operands::size][chunk_size]) const {
    ((int{K} < First ? void()
                     : void(x[K][k] = base<K, KernelOperand>::value.element(thread, column))),
     ...);
  }
};

}  // namespace lowp::cuda
