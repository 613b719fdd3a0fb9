// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/base/config.hpp>

namespace lowp {

/// A rank's elements of an array: `size` of them, from element `first`.
struct shard {
  std::uint64_t first = 0, size = 0;

  [[nodiscard]] constexpr std::uint64_t end() const { return first + size; }
};

/// Returns the shard of `rank` among `ranks`. Shards follow each other in the order of ranks. They
/// begin at multiples of `granule` elements and differ by at most one granule. Only the last rank
/// may have a part of a granule. A short array leaves the first ranks without elements.
constexpr shard shard_of(std::uint64_t count, int rank, int ranks, std::uint64_t granule = 256) {
  auto const n = static_cast<std::uint64_t>(ranks);
  std::uint64_t const granules = count / granule + (count % granule != 0);
  auto const first = [&](std::uint64_t r) {
    std::uint64_t const at = (granules / n * r + granules % n * r / n) * granule;
    return r == n || at > count ? count : at;
  };
  auto const r = static_cast<std::uint64_t>(rank);
  return {first(r), first(r + 1) - first(r)};
}

namespace detail {

/// Returns piece `number` of a shard that is cut into pieces of `size` elements.
constexpr shard piece_of(shard const& whole, std::uint64_t number, std::uint64_t size) {
  std::uint64_t const skipped = number * size;
  if (skipped >= whole.size) return {whole.end(), 0};
  std::uint64_t const left = whole.size - skipped;
  return {whole.first + skipped, left < size ? left : size};
}

}  // namespace detail

}  // namespace lowp
