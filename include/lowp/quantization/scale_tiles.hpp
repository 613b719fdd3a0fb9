// SPDX-License-Identifier: Apache-2.0
// Scales as cuBLAS and tensor cores read them: tiles of 128 rows and 4 columns, padded with code 0.
//
//     to_scale_tiles(scales, rows, columns, tiles)      // columns: scales of a row of the matrix
//     from_scale_tiles(tiles, rows, columns, scales)
#pragma once

#include <lowp/ops/arguments.hpp>

namespace lowp {

/// Returns the number of scales in the tiles of a matrix of scales.
LOWP_FN constexpr std::size_t scale_tiles_size(std::size_t rows, std::size_t columns) {
  return (rows + 127) / 128 * 128 * ((columns + 3) / 4 * 4);
}

/// Returns the place of a scale. Torchao's to_blocked has the same order.
LOWP_FN constexpr std::size_t scale_tiles_place(std::size_t row, std::size_t column,
                                                std::size_t columns) {
  std::size_t const tile = row / 128 * ((columns + 3) / 4) + column / 4;
  return tile * 512 + row % 32 * 16 + row % 128 / 32 * 4 + column % 4;
}

namespace detail::inline LOWP_UNIT {

template <bool IsToTiles>
struct scale_tiles_operation {
  template <input From, output To>
    requires narrow<element_of<To>> && std::same_as<element_of<From>, element_of<To>>
  void operator()(From&& from, std::size_t rows, std::size_t columns, To&& to) const {
    std::span<element_of<To> const> const in(from);
    std::span<element_of<To>> const out(to);
    constexpr char const* name = IsToTiles ? "to_scale_tiles" : "from_scale_tiles";
    bool const is_a_size = columns == 0 || rows * columns / columns == rows;
    std::size_t const size = is_a_size ? rows * columns : SIZE_MAX;
    std::size_t const padded = scale_tiles_size(rows, columns);
    call_check check(name);
    if (in.size() != (IsToTiles ? size : padded) || out.size() != (IsToTiles ? padded : size))
      check.add(joined_text({name, ": ", rows, " x ", columns, " scales are ", size, ", and ",
                             padded, " in tiles: in has ", in.size(), ", out has ", out.size()}));
    check.no_overlap(extent("in", in), extent("out", out));
    refuse_if(check.text());
    if (IsToTiles)
      for (auto& scale : out) scale = element_of<To>::from_bits(0);
    for (std::size_t i = 0; i < size; ++i) {
      std::size_t const place = scale_tiles_place(i / columns, i % columns, columns);
      out[IsToTiles ? place : i] = in[IsToTiles ? i : place];
    }
  }
};

}  // namespace detail::inline LOWP_UNIT

inline constexpr detail::scale_tiles_operation<true> to_scale_tiles{};
inline constexpr detail::scale_tiles_operation<false> from_scale_tiles{};

}  // namespace lowp
