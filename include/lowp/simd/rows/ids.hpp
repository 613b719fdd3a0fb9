// SPDX-License-Identifier: Apache-2.0
// Calls over the rows of a table that ids name.
#pragma once

#include <lowp/base/config.hpp>

namespace lowp::simd {

/// A copy of row ids[r] of a table for each row r, in bytes. If the id is `ignored`, the row gets
/// zeros. If it is no row, which only a GPU may meet, the row gets the code `nan`.
template <class Id>
struct gather_call {
  unsigned char const* table;
  std::size_t table_rows, table_stride;
  Id const* ids;
  std::int64_t ignored;
  unsigned char* out;
  std::size_t stride, row_bytes;
  std::uint32_t nan;  ///< repeated to 32 bits
  std::size_t rows, columns, first_row = 0;

  template <class Isa>
  LOWP_HOST_FN void body() const {
    for (std::size_t r = first_row; r < first_row + rows; ++r) {
      unsigned char* const to = out + r * stride;
      if (ids[r] == ignored)
        __builtin_memset(to, 0, row_bytes);
      else
        __builtin_memcpy(to, table + static_cast<std::size_t>(ids[r]) * table_stride, row_bytes);
    }
  }
};

/// Keys of rows in their order: an id above the number of a row. Those that count come first.
LOWP_FN constexpr std::uint64_t key_of_row(std::uint64_t id, std::uint64_t row) {
  return id << 32 | row;
}
inline constexpr std::uint64_t no_id = 0xffffffff;

/// The rows of each id as a group, in their order. Its sums are row `id` of a matrix.
struct rows_by_id {
  std::uint64_t const* keys;
  std::size_t places;

  LOWP_FN std::uint64_t target(std::size_t place) const { return keys[place] >> 32; }
  LOWP_FN std::size_t row(std::size_t place) const { return keys[place] & 0xffffffff; }
  LOWP_FN bool begins(std::size_t place) const {
    return target(place) != no_id && (place == 0 || target(place - 1) != target(place));
  }
  /// Returns the number of places before this one in its group, or `most` if that is less.
  LOWP_FN std::uint32_t before(std::size_t place, std::uint32_t most) const {
    if (target(place) == no_id) return most;
    std::uint32_t count = 0;
    while (count < most && !begins(place - count)) ++count;
    return count;
  }
  /// Looks ever farther ahead, then halves the distance.
  LOWP_FN std::size_t end(std::size_t place) const {
    auto const has = [&](std::size_t p) { return p < places && target(p) == target(place); };
    std::size_t last = place, step = 1;
    for (; has(last + step); step *= 2) last += step;
    for (; step != 0; step /= 2)
      if (has(last + step)) last += step;
    return last + 1;
  }
};

/// The keys of rows for an executor with its own memory, which has 2 * rows keys of scratch. The
/// second half gets them in order. An id that is ignored or no row becomes no_id.
template <class Id>
struct id_order_call {
  Id const* ids;
  std::size_t rows, table_rows;
  std::int64_t ignored;
  std::uint64_t* keys;
};

}  // namespace lowp::simd
