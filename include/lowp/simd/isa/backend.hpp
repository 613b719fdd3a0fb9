// SPDX-License-Identifier: Apache-2.0
// The members of a backend, in the order in which each lists them. A result goes to a reference,
// first in the list, where g++ needs it so. vector_masks has integers where masks are vectors.
// x86.inc has the members that AVX2 and AVX-512 share. A backend may also have
//
//     base, converts<Operand>   the backend that serves calls without such an operand
//     any_special(word...)      true if a pattern is that of an infinity or a NaN
//     take_upper                halves of words; encode_all gives codes and their values
//     maximum_number, smaller_or_nan   one instruction each, of reals
//     times_power_of_two        e * 2^n of reals, and 0 where n is a third argument
//     xor3                      of vectors, for random bits, or of words
//     decode, encode            conversions of a format by hardware
//     widen_bytes, decode_halves   codes of 8 bits by way of binary16: packed_codes.hpp
//     canonical                 reals whose NaN are canonical
//     unordered, join_low_bytes   two packs narrowed in one shuffle: pairs.hpp
//     store_nibbles             codes of 4 bits stored: packed_codes.hpp
//     choose                    entries of a table in registers, for codes of 4 bits
//     stream                    a store around the caches
//     chains_at_once            of Philox: random.hpp
//     is_lean                   true if next to no machine runs it: kernels compile faster and
//                               run slower, with the same bits
//     copy_in, copy_out         bytes that are no whole packs: staging.hpp
#pragma once

#include <lowp/simd/pack.hpp>

namespace lowp::simd {

/// The members without which a kernel does not compile, beside `enter(kernel)`: the entry, which
/// has the target attribute. `registers` is the backend itself, or the one whose packs it shares. A
/// type of its own for masks has mask_and, mask_or and mask_not too.
template <class Isa, class R = typename Isa::registers>
concept backend =
    requires(word<R> u, mask<R> m, pack<float, R> f, typename word<R>::vector v,
             typename wide<R>::vector d, typename wide_word<R>::vector w,
             typename wide_word<R>::vector const (&block)[4], std::uint32_t const* numbers) {
      { Isa::name[0] } -> std::convertible_to<char>;
      { Isa::available() } -> std::same_as<bool>;
      requires Isa::lanes == R::lanes;

      // `max` and `min` are of signed numbers.
      { Isa::equal(u, u) } -> std::same_as<mask<R>>;
      { Isa::greater(u, u) } -> std::same_as<mask<R>>;
      { Isa::select(m, u, u) } -> std::same_as<word<R>>;
      { Isa::max(u, u) } -> std::same_as<word<R>>;
      { Isa::min(u, u) } -> std::same_as<word<R>>;
      Isa::add_bits(u, u, u, u);
      { Isa::any(m) } -> std::same_as<bool>;
      { Isa::count(m) } -> std::same_as<std::uint32_t>;

      Isa::broadcast(v, std::uint32_t{});
      Isa::convert(v, f.v);
      Isa::template exchange<1>(v, v);            // lanes whose numbers differ in this bit
      Isa::template separate<false>(v, v, v, v);  // even and odd lanes, the first vector's first,
      Isa::template separate<true>(v, v, v, v);   // or even and odd registers, of 128 bits
      Isa::join(v, u, u);                         // to halves, or to bytes that hold the words
      requires Isa::packs_of_nibbles >= 2;        // those that store_nibbles takes

      // `hide` lets arithmetic neither be contracted nor moved.
      { Isa::div(f, f) } -> std::same_as<pack<float, R>>;
      { Isa::sqrt(f) } -> std::same_as<pack<float, R>>;
      { Isa::fma(f, f, f) } -> std::same_as<pack<float, R>>;
      Isa::hide(v);

      Isa::widen(d, d, f);
      Isa::widen(w, numbers);  // of 16 or 32 bits, one to each lane of 64
      Isa::narrow(f, d, d);
      Isa::add_product(d, d, d, d);

      // The low half of a lane of mul_wide's second result has the high half of the product.
      Isa::mul_wide(w, w, w, w);
      Isa::numbers(w, w, block);  // of 16 bits, of Philox blocks: see random.hpp
      Isa::power_of_two(u, u);
    };

}  // namespace lowp::simd
