// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/storage/scaled.hpp>

namespace lowp {

namespace detail {

LOWP_EXACT_BEGIN

/// The 256 values of bitsandbytes' create_dynamic_map, to the bit. A code is a sign and a rank
/// among the magnitudes. Rank 0 is 0, and the last one is 1. Between them lie seven decades, each
/// cut into twice as many equal pieces as the one below. A value is the middle of a piece.
template <bool IsSigned>
struct dynamic_values {
  static constexpr std::uint32_t zero = IsSigned ? 127 : 0, last = IsSigned ? 128 : 255;

  std::uint32_t of_code[257] = {};  ///< bits of floats; the last one is no value

  /// Computes them. Products and sums of floats are exact in double here, so that each cast is one
  /// rounding. A constructor would leave a GPU's table empty: nvcc takes it for code.
  LOWP_FN static constexpr dynamic_values make() {
    dynamic_values made;
    for (std::uint32_t rank = 0; rank <= last; ++rank) {
      std::uint32_t const value = lanes::bits(magnitude(rank));
      made.of_code[zero + rank] = value;
      if (rank != 0 && rank <= zero) made.of_code[zero - rank] = value | lanes::binary32_sign;
    }
    return made;
  }

 private:
  LOWP_FN static constexpr float magnitude(std::uint32_t rank) {
    constexpr float scales[] = {1e-6f, 1e-5f, 1e-4f, 1e-3f, 1e-2f, 1e-1f, 1};
    if (rank == 0 || rank == last) return rank == 0 ? 0 : 1;
    // The rank's leading bit is the number of pieces of its decade, the rest is the piece.
    std::uint32_t const number = rank + (IsSigned ? 0 : 1);
    int decade = 0;
    while (number >> (decade + 1) != 0) ++decade;
    double const pieces = 1u << decade, piece = number - pieces;
    float const sum = static_cast<float>(edge(piece / pieces) + edge((piece + 1) / pieces));
    return static_cast<float>(static_cast<double>(scales[decade - (IsSigned ? 0 : 1)]) *
                              static_cast<double>(sum * 0.5f));
  }
  /// Returns the edge of a piece at a place of its decade. It is that of PyTorch's
  /// linspace(0.1, 1), which counts from the nearer end.
  LOWP_FN static constexpr double edge(double place) {
    constexpr double width = static_cast<double>(1 - 0.1f);
    double const exact =
        place < 0.5 ? width * place + static_cast<double>(0.1f) : 1 - width * (1 - place);
    return static_cast<double>(static_cast<float>(exact));
  }
};

/// Finds the rank of a magnitude up to 1: the nearest or, if not IsNearest, the one below. A cell
/// is the floats that share their leading bits, so few that at most one rank begins there. Its word
/// plus such a float has the rank above the other bits.
template <bool IsSigned, bool IsNearest>
struct dynamic_ranks {
  using values = dynamic_values<IsSigned>;
  static constexpr int bits = IsSigned ? 17 : 16;  // of a float, that do not tell its cell
  static constexpr std::uint32_t below = (1u << bits) - 1;
  static constexpr std::uint32_t first = (IsSigned ? 105u : 104u) << (23 - bits);  // 2^-22, 2^-23
  static constexpr std::uint32_t least = first << bits;
  static constexpr std::uint32_t count = (127u << (23 - bits)) - first + 1;

  std::uint32_t cells[count] = {};

  LOWP_FN static constexpr dynamic_ranks make() {
    dynamic_ranks made;
    constexpr values all = values::make();
    std::uint32_t rank = 0, border = last_of(rank, all);
    for (std::uint32_t i = 0; i < count; ++i) {
      std::uint32_t const most = (first + i) << bits | below;
      bool const ends = border <= most;
      made.cells[i] = (rank << bits) + below - (ends ? border : most);
      if (ends) border = last_of(++rank, all);
    }
    return made;
  }

  /// @param magnitude  `least` or more: smaller ones have its rank
  template <class U>
  LOWP_FN U of(U const& magnitude) const {
    using namespace lanes;
    return (magnitude + lookup(cells, (magnitude >> bits) - first)) >> bits;
  }

 private:
  /// Returns the bits of the largest float of a rank. In the middle of two values, a float as in
  /// bitsandbytes' kernels, the even code is the nearest.
  LOWP_FN static constexpr std::uint32_t last_of(std::uint32_t rank, values const& all) {
    std::uint32_t const code = values::zero + rank;
    if (rank == values::last) return lanes::binary32_infinity;
    auto const low = static_cast<double>(lanes::from_bits<float>(all.of_code[code]));
    auto const high = static_cast<double>(lanes::from_bits<float>(all.of_code[code + 1]));
    if (!IsNearest) return all.of_code[code + 1] - 1;
    return lanes::bits(static_cast<float>(low + high) * 0.5f) - (code & 1);
  }
};

/// The rule of dynamic_blocks: see power_of_two_rule. A code is a byte that a narrow type carries.
template <bool IsSigned>
struct dynamic_rule {
  using carrier = float8_e5m2;
  using scale_type = float;
  struct counts {};
  static constexpr std::uint32_t zero = dynamic_values<IsSigned>::zero;

  /// A GPU's block has a copy of these.
  struct alignas(16) tables_type {
    dynamic_values<IsSigned> values;
    dynamic_ranks<IsSigned, true> ranks;
  };
  LOWP_FN static tables_type const& tables() {
    static constexpr tables_type all{dynamic_values<IsSigned>::make(),
                                     dynamic_ranks<IsSigned, true>::make()};
    return all;
  }

  LOWP_HOST_FN dynamic_rule after(std::size_t) const { return *this; }
  LOWP_FN static bool stores_finite(float absmax) { return lanes::is_finite(absmax); }
  template <class F>
  LOWP_FN block_scale_of<F> scales(F const& amax, std::size_t) const {
    using namespace lanes;
    using U = word<F>;
    U const code = select(is_finite(amax), bits(amax), broadcast<U>(binary32_nan));
    return {code, from_bits<F>(code)};
  }
  /// Encodes x / largest, at most 1 in magnitude, as 0 if it is not finite.
  template <class F, class U, class R>
  LOWP_FN auto encode(F const& x, F const& largest, U const& random, R const& rounding,
                      special_results<U> const&) const {
    using namespace lanes;
    F const y = div(x, largest);
    auto const is_finite = lanes::is_finite(y);
    U const b = select(is_finite, bits(y), broadcast<U>(0));
    U const a = IsSigned ? b & (binary32_sign - 1) : max(b, broadcast<U>(0));
    U const code = with_sign(ranked<F>(a, b, random, rounding), b);
    return encoded<U, mask<F>>{code, greater(code, code)};
  }
  /// Likewise to nearest, by the divisor of a block.
  LOWP_FN static std::uint32_t encode_plain(float x, block_divisor const& largest,
                                            tables_type const& all) {
    float const y = largest.quotient(x), a = IsSigned ? lanes::size_of(y) : y;
    return with_sign(all.ranks.of(lanes::bits(
                         lanes::maximum_number(a, lanes::from_bits<float>(all.ranks.least)))),
                     lanes::bits(y));
  }
  template <class U>
  LOWP_FN auto decode_code(U const& code, float largest, tables_type const& all = tables()) const {
    using F = decltype(lowp::lane<U>::to_real(code));
    return lanes::mul(value_of<F>(code, all), lanes::broadcast<F>(largest));
  }

 private:
  template <class U>
  LOWP_FN static U with_sign(U const& rank, [[maybe_unused]] U const& b) {
    using namespace lanes;
    if constexpr (!IsSigned) return rank;
    return select(greater(broadcast<U>(0), b), broadcast<U>(zero) - min(rank, broadcast<U>(zero)),
                  rank + zero);
  }
  template <class F>
  LOWP_FN static F value_of(lanes::word<F> const& code, tables_type const& all = tables()) {
    return lanes::from_bits<F>(lanes::lookup(all.values.of_code, code));
  }
  template <class F, class U, class R>
  LOWP_FN static U ranked(U const& a, U const& signs, U const& random, R const& rounding) {
    using namespace lanes;
    if constexpr (std::is_same_v<R, nearest_even>)
      return tables().ranks.of(max(a, broadcast<U>(dynamic_ranks<IsSigned, true>::least)));
    static constexpr auto lower = dynamic_ranks<IsSigned, false>::make();
    constexpr int width = 24;
    constexpr std::uint32_t half = 1u << (width - 1);
    U const rank = lower.of(max(a, broadcast<U>(lower.least)));
    F const low = value_of<F>(rank + zero), high = value_of<F>(rank + (zero + 1));
    U fraction = to_word(mul(div(sub(from_bits<F>(a), low), sub(high, low)),
                             broadcast<F>(static_cast<float>(1u << width))));
    if constexpr (!draws_bits<R>) {
      U const middle = bits(mul(add(low, high), broadcast<F>(0.5f)));
      fraction = select(
          greater(a, middle), max(fraction, broadcast<U>(half + 1)),
          select(equal(a, middle), broadcast<U>(half), min(fraction, broadcast<U>(half - 1))));
      // Any remainder counts for a directed mode.
      fraction = select(greater(a, bits(low)), max(fraction, broadcast<U>(1)), broadcast<U>(0));
    }
    U const odd = (rank + zero) & 1;
    auto const is_negative = greater(broadcast<U>(0), signs);
    return rank +
           ((fraction + rounding.template increment<width>(odd, is_negative, random)) >> width);
  }
};

LOWP_EXACT_END

}  // namespace detail

/// A moment in the 8 bits of bitsandbytes' blockwise optimizers (T. Dettmers et al., "8-bit
/// optimizers via block-wise quantization", ICLR 2022):
///
///     x[i] = map[codes[i]] * absmax[i / 256]
///
/// The map is create_dynamic_map(signed), bit for bit, so checkpoints have the same states. A step
/// stores the largest magnitude of each block and divides by it. To nearest, it takes the code of
/// the CUDA kernels of bitsandbytes; another mode chooses between the two neighbours. A block with
/// a NaN or an infinity has the absmax NaN, and is NaN as a whole.
///
/// @tparam IsSigned  true for first moments; false for second moments, where a negative value is 0
template <bool IsSigned>
struct dynamic_blocks {
  std::span<std::uint8_t> codes;
  std::span<float> absmax;  ///< one for each block of 256; the last block may be short

  static constexpr int elements_per_scale = 256;
  static constexpr std::uint8_t zero = detail::dynamic_values<IsSigned>::zero;  ///< the code of 0
  using block_rule = detail::dynamic_rule<IsSigned>;
  static constexpr char const* names[] = {"", ".absmax"};
  LOWP_HOST_FN auto parts() const { return std::tuple(codes, absmax); }

  LOWP_HOST_FN static constexpr std::size_t blocks(std::size_t count) {
    return detail::blocks_in(count, elements_per_scale);
  }
  [[nodiscard]] LOWP_HOST_FN detail::error_text invalid() const {
    return detail::check_blocks(codes, elements_per_scale, absmax.size(), "values of absmax");
  }
};
using signed_dynamic_blocks = dynamic_blocks<true>;
using unsigned_dynamic_blocks = dynamic_blocks<false>;

}  // namespace lowp
