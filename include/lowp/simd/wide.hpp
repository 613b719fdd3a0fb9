// SPDX-License-Identifier: Apache-2.0
// Lanes of double, from widening a pack: for sums and for numbers on their way to float.
#pragma once

#include <lowp/lanes/lanes.hpp>

#include <cstdint>

namespace lowp {

namespace simd {

/// A double for each lane, in two registers.
template <class Isa>
struct wide {
  typedef double vector __attribute__((vector_size(8 * Isa::lanes / 2)));
  typedef std::uint64_t words __attribute__((vector_size(8 * Isa::lanes / 2)));  ///< their bits

  vector v[2];

  wide() = default;
  LOWP_HOST_FN wide(wide const& w) : v{w.v[0], w.v[1]} {}
  LOWP_HOST_FN wide& operator=(wide const& w) {
    v[0] = w.v[0];
    v[1] = w.v[1];
    return *this;
  }
};

}  // namespace simd

LOWP_EXACT_BEGIN

template <class Isa>
struct lane<simd::wide<Isa>> {
  using scalar = double;
  using D = simd::wide<Isa>;
  static constexpr int lanes = Isa::lanes;
  LOWP_HOST_FN static double at(D const& x, int i) { return x.v[i / (lanes / 2)][i % (lanes / 2)]; }
  LOWP_HOST_FN static D broadcast(double x) {
    D d;
    for (auto& half : d.v) Isa::broadcast(half, x);
    return d;
  }
  LOWP_HOST_FN static D add(D const& a, D const& b) {
    D d;
    for (int i = 0; i < 2; ++i) d.v[i] = a.v[i] + b.v[i];
    return hidden(d);
  }
  LOWP_HOST_FN static D sub(D const& a, D const& b) {
    D d;
    for (int i = 0; i < 2; ++i) d.v[i] = a.v[i] - b.v[i];
    return hidden(d);
  }
  LOWP_HOST_FN static D mul(D const& a, D const& b) {
    D d;
    for (int i = 0; i < 2; ++i) d.v[i] = a.v[i] * b.v[i];
    return hidden(d);
  }
  LOWP_HOST_FN static D add_product(D const& sum, D const& a, D const& b) {
    D d;
    for (int i = 0; i < 2; ++i) Isa::add_product(d.v[i], sum.v[i], a.v[i], b.v[i]);
    return hidden(d);
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
  LOWP_HOST_FN static D hidden(D d) {
    for (auto& half : d.v) Isa::hide(half);
    return d;
  }
};

LOWP_EXACT_END

}  // namespace lowp
