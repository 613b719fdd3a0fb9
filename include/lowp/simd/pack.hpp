// SPDX-License-Identifier: Apache-2.0
// A register of lanes: a GNU vector of the instruction set's width, with the vocabulary of
// lanes.hpp. Nothing here names a target: the kernel that inlines it names one.
#pragma once

#include <lowp/lanes/lanes.hpp>
#include <lowp/simd/wide.hpp>

namespace lowp::simd {

template <class T, int Count>
struct vector_of {
  typedef T type __attribute__((vector_size(sizeof(T) * Count)));
};

/// Says that kernels of a backend, or a pack's, compile fast and run slower: see isa/backend.hpp.
template <class Isa>
inline constexpr bool is_lean = requires { requires Isa::is_lean; };

/// A pack of Isa::lanes lanes of T. By its copy constructor, a pack that is not inlined is passed
/// by address: a call passes a wide vector as the caller's instruction set says.
template <class T, class Isa>
struct pack {
  static constexpr int lanes = Isa::lanes;
  static constexpr bool is_lean = simd::is_lean<Isa>;
  typedef T vector __attribute__((vector_size(sizeof(T) * lanes)));

  vector v;

  pack() = default;
  LOWP_HOST_FN pack(pack const& other) : v(other.v) {}
  LOWP_HOST_FN pack& operator=(pack const& other) {
    v = other.v;
    return *this;
  }
  LOWP_HOST_FN static pack of(vector const& v) {
    pack p;
    p.v = v;
    return p;
  }

  /// Loads from unaligned memory, and converts to T from the type there; `store` does the reverse.
  template <class S>
  LOWP_HOST_FN static pack load(S const* from) {
    pack<S, Isa> stored;
    __builtin_memcpy(&stored.v, from, sizeof(stored.v));
    return stored.template converted<T>();
  }
  template <class S>
  LOWP_HOST_FN void store(S* to) const {
    pack<S, Isa> const stored = converted<S>();
    __builtin_memcpy(to, &stored.v, sizeof(stored.v));
  }
  template <class S>
  LOWP_HOST_FN pack<S, Isa> converted() const {
    pack<S, Isa> p;
    if constexpr (std::is_same_v<S, T>)
      p.v = v;
    else
      Isa::convert(p.v, v);
    return p;
  }
};

template <class Isa>
using word = pack<std::uint32_t, Isa>;
template <class Isa>
using integer = pack<std::int32_t, Isa>;

/// Lanes of true and false; a backend with mask registers has its own type.
template <class Isa>
struct mask_of : std::type_identity<integer<Isa>> {};
template <class Isa>
using mask = typename mask_of<Isa>::type;

// Operators of words with words and with scalars.
// clang-format off
template <class K> LOWP_HOST_FN word<K> operator+(word<K> const& a, word<K> const& b) { return word<K>::of(a.v + b.v); }
template <class K> LOWP_HOST_FN word<K> operator-(word<K> const& a, word<K> const& b) { return word<K>::of(a.v - b.v); }
template <class K> LOWP_HOST_FN word<K> operator&(word<K> const& a, word<K> const& b) { return word<K>::of(a.v & b.v); }
template <class K> LOWP_HOST_FN word<K> operator|(word<K> const& a, word<K> const& b) { return word<K>::of(a.v | b.v); }
template <class K> LOWP_HOST_FN word<K> operator^(word<K> const& a, word<K> const& b) { return word<K>::of(a.v ^ b.v); }
template <class K> LOWP_HOST_FN word<K> operator<<(word<K> const& a, word<K> const& b) { return word<K>::of(a.v << b.v); }
template <class K> LOWP_HOST_FN word<K> operator>>(word<K> const& a, word<K> const& b) { return word<K>::of(a.v >> b.v); }
template <class K> LOWP_HOST_FN word<K> operator+(word<K> const& a, std::uint32_t b) { return a + lane<word<K>>::broadcast(b); }
template <class K> LOWP_HOST_FN word<K> operator-(word<K> const& a, std::uint32_t b) { return a - lane<word<K>>::broadcast(b); }
template <class K> LOWP_HOST_FN word<K> operator&(word<K> const& a, std::uint32_t b) { return a & lane<word<K>>::broadcast(b); }
template <class K> LOWP_HOST_FN word<K> operator|(word<K> const& a, std::uint32_t b) { return a | lane<word<K>>::broadcast(b); }
template <class K> LOWP_HOST_FN word<K> operator^(word<K> const& a, std::uint32_t b) { return a ^ lane<word<K>>::broadcast(b); }
template <class K> LOWP_HOST_FN word<K> operator<<(word<K> const& a, int b) { return word<K>::of(a.v << b); }
template <class K> LOWP_HOST_FN word<K> operator>>(word<K> const& a, int b) { return word<K>::of(a.v >> b); }

// Reals have functions: the flags of a unit might fuse operators. An error names the functions.
struct write_lanes_add_sub_mul_div_or_fma;
#define LOWP_NO_OPERATOR(op)                                                                                                                      \
  template <class K, class B, class Instead = write_lanes_add_sub_mul_div_or_fma> void operator op(pack<float, K> const&, B const&) = delete;     \
  template <std::convertible_to<float> A, class K, class Instead = write_lanes_add_sub_mul_div_or_fma> void operator op(A const&, pack<float, K> const&) = delete
LOWP_NO_OPERATOR(+);
LOWP_NO_OPERATOR(-);
LOWP_NO_OPERATOR(*);
LOWP_NO_OPERATOR(/);
#undef LOWP_NO_OPERATOR
// clang-format on

/// Members of a backend whose masks are vectors; the last six suit registers of 128 bits.
template <class Isa>
struct vector_masks {
  using U = word<Isa>;
  using M = integer<Isa>;
  LOWP_HOST_FN static M equal(U const& a, U const& b) { return M::of(a.v == b.v); }
  LOWP_HOST_FN static M greater(U const& a, U const& b) {
    using signed_vector = typename M::vector;
    return M::of(signed_vector(a.v) > signed_vector(b.v));
  }
  LOWP_HOST_FN static U select(M const& mask, U const& yes, U const& no) {
    auto const m = typename U::vector(mask.v);
    return U::of((m & yes.v) | (~m & no.v));
  }
  LOWP_HOST_FN static U max(U const& a, U const& b) { return select(greater(a, b), a, b); }
  LOWP_HOST_FN static U min(U const& a, U const& b) { return select(greater(a, b), b, a); }
  /// Adds bit by bit: sum + a + b = sum' + 2 * carry.
  LOWP_HOST_FN static void add_bits(U& sum, U& carry, U const& a, U const& b) {
    U const differs = a ^ b, was = sum;
    sum = differs ^ was;
    carry = (a & b) | (differs & was);
  }
  static constexpr std::size_t packs_of_nibbles = 2;
  template <class V, class T>
  LOWP_HOST_FN static void broadcast(V& v, T x) {
    v = V{} + x;
  }
  LOWP_HOST_FN static void hide(auto& v) { LOWP_HIDE(v); }
  template <int Bit, class V>
  LOWP_HOST_FN static void exchange(V& v, V const& from) {
    using words = typename U::vector;
    auto const w = words(from);
    v = V(words{w[0 ^ Bit], w[1 ^ Bit], w[2 ^ Bit], w[3 ^ Bit]});
  }
  template <bool, class V>
  LOWP_HOST_FN static void separate(V& even, V& odd, V const& a, V const& b) {
    V const e = {a[0], a[2], b[0], b[2]}, o = {a[1], a[3], b[1], b[3]};
    even = e;
    odd = o;
  }
  template <class V, class N>
  LOWP_HOST_FN static void widen(V& words, N const* from) {
    words = V{from[0], from[1]};
  }
};

/// Returns a mask that is true in the first `count` lanes.
template <class Isa>
LOWP_HOST_FN mask<Isa> first_lanes(int count) {
  word<Isa> lane_numbers;
  for (int i = 0; i < Isa::lanes; ++i) lane_numbers.v[i] = static_cast<std::uint32_t>(i);
  return lanes::greater(lanes::broadcast<word<Isa>>(static_cast<std::uint32_t>(count)),
                        lane_numbers);
}

/// An order of bytes for VPSHUFB: the low halves of every four words, then the high ones.
template <class Isa>
inline constexpr auto low_halves_first = [] {
  constexpr std::size_t in_register = 16;
  std::array<std::uint8_t, 4 * Isa::lanes> from{};
  for (std::size_t at = 0; at < from.size(); ++at) {
    std::size_t const number = at % in_register / 2;
    from[at] = static_cast<std::uint8_t>(number % 4 * 4 + number / 4 * 2 + at % 2);
  }
  return from;
}();

}  // namespace lowp::simd

namespace lowp {

LOWP_EXACT_BEGIN

/// Has any and count from the backend, as the lanes below have the operations of their kind.
template <class Isa>
struct lane<simd::integer<Isa>> : Isa {
  using M = simd::integer<Isa>;
  LOWP_HOST_FN static M mask_and(M const& a, M const& b) { return M::of(a.v & b.v); }
  LOWP_HOST_FN static M mask_or(M const& a, M const& b) { return M::of(a.v | b.v); }
  LOWP_HOST_FN static M mask_not(M const& a) { return M::of(~a.v); }
};

template <class Isa>
struct lane<simd::word<Isa>> : Isa {
  using scalar = std::uint32_t;
  static constexpr bool computes_exactly = true;  // a kernel has set MXCSR
  using U = simd::word<Isa>;
  using signed_vector = typename simd::integer<Isa>::vector;
  LOWP_HOST_FN static std::uint32_t at(U const& x, int i) { return x.v[i]; }
  LOWP_HOST_FN static U broadcast(std::uint32_t x) {
    U u;
    Isa::broadcast(u.v, x);
    return u;
  }
  LOWP_HOST_FN static U lookup(std::uint32_t const* table, U const& index) {
    U found;
    if constexpr (requires { Isa::lookup(found, table, index); })
      Isa::lookup(found, table, index);
    else
      for (int i = 0; i < Isa::lanes; ++i) found.v[i] = table[index.v[i]];
    return found;
  }
  /// Returns table[index % Size]. A backend may have no instruction for it.
  template <std::size_t Size>
  LOWP_HOST_FN static U choose(std::array<std::uint32_t, Size> const& table, U const& index)
    requires requires(U found) { Isa::choose(found, table, index); }
  {
    U found;
    Isa::choose(found, table, index);
    return found;
  }
  LOWP_HOST_FN static auto to_real(U const& a) {
    return simd::integer<Isa>::of(signed_vector(a.v)).template converted<float>();
  }
};

template <class Isa>
struct lane<simd::pack<float, Isa>> : Isa {
  using scalar = float;
  using F = simd::pack<float, Isa>;
  using word = simd::word<Isa>;
  using mask = simd::mask<Isa>;
  using wide = simd::wide<Isa>;
  LOWP_HOST_FN static F broadcast(float x) {
    return from_bits(lane<word>::broadcast(lane<float>::bits(x)));
  }
  LOWP_HOST_FN static F select(mask const& mask, F const& yes, F const& no) {
    return from_bits(lane<word>::select(mask, bits(yes), bits(no)));
  }
  LOWP_HOST_FN static word bits(F const& x) { return word::of(typename word::vector(x.v)); }
  LOWP_HOST_FN static F from_bits(word const& b) { return F::of(typename F::vector(b.v)); }
  LOWP_HOST_FN static word to_word(F const& x) {
    return word::of(typename word::vector(x.template converted<std::int32_t>().v));
  }
  LOWP_HOST_FN static wide widen(F const& x) {
    wide d;
    Isa::widen(d.v[0], d.v[1], x);
    return d;
  }
  LOWP_HOST_FN static F add(F const& a, F const& b) { return isolated(a.v + isolated(b.v).v); }
  LOWP_HOST_FN static F sub(F const& a, F const& b) { return isolated(a.v - isolated(b.v).v); }
  LOWP_HOST_FN static F mul(F const& a, F const& b) { return isolated(a.v * isolated(b.v).v); }

 private:
  LOWP_HOST_FN static F isolated(typename F::vector const& x) {
    typename F::vector v = x;
    Isa::hide(v);
    return F::of(v);
  }
};

LOWP_EXACT_END

}  // namespace lowp
