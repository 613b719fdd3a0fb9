// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/storage/packed.hpp>
#include <lowp/storage/scale.hpp>

#include <tuple>

namespace lowp {

namespace detail {

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
