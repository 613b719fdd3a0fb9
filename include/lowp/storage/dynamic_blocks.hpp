// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/storage/block_scaled.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>

namespace lowp {

namespace detail {

LOWP_EXACT_BEGIN

/// The 256 values of bitsandbytes' create_dynamic_map, in arithmetic that gives their bits. A code
/// is a sign and a rank among the magnitudes. Rank 0 is 0, and the last one is 1. Between them lie
/// seven decades, each cut into twice as many equal pieces as the one below. A value is the middle
/// of a piece.
template <bool IsSigned>
struct dynamic_map {
  static constexpr std::uint32_t zero = IsSigned ? 127 : 0, last = IsSigned ? 128 : 255;

  /// Returns the magnitude of a rank.
  template <class F>
  LOWP_FN static F magnitude_of(lanes::word<F> const& rank) {
    using namespace lanes;
    using U = word<F>;
    constexpr std::uint32_t first_decade = IsSigned ? 127 : 128;
    // The rank's leading bit is the number of pieces of its decade, the rest is the piece.
    U const number = rank + (IsSigned ? 0 : 1);
    F const real = to_real(number);
    U const decade = bits(real) >> 23;
    F const pieces = from_bits<F>((broadcast<U>(254) - decade) << 23);
    F const middle = mul(add(edge(mul(real, pieces)), edge(mul(to_real(number + 1), pieces))),
                         broadcast<F>(0.5f));
    F scale = broadcast<F>(1e-6f);
    raise<first_decade>(scale, decade, 1e-5f);
    raise<first_decade + 1>(scale, decade, 1e-4f);
    raise<first_decade + 2>(scale, decade, 1e-3f);
    raise<first_decade + 3>(scale, decade, 1e-2f);
    raise<first_decade + 4>(scale, decade, 1e-1f);
    raise<first_decade + 5>(scale, decade, 1);
    F const value = select(equal(rank, broadcast<U>(last)), broadcast<F>(1), mul(scale, middle));
    return select(equal(rank, broadcast<U>(0)), broadcast<F>(0), value);
  }

  template <class F>
  LOWP_FN static F decode(lanes::word<F> const& code) {
    using namespace lanes;
    using U = word<F>;
    if constexpr (!IsSigned) return magnitude_of<F>(code);
    auto const is_negative = greater(broadcast<U>(zero), code);
    F const x = magnitude_of<F>(select(is_negative, broadcast<U>(zero) - code, code - zero));
    return from_bits<F>(bits(x) |
                        select(is_negative, broadcast<U>(binary32_sign), broadcast<U>(0)));
  }

  /// Returns the code of y, at most 1 in magnitude; 0 if y is not finite. The middle of two values
  /// is a float, as in bitsandbytes' kernels, and there the even code is the nearest.
  template <class F, class R>
  LOWP_FN static lanes::word<F> encode(F const& y, lanes::word<F> const& random,
                                       R const& rounding) {
    using namespace lanes;
    using U = word<F>;
    constexpr int width = 24;
    constexpr std::uint32_t half = 1u << (width - 1);
    auto const is_negative = equal(bits(y) >> 31, broadcast<U>(1));
    U a = select(lanes::is_finite(y), lanes::magnitude(y), broadcast<U>(0));
    if constexpr (!IsSigned) a = select(is_negative, broadcast<U>(0), a);
    U const limit = select(is_negative, broadcast<U>(127), broadcast<U>(last));
    // The piece that holds a, or a neighbour of it near an edge. Its middle is beside a.
    F inverse = broadcast<F>(1e6f), pieces = broadcast<F>(IsSigned ? 1 : 2);
    enter(inverse, pieces, a, 1e-6f, 1e5f, 2);
    enter(inverse, pieces, a, 1e-5f, 1e4f, 4);
    enter(inverse, pieces, a, 1e-4f, 1e3f, 8);
    enter(inverse, pieces, a, 1e-3f, 1e2f, 16);
    enter(inverse, pieces, a, 1e-2f, 1e1f, 32);
    enter(inverse, pieces, a, 1e-1f, 1, 64);
    F const x = from_bits<F>(a);
    F const place = mul(fma(x, inverse, broadcast<F>(-0.1f)), broadcast<F>(1 / 0.9f));
    U const number = to_word(maximum_number(fma(place, pieces, pieces), broadcast<F>(1)));
    U rank = max(number - (IsSigned ? 0 : 1), broadcast<U>(1));
    rank = select(greater(broadcast<U>(bits(1.0f)), a), min(rank, broadcast<U>(last - 1)),
                  broadcast<U>(last));
    F const found = magnitude_of<F>(rank);
    auto const is_above = greater(bits(found), a);
    F const other = magnitude_of<F>(select(is_above, rank - 1, rank + 1));
    rank = select(is_above, rank - 1, rank);
    F const low = select(is_above, other, found), high = select(is_above, found, other);
    U const middle = bits(mul(add(low, high), broadcast<F>(0.5f)));
    U fraction = to_word(
        mul(div(sub(x, low), sub(high, low)), broadcast<F>(static_cast<float>(1u << width))));
    fraction =
        select(greater(a, middle), max(fraction, broadcast<U>(half + 1)),
               select(equal(a, middle), broadcast<U>(half), min(fraction, broadcast<U>(half - 1))));
    // Any remainder counts for a directed mode.
    fraction = min(select(greater(a, bits(low)), max(fraction, broadcast<U>(1)), broadcast<U>(0)),
                   broadcast<U>((1u << width) - 1));
    U const odd = (rank + zero) & 1;
    rank =
        rank + ((fraction + rounding.template increment<width>(odd, is_negative, random)) >> width);
    rank = min(rank, limit);
    return select(is_negative, broadcast<U>(zero) - (IsSigned ? rank : rank & 0), rank + zero);
  }

 private:
  /// Enters a decade if `a` is at least its lower edge.
  template <class F>
  LOWP_FN static void enter(F& inverse, F& pieces, lanes::word<F> const& a, float edge, float next,
                            float count) {
    using U = lanes::word<F>;
    auto const is_there = lanes::greater(a, lanes::broadcast<U>(lanes::bits(edge) - 1));
    inverse = lanes::select(is_there, lanes::broadcast<F>(next), inverse);
    pieces = lanes::select(is_there, lanes::broadcast<F>(IsSigned ? count : 2 * count), pieces);
  }
  template <std::uint32_t Decade, class F>
  LOWP_FN static void raise(F& scale, lanes::word<F> const& decade, float power) {
    auto const is_above = lanes::greater(decade, lanes::broadcast<lanes::word<F>>(Decade));
    scale = lanes::select(is_above, lanes::broadcast<F>(power), scale);
  }
  /// Returns the edge of a piece, whose place in its decade is `from_one` - 1. It is that of
  /// PyTorch's linspace(0.1, 1), which counts from the nearer end.
  template <class F>
  LOWP_FN static F edge(F const& from_one) {
    using namespace lanes;
    constexpr float width = 1 - 0.1f;
    F const place = sub(from_one, broadcast<F>(1));
    auto const is_low = greater(broadcast<word<F>>(bits(0.5f)), bits(place));
    return select(is_low, fma(broadcast<F>(width), place, broadcast<F>(0.1f)),
                  fma(broadcast<F>(-width), sub(broadcast<F>(1), place), broadcast<F>(1)));
  }
};

LOWP_EXACT_END

/// The rule of dynamic_blocks: see power_of_two_rule. A code is a byte that a narrow type carries.
template <bool IsSigned>
struct dynamic_rule {
  using carrier = float8_e5m2;
  using scale_type = float;
  static constexpr bool is_counted = false;

  LOWP_HOST_FN dynamic_rule after(std::size_t) const { return *this; }
  template <class F>
  LOWP_FN block_scale_of<F> scales(F const& amax, std::size_t) const {
    using namespace lanes;
    using U = word<F>;
    U const code = select(is_finite(amax), bits(amax), broadcast<U>(binary32_nan));
    return {code, from_bits<F>(code)};
  }
  template <class F, class U, class R>
  LOWP_FN auto encode(F const& x, F const& largest, U const& random, R const& rounding,
                      special_results<U> const&) const {
    U const code = dynamic_map<IsSigned>::encode(lanes::div(x, largest), random, rounding);
    return encoded<U, lanes::mask<F>>{code, lanes::greater(code, code)};
  }
  template <class U>
  LOWP_FN auto decode_code(U const& code, float largest) const {
    using F = decltype(lowp::lane<U>::to_real(code));
    return lanes::mul(dynamic_map<IsSigned>::template decode<F>(code),
                      lanes::broadcast<F>(largest));
  }
};

}  // namespace detail

/// A moment in the 8 bits of bitsandbytes' blockwise optimizers (T. Dettmers et al., "8-bit
/// optimizers via block-wise quantization", ICLR 2022):
///
///     x[i] = map[codes[i]] * absmax[i / 256]
///
/// The map is create_dynamic_map(signed), bit for bit. So the states of its checkpoints are states
/// here, and the other way round. A step stores the largest magnitude of each block and divides by
/// it. To nearest, it takes the code of the CUDA kernels of bitsandbytes. Another mode chooses
/// between the two neighbours. A block with a NaN or an infinity has the absmax NaN, and is NaN as
/// a whole.
///
/// @tparam IsSigned  true for first moments; false for second moments, where a negative value is 0
template <bool IsSigned>
struct dynamic_blocks {
  std::span<std::uint8_t> codes;
  std::span<float> absmax;  ///< one for each block of 256; the last block may be short

  static constexpr int elements_per_scale = 256;
  static constexpr std::uint8_t zero = detail::dynamic_map<IsSigned>::zero;  ///< the code of 0
  using block_rule = detail::dynamic_rule<IsSigned>;
  static constexpr char const* names[] = {"", ".absmax"};
  LOWP_HOST_FN auto parts() const { return std::tuple(codes, absmax); }

  LOWP_HOST_FN static constexpr std::size_t blocks(std::size_t count) {
    return detail::blocks_in(count, elements_per_scale);
  }
  /// Returns the error text if the number of scales is wrong, else an empty text.
  [[nodiscard]] LOWP_HOST_FN std::string invalid() const {
    return detail::wrong_blocks(codes, elements_per_scale, absmax.size(), "values of absmax");
  }
};
using signed_dynamic_blocks = dynamic_blocks<true>;
using unsigned_dynamic_blocks = dynamic_blocks<false>;

}  // namespace lowp
