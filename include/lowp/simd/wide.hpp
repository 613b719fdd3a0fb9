// SPDX-License-Identifier: Apache-2.0
// Lanes of double, from widening a pack: for sums and for numbers on their way to float.
#pragma once

#include <lowp/lanes/lanes.hpp>

namespace lowp {

namespace simd {

/// Numbers of 64 bits in some registers: in two, a number for each lane.
template <class T, class Isa, int Registers = 2>
struct wide_pack {
  typedef T vector __attribute__((vector_size(8 * Isa::lanes / 2)));

  vector v[std::size_t{Registers}];

  wide_pack() = default;
  LOWP_HOST_FN wide_pack(wide_pack const& other) { *this = other; }
  LOWP_HOST_FN wide_pack& operator=(wide_pack const& w) {
    LOWP_UNROLL
    for (int i = 0; i < Registers; ++i) v[i] = w.v[i];
    return *this;
  }
  LOWP_HOST_FN static wide_pack of(vector const& low, vector const& high) {
    wide_pack w;
    w.v[0] = low;
    w.v[1] = high;
    return w;
  }
  /// Loads register by register, and so does `store`: g++ copies all at once in smaller pieces,
  /// through memory, and the wide load that follows waits for them.
  LOWP_HOST_FN static wide_pack load(T const* from) {
    wide_pack w;
    LOWP_UNROLL
    for (int i = 0; i < Registers; ++i) {
      vector part;
      __builtin_memcpy(&part, from + i * (Isa::lanes / 2), sizeof(part));
      w.v[i] = part;
    }
    return w;
  }
  LOWP_HOST_FN void store(T* to) const {
    LOWP_UNROLL
    for (int i = 0; i < Registers; ++i)
      __builtin_memcpy(to + i * (Isa::lanes / 2), &v[i], sizeof(vector));
  }
};

template <class Isa>
using wide = wide_pack<double, Isa>;
template <class Isa>
using wide_word = wide_pack<std::uint64_t, Isa>;

// clang-format off
template <class K> LOWP_HOST_FN wide_word<K> operator+(wide_word<K> const& a, wide_word<K> const& b) { return wide_word<K>::of(a.v[0] + b.v[0], a.v[1] + b.v[1]); }
template <class K> LOWP_HOST_FN wide_word<K> operator-(wide_word<K> const& a, wide_word<K> const& b) { return wide_word<K>::of(a.v[0] - b.v[0], a.v[1] - b.v[1]); }
template <class K> LOWP_HOST_FN wide_word<K> operator|(wide_word<K> const& a, wide_word<K> const& b) { return wide_word<K>::of(a.v[0] | b.v[0], a.v[1] | b.v[1]); }
template <class K> LOWP_HOST_FN wide_word<K> operator+(wide_word<K> const& a, std::uint64_t b) { return wide_word<K>::of(a.v[0] + b, a.v[1] + b); }
template <class K> LOWP_HOST_FN wide_word<K> operator-(wide_word<K> const& a, std::uint64_t b) { return wide_word<K>::of(a.v[0] - b, a.v[1] - b); }
template <class K> LOWP_HOST_FN wide_word<K> operator&(wide_word<K> const& a, std::uint64_t b) { return wide_word<K>::of(a.v[0] & b, a.v[1] & b); }
template <class K> LOWP_HOST_FN wide_word<K> operator^(wide_word<K> const& a, std::uint64_t b) { return wide_word<K>::of(a.v[0] ^ b, a.v[1] ^ b); }
template <class K> LOWP_HOST_FN wide_word<K> operator<<(wide_word<K> const& a, int b) { return wide_word<K>::of(a.v[0] << b, a.v[1] << b); }
template <class K> LOWP_HOST_FN wide_word<K> operator>>(wide_word<K> const& a, int b) { return wide_word<K>::of(a.v[0] >> b, a.v[1] >> b); }
// clang-format on

}  // namespace simd

/// Its masks are words too, of ones and of zeros.
template <class Isa>
struct lane<simd::wide_word<Isa>> {
  using scalar = std::uint64_t;
  using W = simd::wide_word<Isa>;
  LOWP_HOST_FN static W broadcast(std::uint64_t x) {
    W w;
    for (auto& half : w.v) Isa::broadcast(half, x);
    return w;
  }
  LOWP_HOST_FN static W select(W const& mask, W const& yes, W const& no) {
    W w;
    for (int i = 0; i < 2; ++i) w.v[i] = (mask.v[i] & yes.v[i]) | (~mask.v[i] & no.v[i]);
    return w;
  }
};

LOWP_EXACT_BEGIN

template <class Isa>
struct lane<simd::wide<Isa>> {
  using scalar = double;
  using D = simd::wide<Isa>;
  using word = simd::wide_word<Isa>;
  static constexpr int lanes = Isa::lanes;
  LOWP_HOST_FN static word bits(D const& x) {
    return word::of(typename word::vector(x.v[0]), typename word::vector(x.v[1]));
  }
  LOWP_HOST_FN static D from_bits(word const& b) {
    return D::of(typename D::vector(b.v[0]), typename D::vector(b.v[1]));
  }
  LOWP_HOST_FN static double at(D const& x, int i) { return x.v[i / (lanes / 2)][i % (lanes / 2)]; }
  LOWP_HOST_FN static D broadcast(double x) {
    D d;
    for (auto& half : d.v) Isa::broadcast(half, x);
    return d;
  }
  LOWP_HOST_FN static D add(D const& a, D const& b) {
    return isolated(D::of(a.v[0] + b.v[0], a.v[1] + b.v[1]));
  }
  LOWP_HOST_FN static D sub(D const& a, D const& b) {
    return isolated(D::of(a.v[0] - b.v[0], a.v[1] - b.v[1]));
  }
  LOWP_HOST_FN static D add_product(D const& sum, D const& a, D const& b) {
    D d;
    for (int i = 0; i < 2; ++i) Isa::add_product(d.v[i], sum.v[i], a.v[i], b.v[i]);
    return isolated(d);
  }
  /// Returns each lane exchanged with the one whose number differs in this bit.
  template <int Bit>
  LOWP_HOST_FN static D exchanged(D const& x) {
    D d;
    for (int i = 0; i < 2; ++i) {
      if constexpr (Bit == lanes / 2)
        d.v[i] = x.v[1 - i];
      else
        Isa::template exchange<2 * Bit>(d.v[i], x.v[i]);
    }
    return d;
  }

 private:
  LOWP_HOST_FN static D isolated(D d) {
    for (auto& half : d.v) Isa::hide(half);
    return d;
  }
};

LOWP_EXACT_END

}  // namespace lowp
