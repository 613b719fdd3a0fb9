// SPDX-License-Identifier: Apache-2.0
// The rule by which the engine's loop scales, rounds and counts blocks.
#pragma once

#include <lowp/format/encode_in_range.hpp>
#include <lowp/quantization/recipe.hpp>
#include <lowp/report/exact_sum.hpp>

#include <vector>

namespace lowp {

/// Counts of a quantization; reports of shards merge by +=. All zero bytes are an empty report.
struct quantization_report {
  std::uint64_t clipped = 0;             ///< finite elements beyond the largest code
  std::uint64_t zero_blocks = 0;         ///< blocks of zeros
  std::uint64_t saturated_scales = 0;    ///< scales at the largest code, of blocks that need more
  std::uint64_t underflowed_scales = 0;  ///< scales of code 0, of blocks that are not zero
  std::uint64_t nonfinite_blocks = 0;    ///< blocks with an infinity or a NaN

  LOWP_HOST_FN bool operator==(quantization_report const&) const = default;
  template <class Atomics = detail::alone>
  LOWP_FN void add(quantization_report const& other, Atomics const& atomics = {}) {
    atomics.add(clipped, other.clipped);
    atomics.add(zero_blocks, other.zero_blocks);
    atomics.add(saturated_scales, other.saturated_scales);
    atomics.add(underflowed_scales, other.underflowed_scales);
    atomics.add(nonfinite_blocks, other.nonfinite_blocks);
  }
};

namespace detail {

/// Changes to a word beside other threads of a processor.
struct beside_threads {
  LOWP_HOST_FN void add(std::uint64_t& word, std::uint64_t x) const {
    __atomic_fetch_add(&word, x, __ATOMIC_RELAXED);
  }
};

/// Scales that were chosen before the pass that rounds elements.
struct given_scales {
  std::vector<std::uint32_t> codes;
  std::vector<float> factors;

  /// Makes room for two whole packs after the last block.
  LOWP_HOST_FN explicit given_scales(std::size_t blocks)
      : codes(blocks + 32), factors(blocks + 32) {}
};

/// 1 / d as a sum. d has at most four significant bits, and is neither tiny nor huge.
///
/// x * high has 36 bits, and x * low is below 2^-11 of it. Before it is rounded, their sum errs by
/// less than 2^-9 of its last place. x / d is at least 1/30 of it away from each middle of two
/// floats. So the sum becomes x / d, rounded once, but below 2^-120, where x * low may lose bits.
/// `high` does not exceed 1 / d, so a zero keeps its sign.
template <class F>
struct short_inverse {
  F high, low;

  LOWP_FN explicit short_inverse(F const& d) {
    using namespace lanes;
    F const one = broadcast<F>(1), inverse = div(one, d);
    high = from_bits<F>(bits(inverse) & 0xfffff000);
    low = mul(fma(negative(high), d, one), inverse);
  }
  /// Returns true for each d with more bits or outside 2^-80 to 2^100.
  LOWP_FN static auto refuses(F const& d) {
    using namespace lanes;
    using U = word<F>;
    U const b = bits(d), least = broadcast<U>(bits(0x1p-80f)), most = broadcast<U>(bits(0x1p100f));
    return mask_or(mask_or(greater(least, b), greater(b, most)),
                   greater(b & 0xfffff, broadcast<U>(0)));
  }
};
template <class F>
LOWP_FN F quotient(F const& x, F const& high, F const& low) {
  return lanes::fma(x, high, lanes::mul(x, low));
}

/// The rule of a recipe: see power_of_two_rule.
template <class T, class Scale>
struct recipe_rule {
  using scale_type = Scale;
  using counts = quantization_report;

  power_rule of_scale{};
  element_rule of_element{};
  halves ties{};
  zero_code zeros{};
  tensor_scales tensor{};
  quantization_report* report = nullptr;
  bool may_be_plain = of_element != element_rule::search && ties == halves::even &&
                      zeros == zero_code::with_sign && of_scale.type == computed_in::float32 &&
                      report == nullptr;
  std::uint32_t const* codes = nullptr;  ///< of given scales, if there are any
  float const* factors = nullptr;

  LOWP_HOST_FN recipe_rule after(std::size_t blocks) const {
    recipe_rule rest = *this;
    if (codes != nullptr) rest.codes += blocks, rest.factors += blocks;
    return rest;
  }
  /// Says that plain blocks have short divisors. Only a division of 512 bits takes longer than the
  /// two instructions that replace it. The format rounds quotients below 2^-117 to zero.
  template <class F>
  static constexpr bool has_short_divisors =
      std::is_same_v<Scale, float8_e4m3fn> && sizeof(F) == 64 &&
      element_format<T>.min_exponent() - element_format<T>.significand_bits >= -100;
  /// Returns true if encode_plain gives each code, and nobody counts. No number then becomes NaN.
  template <class F>
  LOWP_FN bool is_plain(lanes::word<F> const& amax, F const& factor) const
    requires(!is_integer_code<T>)
  {
    using namespace lanes;
    using U = word<F>;
    if constexpr (has_short_divisors<F>)
      if (divides() && any(short_inverse<F>::refuses(factor))) return false;
    constexpr std::uint32_t beyond = beyond_small_codes<T::descriptor, U>;
    if constexpr (beyond != 0) {
      U const largest = lanes::magnitude(scaled(from_bits<F>(amax), factor));
      return may_be_plain && !any(greater(largest, broadcast<U>(beyond - 1)));
    } else {
      U const least = broadcast<U>(1), f = bits(factor);
      auto const is_special = greater(max(amax, f), broadcast<U>(binary32_infinity - 1));
      return may_be_plain && !any(mask_or(is_special, greater(least, f)));
    }
  }
  template <class F, class U, class R>
  LOWP_FN U encode_plain(F const& scaled, U const& random, R const& rounding,
                         special_results<U> const& results) const {
    if constexpr (has_small_codes<T::descriptor, U> && std::is_same_v<R, nearest_even>)
      return encode_small<T::descriptor>(lanes::bits(scaled));
    else
      return encode_scaled(scaled, random, rounding, results);
  }
  template <class F, class U, class R>
  LOWP_FN U encode_scaled(F const& x, U const& random, R const& rounding,
                          special_results<U> const& results) const {
    U const b = lanes::bits(x);
    constexpr format f = T::descriptor;
    if constexpr ((draws_bits<R> && !expects_subnormals<f, U>) || f.starts_at_zero())
      return detail::encode<f>(b, random, rounding, results).code;
    else
      return encode_saturated<f>(b, random, rounding);
  }
  template <class F>
  LOWP_FN F scaled(F const& x, F const& factor) const {
    return divides() ? lanes::div(x, factor) : lanes::mul(x, factor);
  }
  /// Likewise, if short_inverse's sum replaces the factor of a block that divides.
  template <class F>
  LOWP_FN F scaled_plainly(F const& x, F const& factor, [[maybe_unused]] float const* rest) const {
    if constexpr (has_short_divisors<F>)
      return divides() ? quotient(x, factor, lanes::broadcast<F>(*rest)) : lanes::mul(x, factor);
    else
      return scaled(x, factor);
  }
  template <class F>
  LOWP_FN short_inverse<F> inverse(F const& divisor) const {
    return short_inverse<F>(divisor);
  }
  LOWP_FN bool divides() const { return of_element == element_rule::divide; }
  template <class F>
  LOWP_FN block_scale_of<F> scales(F const& amax, [[maybe_unused]] std::size_t block) const {
    if constexpr (requires { F::load(factors); })
      if (codes != nullptr) return {lanes::word<F>::load(codes + block), F::load(factors + block)};
    return scale_by<T, Scale>(of_scale, tensor, amax);
  }
  template <class F, class U, class R>
  LOWP_FN auto encode(F const& x, F const& factor, U const& random, R const& rounding,
                      special_results<U> results) const {
    if constexpr (is_integer_code<T>)
      results = special_results_of<element_format<T>, U>(rounding, overflow::saturate);
    auto result = code_by<T>(*this, x, factor, random, rounding, results);
    if constexpr (is_integer_code<T>) result.code = integer_code(result.code);
    if (report != nullptr) {
      using namespace lanes;
      F const most = broadcast<F>(largest_element<T>());
      bool const multiplies = of_element == element_rule::multiply;
      F const large = multiplies ? mul(x, factor) : x,
              limit = multiplies ? most : mul(most, factor);
      result.overflowed =
          mask_and(lanes::is_finite(x), greater(lanes::magnitude(large), bits(limit)));
    }
    return result;
  }
  template <class F>
  LOWP_FN F decode(F const& x, scale_type scale) const {
    return lanes::mul(x, lanes::broadcast<F>(float(scale)));
  }
  template <class U>
    requires is_integer_code<T>
  LOWP_FN auto decode_code(U const& code, scale_type scale, auto const&...) const {
    return decode(integer_value<decltype(lowp::lane<U>::to_real(code))>(code), scale);
  }

  LOWP_HOST_FN void add_to_report(counts const& more) const { report->add(more, beside_threads{}); }
  LOWP_FN void count_elements(auto& to, auto const& overflowed) const {
    if (report != nullptr) to.clipped += lanes::count(overflowed);
  }
  template <class U, class M>
  LOWP_FN void count_blocks(auto& to, U const& amax, U const& code, M const& is_block) const {
    using namespace lanes;
    if (report == nullptr) return;
    using F = decltype(lowp::lane<U>::to_real(amax));
    auto const is_zero_block = equal(amax, broadcast<U>(0));
    auto const is_special = greater(amax, broadcast<U>(binary32_infinity - 1));
    F const scale = part_codec<Scale, U>::template decode<F>(code);
    F const reach_of = mul(scale, broadcast<F>(largest_element<T>()));
    U const reach = bits(mul(reach_of, broadcast<F>(tensor.value)));
    auto const is_least = mask_and(equal(code, broadcast<U>(0)), mask_not(is_zero_block));
    constexpr std::uint32_t last = last_scale<Scale>;
    auto const is_most = mask_and(equal(code, broadcast<U>(last)),
                                  mask_and(greater(amax, reach), mask_not(is_special)));
    to.zero_blocks += count(mask_and(is_block, is_zero_block));
    to.nonfinite_blocks += count(mask_and(is_block, is_special));
    to.underflowed_scales += count(mask_and(is_block, is_least));
    to.saturated_scales += count(mask_and(is_block, is_most));
  }
};

}  // namespace detail

}  // namespace lowp
