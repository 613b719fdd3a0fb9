// SPDX-License-Identifier: Apache-2.0
// A lane that computes as packs and GPU threads do: additions and multiplications of floats replace
// some integer code. The codec's templates run on it unchanged, and their IR stays scalar.
#pragma once

#include <lowp/value.hpp>

#include <cstdint>
#include <type_traits>

struct word_of_pack {
  std::uint32_t v;

  constexpr word_of_pack() = default;
  constexpr word_of_pack(std::uint32_t x) : v(x) {}
};
struct real_of_pack {
  float v;
};

#define OPERATOR(op)                                                   \
  constexpr word_of_pack operator op(word_of_pack a, word_of_pack b) { \
    return static_cast<std::uint32_t>(a.v op b.v);                     \
  }
OPERATOR(+)
OPERATOR(-)
OPERATOR(*)
OPERATOR(&)
OPERATOR(|)
OPERATOR(^)
OPERATOR(<<)
OPERATOR(>>)
#undef OPERATOR

template <>
struct lowp::lane<word_of_pack> {
  using scalar = std::uint32_t;
  using base = lane<std::uint32_t>;
  using U = word_of_pack;
  static constexpr int lanes = 1;
  static constexpr bool computes_exactly = true;
  static constexpr U broadcast(scalar x) { return x; }
  static constexpr bool equal(U a, U b) { return base::equal(a.v, b.v); }
  static constexpr bool greater(U a, U b) { return base::greater(a.v, b.v); }
  static constexpr U select(bool mask, U yes, U no) { return mask ? yes : no; }
  static constexpr U max(U a, U b) { return base::max(a.v, b.v); }
  static constexpr U min(U a, U b) { return base::min(a.v, b.v); }
  static constexpr real_of_pack to_real(U a) { return {base::to_real(a.v)}; }
};

template <>
struct lowp::lane<real_of_pack> {
  using scalar = float;
  using word = word_of_pack;
  using mask = bool;
  using base = lane<float>;
  using F = real_of_pack;
  static constexpr word bits(F x) { return base::bits(x.v); }
  static constexpr F from_bits(word b) { return {base::from_bits(b.v)}; }
  static F add(F a, F b) { return {base::add(a.v, b.v)}; }
  static F sub(F a, F b) { return {base::sub(a.v, b.v)}; }
  static F mul(F a, F b) { return {base::mul(a.v, b.v)}; }
  static word to_word(F x) { return base::to_word(x.v); }
};

template <class T, class U, class R>
LOWP_FN constexpr std::uint32_t encode_lane(std::uint32_t x, std::uint32_t random, R const& mode,
                                            lowp::overflow policy, lowp::detail::nans kind) {
  constexpr lowp::format F = T::descriptor;
  auto const result = lowp::detail::encode<F>(
      U{x}, U{random}, mode, lowp::detail::special_results_of<F, U>(mode, policy, kind));
  std::uint32_t const code = word_of_pack{result.code}.v;
  return code | (result.overflowed ? 0x80000000 : 0);
}
template <class T>
LOWP_FN constexpr std::uint32_t decode_lane(std::uint32_t code) {
  return lowp::detail::decode<T::descriptor>(word_of_pack{code}).v;
}
