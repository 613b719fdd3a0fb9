// SPDX-License-Identifier: Apache-2.0
// A histogram of exponents at the speed of memory. Exponents are laid aside as bytes; of a few
// thousand, which are rarely of more than twenty kinds, each kind is counted by comparing as many
// bytes at once as a register holds. Adding to a counter in memory for each is several times slower.
#pragma once

#include <lowp/simd/pack.hpp>

#include <cstddef>
#include <cstdint>

namespace lowp::simd {

/// As many T as a register has room for.
template <class T, class Isa>
struct filled_register {
  typedef T vector __attribute__((vector_size((Isa::lanes < 8 ? 16 : 32) / sizeof(T) * sizeof(T))));
};

/// Of the exponent fields of binary32, but those of all zeros or ones: those are the caller's.
template <class Isa>
class exponent_tally {
 public:
  static constexpr int kinds = 256;
  struct room;

  LOWP_HOST_FN explicit exponent_tally(room& r) : bytes_(r.bytes), tables_(r.tables) {}

  LOWP_HOST_FN void add(word<Isa> const& magnitude) {
    (magnitude >> 23).store(bytes_ + filled_);
    filled_ += Isa::lanes;
  }
  /// After every batch.
  LOWP_HOST_FN void fold() {
    if (filled_ == size) count();
  }
  /// counts[i] += how many had the exponent field i, of 1 to 254.
  LOWP_HOST_FN void add_to(std::uint64_t* counts) {
    count_each(filled_);
    for (int t = 0; t < copies; ++t)
      for (int i = 1; i < kinds - 1; ++i) counts[i] += tables_[t][i];
  }

 private:
  // So few that a byte holds how often a lane has seen one kind.
  static constexpr int width = Isa::lanes < 8 ? 16 : 32, size = 128 * width, at_once = 4,
                       copies = 4;
  using vector = typename filled_register<std::uint8_t, Isa>::vector;
  using sums = typename filled_register<std::uint64_t, Isa>::vector;
  static_assert(size % width == 0 && size / width < 256);

 public:
  /// Outside, because registers whose neighbours in memory are written through pointers would be kept
  /// there too.
  struct room {
    alignas(64) std::uint8_t bytes[size];
    std::uint64_t tables[copies][kinds] = {};
  };

 private:
  LOWP_HOST_FN static void load(vector& v, std::uint8_t const* from) {
    __builtin_memcpy(&v, from, sizeof(v));
  }

  LOWP_HOST_FN void count() {
    filled_ = 0;
    vector most = {}, least = most - 1;
    for (int i = 0; i < size; i += width) {
      vector x;
      load(x, bytes_ + i);
      vector const one_less = x - 1;  // where zero comes last
      most = x > most ? x : most;
      least = one_less < least ? one_less : least;
    }
    int first = kinds - 1, last = 0;
    for (int i = 0; i < width; ++i) {
      first = least[i] + 1 < first ? least[i] + 1 : first;
      last = most[i] > last ? most[i] : last;
    }
    if (last == kinds - 1 || last - first >= width)
      count_each(size);
    else
      for (int kind = first; kind <= last; kind += at_once) count_kinds(kind);
  }

  LOWP_HOST_FN void count_kinds(int first) {
    vector seen[at_once] = {}, kind[at_once];
    for (int k = 0; k < at_once; ++k)
      Isa::spread(kind[k], static_cast<std::uint8_t>(first + k < kinds ? first + k : 0));
    for (int i = 0; i < size; i += width) {
      vector x;
      load(x, bytes_ + i);
      LOWP_UNROLL
      for (int k = 0; k < at_once; ++k) seen[k] -= (vector)(x == kind[k]);
    }
    for (int k = 0; k < at_once; ++k)
      if (first + k < kinds) tables_[0][first + k] += total(seen[k]);
  }
  LOWP_HOST_FN static std::uint64_t total(vector const& bytes) {
    constexpr std::uint64_t low_halves = 0x00ff00ff00ff00ff, ones = 0x0001000100010001;
    auto const wide = (sums)bytes;
    sums const pairs = (wide & low_halves) + (wide >> 8 & low_halves);
    std::uint64_t sum = 0;
    for (int i = 0; i < width / 8; ++i) sum += pairs[i];
    return sum * ones >> 48;
  }

  /// Several tables, because equal exponents in a row would wait for each other.
  LOWP_HOST_FN void count_each(int count) {
    static_assert(Isa::lanes % copies == 0);
    for (int i = 0; i < count; i += copies)
      for (int t = 0; t < copies; ++t) ++tables_[t][bytes_[i + t]];
  }

  std::uint8_t* bytes_;
  std::uint64_t (*tables_)[kinds];
  int filled_ = 0;
};

}  // namespace lowp::simd
