// SPDX-License-Identifier: Apache-2.0
// The members of a backend, in the order in which each lists them. R is `registers`: the backend
// itself, or the one whose packs it shares. V is a GNU vector, U word<R>, F pack<float, R>, M
// mask<R>. A result goes to a reference, first in the list, where g++ needs it so.
//
//     name, registers, lanes, available(), enter(kernel): the entry has the target attribute
//     integers    equal greater -> M, select(M, U, U), max min (signed), add_bits
//     masks       any(M), count(M); a type of its own for masks has these in its lane<M>
//     moves       broadcast(V&, scalar), convert(V&, V)
//                 exchange<Bit>(V&, V): lanes whose numbers differ in this bit
//                 separate<OfRegisters>(even, odd, V, V): lanes of 128 bits, or such registers; the
//                 first V's come first
//                 join(codes, U, U): to halves, or to bytes that hold the words
//     reals       div sqrt fma, hide(V&): the value's arithmetic is neither contracted nor moved
//     doubles     widen(low, high, F), narrow(F&, low, high), add_product
//                 widen(V&, memory): a number of 16 or 32 bits to each lane of 64
//     random      mul_wide(low, high, V, V): low halves of 64-bit lanes; the low half of `high` has
//                 the high half of the product
//                 numbers(even, odd, V[4]): the numbers of 16 bits of Philox blocks, see random.hpp
//     census      power_of_two(U&, U)
//
// vector_masks has integers where masks are vectors. x86.inc has the members that AVX2 and AVX-512
// share. A backend may also have
//
//     base, converts<Operand>   the backend that serves calls without such an operand
//     any_special(U)            true if a pattern is that of an infinity or a NaN
//     larger_or_second, smaller_or_second, times_power_of_two   one instruction each, of reals
//     xor3                      of V, for random bits
//     decode, encode            conversions of a format by hardware
//     widen_bytes, decode_halves   codes of 8 bits by way of binary16: binary16.hpp
//     canonical                 reals whose NaN are canonical
//     unordered, join_low_bytes   two packs narrowed in one shuffle: pairs.hpp
//     packs_of_nibbles, store_nibbles   their number, and codes of 4 bits stored: packed_codes.hpp
//     choose                    entries of a table in registers, for codes of 4 bits
//     stream                    a store around the caches
#pragma once

#include <lowp/simd/pack.hpp>

#include <concepts>
#include <cstdint>

namespace lowp::simd {

template <class Isa, class R>
concept has_masks = requires(mask<R> m) {
  { Isa::any(m) } -> std::same_as<bool>;
  { Isa::count(m) } -> std::same_as<std::uint32_t>;
};

/// The members without which a kernel does not compile.
template <class Isa, class R = typename Isa::registers>
concept backend =
    (has_masks<Isa, R> || !std::same_as<mask<R>, integer<R>>) &&
    requires(word<R> u, mask<R> m, pack<float, R> f, typename word<R>::vector v,
             typename wide<R>::vector d, typename wide_word<R>::vector w,
             typename wide_word<R>::vector const (&block)[4], std::uint32_t const* numbers) {
      { Isa::name[0] } -> std::convertible_to<char>;
      { Isa::available() } -> std::same_as<bool>;
      requires Isa::lanes == R::lanes;
      { Isa::equal(u, u) } -> std::same_as<mask<R>>;
      { Isa::greater(u, u) } -> std::same_as<mask<R>>;
      { Isa::select(m, u, u) } -> std::same_as<word<R>>;
      { Isa::max(u, u) } -> std::same_as<word<R>>;
      { Isa::min(u, u) } -> std::same_as<word<R>>;
      Isa::add_bits(u, u, u, u);
      Isa::broadcast(v, std::uint32_t{});
      Isa::convert(v, f.v);
      Isa::template exchange<1>(v, v);
      Isa::template separate<false>(v, v, v, v);
      { Isa::div(f, f) } -> std::same_as<pack<float, R>>;
      { Isa::sqrt(f) } -> std::same_as<pack<float, R>>;
      { Isa::fma(f, f, f) } -> std::same_as<pack<float, R>>;
      Isa::hide(v);
      Isa::widen(d, d, f);
      Isa::widen(w, numbers);
      Isa::narrow(f, d, d);
      Isa::add_product(d, d, d, d);
      Isa::mul_wide(w, w, w, w);
      Isa::numbers(w, w, block);
      Isa::power_of_two(u, u);
    };

}  // namespace lowp::simd
