// SPDX-License-Identifier: Apache-2.0
// Codes with powers of two as scales: one for the tensor, or one for each block.
#pragma once

#include <lowp/storage/layout.hpp>
#include <lowp/storage/packed.hpp>
#include <lowp/storage/scale.hpp>

namespace lowp {

namespace detail {

template <narrow T>
struct scaled_layout : layout_of_parts<T> {
  float inverse, next, next_inverse;

  template <class U>
  class codec {
   public:
    LOWP_FN codec(scaled_layout const& layout, auto const& rounding, overflow policy, nans kind)
        : layout_(layout), part_(rounding, policy, kind) {}

    template <class F>
    LOWP_FN F decode(U const (&codes)[1]) const {
      return decoded<F>(codes, layout_.inverse);
    }
    template <class F>
    LOWP_FN F decode_new(U const (&codes)[1]) const {
      return decoded<F>(codes, layout_.next_inverse);
    }
    /// A code times its inverse may be 2^128.
    LOWP_FN bool is_finite_with_code() const {
      constexpr int most = 254 - T::descriptor.max_exponent();
      return static_cast<int>(lanes::bits(layout_.next_inverse) >> 23) <= most;
    }
    template <class F, class R>
    LOWP_FN auto encode(F const& w, U const& random, R const& rounding, U (&codes)[1]) const {
      auto const result =
          part_.encode(lanes::mul(w, lanes::broadcast<F>(layout_.next)), random, rounding);
      codes[0] = result.code;
      return result.overflowed;
    }

   private:
    template <class F>
    LOWP_FN static F decoded(U const (&codes)[1], float inverse) {
      return lanes::mul(part_codec<T, U>::template decode<F>(codes[0]),
                        lanes::broadcast<F>(inverse));
    }

    scaled_layout layout_;
    part_codec<T, U> part_;
  };
};

/// The codes of block_scaled<T, Block>: a span of T, or T itself if it is packed.
template <class T>
struct block_codes {
  using type = std::span<T>;
  using element = explicit_of<std::remove_const_t<T>>;
  static constexpr bool is_written = !std::is_const_v<T>;
};
template <class T, class Order>
struct block_codes<packed<T, Order>> : block_codes<T> {
  using type = packed<T, Order>;
};

inline namespace LOWP_UNIT {

/// Returns the error text of a scale other than a power of two whose inverse is normal too.
inline error_text check_power_of_two(float scale) {
  std::uint32_t const bits = lanes::bits(scale);
  if ((bits & 0x807fffff) == 0 && bits != 0 && bits < std::uint32_t{254} << 23) return {};
  return joined_text(
      {"scale is ", shortest_text(scale).text, ", not a power of two from 2^-126 to 2^126"});
}
inline float inverse_of_scale(float x) {
  return lanes::from_bits<float>((std::uint32_t{254} << 23) - lanes::bits(x));
}

/// Returns the error text of codes or of a number of scales, empty if both are right.
template <class Codes>
error_text check_blocks(Codes const& codes, std::size_t block, std::size_t scales,
                        char const* name = "scales") {
  if constexpr (is_packed<Codes>)
    if (error_text const why = codes.invalid(); !why.empty()) return why;
  std::size_t const blocks = blocks_in(codes.size(), block);
  if (scales == blocks) return {};
  return joined_text({codes.size(), " elements in blocks of ", block, " need ", blocks, " ", name,
                      ", not ", scales});
}

}  // namespace LOWP_UNIT

}  // namespace detail

/// Codes of a narrow format with one power of two for the tensor:
///
///     codes[i] = round(x * scale),  x = codes[i] / scale
///
/// A step stores new values with `next`, which then is the tensor's scale.
///
/// @tparam T  a narrow type; const if nothing is written, as for gradients
template <class T>
  requires narrow<std::remove_const_t<T>>
struct scaled {
  std::span<T> codes;
  float scale;         ///< a power of two, 2^-126 to 2^126
  float next = scale;  ///< the scale of what a step writes, likewise

  static constexpr char const* names[] = {""};
  LOWP_HOST_FN auto parts() const { return std::tuple(codes); }
  LOWP_HOST_FN detail::scaled_layout<detail::explicit_of<std::remove_const_t<T>>> layout() const {
    return {{}, detail::inverse_of_scale(scale), next, detail::inverse_of_scale(next)};
  }
  [[nodiscard]] LOWP_HOST_FN detail::error_text invalid() const {
    detail::error_text const wrong = detail::check_power_of_two(scale);
    return wrong.empty() ? detail::check_power_of_two(next) : wrong;
  }
};
template <class R, class... Scale>
scaled(R&&, Scale...) -> scaled<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

/// Codes of a narrow format with a power of two for every Block elements:
///
///     x[i] = codes[i] * scales[i / Block]
///
/// blocks_of<Block>(codes, scales) makes one. It is MX (OCP Microscaling Formats v1.0) if Block is
/// 32. A step gives each block the smallest scale that saturates none of its new values. A value
/// far below the largest of its block is rounded to zero. A block with a NaN or an infinity gets
/// the scale NaN, and is NaN as a whole.
///
/// @tparam T      a narrow type with zero, mostly fp8; const if nothing is written; or packed<T>
/// @tparam Block  elements per scale: 32, 64, 128 or 256
template <class T, int Block>
  requires(scalable<typename detail::block_codes<T>::element> &&
           (Block == 32 || Block == 64 || Block == 128 || Block == 256))
struct block_scaled {
  static constexpr bool is_written = detail::block_codes<T>::is_written;
  using scale_type = std::conditional_t<is_written, float8_e8m0fnu, float8_e8m0fnu const>;

  typename detail::block_codes<T>::type codes;
  std::span<scale_type> scales;  ///< one for each block; the last block may be short

  static constexpr int elements_per_scale = Block;
  using block_rule = detail::power_of_two_rule<typename detail::block_codes<T>::element>;
  static constexpr char const* names[] = {"", ".scales"};
  LOWP_HOST_FN auto parts() const {
    if constexpr (detail::is_packed<T>)
      return std::tuple(std::span(codes.data(), codes.size_bytes()), scales);
    else
      return std::tuple(codes, scales);
  }

  LOWP_HOST_FN static constexpr std::size_t blocks(std::size_t count) {
    return detail::blocks_in(count, Block);
  }
  [[nodiscard]] LOWP_HOST_FN detail::error_text invalid() const {
    return detail::check_blocks(codes, Block, scales.size());
  }
};

namespace functions {

template <int Block, std::ranges::range Codes, class Scales,
          class Blocks =
              block_scaled<std::remove_reference_t<std::ranges::range_reference_t<Codes>>, Block>>
  requires requires(Codes& codes, Scales& scales) { Blocks{codes, scales}; }
LOWP_HOST_FN Blocks blocks_of(Codes&& codes, Scales&& scales) {
  return {codes, scales};
}
template <int Block, class T, class Order, class Scales,
          class Blocks = block_scaled<packed<T, Order>, Block>>
  requires requires(packed<T, Order> const& codes, Scales& scales) { Blocks{codes, scales}; }
LOWP_HOST_FN Blocks blocks_of(packed<T, Order> const& codes, Scales&& scales) {
  return {codes, scales};
}

}  // namespace functions

}  // namespace lowp
