// SPDX-License-Identifier: Apache-2.0
// Scales that are powers of two, so that a product with a scale rounds nothing. Integers compute
// them from the largest magnitude of a block, or of a tensor, now or over the last steps.
//
//     scaled_cast(x, codes, power_of_two_scale<T>(measure(x).largest));   // current scaling
#pragma once

#include <lowp/base/error_text.hpp>
#include <lowp/format/basic_float.hpp>
#include <lowp/report/amax.hpp>

namespace lowp {

/// A type for scaled codes: a narrow type with zero and a largest finite value of at least 4.
template <class T>
concept scalable = narrow<T> && T::descriptor.has_zero() && T::descriptor.max_exponent() >= 2;

/// A rule for a block's scale, x = code * scale, by the names of torchao's ScaleCalculationMode.
enum class scale_rule : std::uint8_t {
  rceil,  ///< the smallest power of two with amax / scale <= T's largest finite: nothing saturates
  floor,  ///< OCP MX v1.0, 6.3: 2^(floor(log2(amax)) - emax), emax T's largest exponent; values
          ///< beyond the largest finite value then saturate
};

namespace detail {

/// The significand of the largest finite value in binary32, without its leading one.
template <format F>
inline constexpr std::uint32_t max_significand =
    (F.max_code() & F.significand_mask()) << (23 - F.significand_bits);

/// Refuses NaN, by the names of a function and its argument; but device code cannot throw.
LOWP_FN constexpr void refuse_nan([[maybe_unused]] amax const& largest,
                                  [[maybe_unused]] char const* what) {
#if !defined(__CUDA_ARCH__)
  if ((largest.bits & (lanes::binary32_sign - 1)) > lanes::binary32_infinity)
    refuse(joined_text({what, " is NaN, of which no scale can be made"}));
#endif
}

/// Returns the float8_e8m0fnu code of a block's scale: at least 2^-127, and NaN if amax is not
/// finite. `amax_bits` are the bits of the block's largest magnitude, a float without sign.
template <scalable T, class U>
LOWP_FN constexpr U block_scale(U const& amax_bits, scale_rule rule = scale_rule::rceil) {
  using namespace lanes;
  constexpr format f = T::descriptor;
  constexpr std::uint32_t nan = float8_e8m0fnu::descriptor.nan_code();
  // A significand beyond that of the largest finite value carries into the exponent. A subnormal
  // amax has the exponent field 0, or 1 after the carry. Both give the smallest scale.
  std::uint32_t const round_up = rule == scale_rule::rceil ? 0x7fffff - max_significand<f> : 0;
  U const exponent = ((amax_bits + round_up) >> 23) - static_cast<std::uint32_t>(f.max_exponent());
  auto const is_special = greater(amax_bits, broadcast<U>(binary32_infinity - 1));
  return select(is_special, broadcast<U>(nan), max(exponent, broadcast<U>(0)));
}

/// Returns the bits of 1 / scale, a normal float; NaN for the scale NaN.
template <class U>
LOWP_FN constexpr U reciprocal_of_block_scale(U const& code) {
  using namespace lanes;
  constexpr std::uint32_t nan = float8_e8m0fnu::descriptor.nan_code();
  return select(equal(code, broadcast<U>(nan)), broadcast<U>(binary32_nan),
                (broadcast<U>(nan - 1) - code) << 23);
}

/// Returns the number of blocks of `count` elements; the last one may be short.
LOWP_FN constexpr std::size_t blocks_in(std::size_t count, std::size_t block) {
  return count / block + (count % block != 0);
}

/// A block's scale and the factor of its elements, in lanes of blocks.
template <class F>
struct block_scale_of {
  lanes::word<F> code;
  F factor;
};

LOWP_EXACT_BEGIN

/// A block's largest magnitude. Its quotients are at most 1. A test takes those of many
/// significands at each border between two codes.
struct block_divisor {
  float negative, inverse;

  LOWP_FN explicit block_divisor(float d)
      : negative(lanes::mul(d, -1.0f)), inverse(lane<float>::inverse(d)) {}
  [[nodiscard]] LOWP_FN float quotient(float x) const {
    float const q = lanes::mul(x, inverse);
    return lanes::fma(lanes::fma(q, negative, x), inverse, q);
  }
  /// Returns false if a remainder may lose bits.
  LOWP_FN static bool permits(float d) {
    constexpr std::uint32_t least = lanes::bits(0x1p-78f);
    return lanes::bits(d) - least < lanes::bits(0x1p100f) - least;
  }
};

LOWP_EXACT_END

/// The rule of block_cast, of moments in blocks too. A rule says what the accessor of a block does:
///
///     scales(F amax, first block) -> block_scale_of<F>, in lanes of blocks
///     encode(F x, F factor, U random, rounding, results) -> encoded, in lanes of elements
///     decode(F x, scale_type)
///     after(blocks)
///     counts                 what it counts of blocks and elements; an empty struct if nothing
///     stores_finite(scale)   of moments: true if all values of such a block are finite
template <class T>
struct power_of_two_rule {
  using scale_type = float8_e8m0fnu;
  struct counts {};

  scale_rule of_scale = scale_rule::rceil;

  LOWP_HOST_FN power_of_two_rule after(std::size_t) const { return *this; }
  /// A code times a large scale may be 2^128.
  LOWP_FN static bool stores_finite(scale_type scale) {
    return scale.bits() <= 254 - T::descriptor.max_exponent();
  }
  template <class F>
  LOWP_FN block_scale_of<F> scales(F const& amax, std::size_t) const {
    auto const code = block_scale<T>(lanes::bits(amax), of_scale);
    return {code, lanes::from_bits<F>(reciprocal_of_block_scale(code))};
  }
  template <class F, class U, class R>
  LOWP_FN auto encode(F const& x, F const& factor, U const& random, R const& rounding,
                      special_results<U> const& results) const {
    return detail::encode<T::descriptor>(lanes::bits(lanes::mul(x, factor)), random, rounding,
                                         results);
  }
  template <class F>
  LOWP_FN F decode(F const& x, scale_type scale) const {
    return lanes::mul(x, lanes::broadcast<F>(float{scale}));
  }
};

}  // namespace detail

namespace functions {

/// Returns s / 2^margin, at least 2^-126 and at most 2^126: it and its reciprocal are normal
/// floats. s is the largest power of two such that |x| <= amax gives |x| * s <= T's largest finite
/// value, in every rounding mode.
///
/// Returns 1 if amax is zero or infinite, whatever the margin, as Transformer Engine's
/// compute_scale_from_amax does (common/recipe/recipe_common.cuh); in device code NaN for NaN.
///
/// @throws std::invalid_argument  amax is NaN
template <scalable T>
LOWP_FN constexpr float power_of_two_scale(amax const& largest, int margin = 0) {
  using namespace lanes;
  constexpr format f = T::descriptor;
  constexpr int most = 126, limit = 1000;
  std::uint32_t const bits = largest.bits & (binary32_sign - 1);
  detail::refuse_nan(largest, "power_of_two_scale: amax");
  if (bits > binary32_infinity) return from_bits<float>(binary32_nan);
  if (bits == 0 || bits >= binary32_infinity) return 1;
  detail::unpacked const x = detail::unpack_pattern<detail::binary32>(bits);
  auto const significand = static_cast<std::uint32_t>(x.significand >> 38) & 0x7fffff;
  int const divisor = margin > limit ? limit : margin < -limit ? -limit : margin;
  int const fits =
      f.max_exponent() - x.exponent - (significand > detail::max_significand<f> ? 1 : 0) - divisor;
  int const exponent = fits > most ? most : fits < -most ? -most : fits;
  return from_bits<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
}
template <scalable T>
LOWP_FN constexpr float power_of_two_scale(float amax_value, int margin = 0) {
  return power_of_two_scale<T>(amax{lanes::magnitude(amax_value)}, margin);
}

}  // namespace functions

/// A delayed scale's choice among largest magnitudes: Transformer Engine's amax_compute_algo.
enum class amax_algorithm : std::uint8_t { max, most_recent };

/// A tensor's scale from its largest magnitudes in earlier steps, so that scaling reads the tensor
/// once. It is Transformer Engine's DelayedScaling, except that the scale is a power of two:
///
///     scaled_cast(x, codes, s.scale, largest);   // with the scale of the earlier steps
///     s.update(largest);                         // the scale of the next step
///
/// It is trivially copyable: to save it, save its bytes.
template <scalable T, std::uint32_t Capacity = 1024>
  requires(Capacity > 0)
struct delayed_scale {
  float scale = 1;
  std::int32_t margin = 0;  ///< powers of two to spare
  amax_algorithm algorithm = amax_algorithm::max;
  std::uint32_t interval = 1;       ///< updates from one new scale to the next
  std::uint32_t length = Capacity;  ///< updates in the history, from 1 to Capacity
  std::uint64_t updates = 0;        ///< so far
  amax history[Capacity] = {};      ///< update i is at i % length

  /// Records the largest magnitude of a step, over all shards. Every `interval` updates, `scale`
  /// becomes power_of_two_scale of a chosen magnitude: the last one, or the largest of the last
  /// `length`, without NaN. `scale` stays if the chosen one is zero or infinite. An infinite amax
  /// therefore holds it until it leaves the history: do not record a skipped step. `length` and
  /// `interval` outside their range mean the nearest value in it. In device code a NaN makes
  /// `scale` NaN until the next new scale.
  ///
  /// @throws std::invalid_argument  `largest` is NaN; nothing is recorded
  LOWP_FN constexpr void update(amax const& largest) {
    detail::refuse_nan(largest, "delayed_scale::update: the largest magnitude");
    std::uint32_t const size = length == 0 ? 1 : length > Capacity ? Capacity : length;
    history[updates % size] = largest;
    ++updates;
    if (lanes::is_nan(largest.value())) scale = lanes::from_bits<float>(lanes::binary32_nan);
    if (interval > 1 && updates % interval != 0) return;
    amax chosen = largest;
    if (algorithm == amax_algorithm::max) {
      chosen = {};
      for (std::uint32_t i = 0; i < size; ++i)
        if (history[i].bits <= lanes::binary32_infinity) chosen += history[i];
    }
    if (chosen.bits != 0 && chosen.bits < lanes::binary32_infinity)
      scale = power_of_two_scale<T>(chosen, margin);
  }
};

}  // namespace lowp
