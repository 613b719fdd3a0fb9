// SPDX-License-Identifier: Apache-2.0
// The keys of stochastic_fast: the threads of a block make those of all groups that its tile has,
// each one once. Then a thread computes no Philox block for its own elements.
#pragma once

#include <lowp/cuda/chunk.hpp>
#include <lowp/cuda/tuning.hpp>

namespace lowp::cuda {

/// The key of a group, as a thread's draws need it. The high half of word b enters if bit b of an
/// element's place is set. The low half does if bit b + 3 is; the high half of word 3 always does.
struct group_key {
  piece<16> words;

  LOWP_FN static group_key of(std::uint32_t const (&block)[4]) {
    constexpr std::uint32_t high = 0xffff0000;
    return {{{block[0] << 16 | block[1] >> 16, (block[0] & high) | (block[2] & ~high),
              block[1] << 16 | block[2] >> 16, block[3]}}};
  }
  /// Computes the draws of eight elements from `place`, two in each word.
  LOWP_FN void draw(std::uint32_t (&word)[4], std::uint32_t place) const {
    constexpr std::uint32_t high = 0xffff0000;
    std::uint32_t product[chunk_size] = {}, of_place = 0;
    LOWP_UNROLL_ON_GPU
    for (int bit = 0; bit < 4; ++bit)
      of_place ^= (place >> (bit + 3) & 1) != 0 ? words.word[bit] : 0;
    product[0] = (words.word[3] ^ of_place << 16) & high;
    LOWP_UNROLL_ON_GPU
    for (int k = 1; k < chunk_size; ++k) {
      int const bit = k >= 4 ? 2 : k / 2;
      product[k] = (product[k - (1 << bit)] ^ words.word[bit]) & high;
    }
    LOWP_UNROLL_ON_GPU
    for (std::uint32_t k = 0; k < chunk_size; ++k)
      detail::multiply_twice(product[k], detail::factor_of_place(place | k), high);
    LOWP_UNROLL_ON_GPU
    for (int k = 0; k < 4; ++k) word[k] = detail::draws_of_products(product[k], product[k + 4]);
  }
};

/// Blocks of eight draws of groups whose keys lie in shared memory. Element `begin` has a place in
/// the first group.
struct shared_blocks {
  group_key const* keys = nullptr;
  std::uint64_t begin = 0;
  std::uint32_t place = 0;

  LOWP_FN void find(std::uint32_t (&word)[4], std::uint32_t i) const {
    group_key const key = keys[i / detail::group_size];
    key.draw(word, i % detail::group_size / chunk_size * chunk_size);
  }
};

/// Makes the keys of a tile, which begins at element `begin`, for each accessor that draws by keys.
/// All of these have the mode of the call, with draws of their own.
template <int Passes, int Keyed>
LOWP_FN void make_group_keys(auto const& thread, std::uint64_t begin, auto&... accessors) {
  constexpr unsigned groups = tuning::block_threads * Passes * chunk_size / detail::group_size + 1;
  auto* const keys = thread.template shared<group_key, int{groups} * Keyed>();
  auto const each_keyed = [&](auto const& body) {
    unsigned number = 0;
    auto const visit = [&](auto& each) {
      if constexpr (requires { requires std::remove_cvref_t<decltype(each.keyed())>::has_keys; })
        body(number++, each.keyed());
    };
    (visit(accessors), ...);
  };
  detail::random_origin origin;
  each_keyed([&](unsigned, auto& each) { origin = each.origin(); });
  std::uint64_t const start = origin.offset + begin;
  // Hidden, so that no compiler keeps in registers what is the same for all tiles.
  std::uint32_t const place = lanes::hidden(static_cast<std::uint32_t>(start) % detail::group_size);
  for (unsigned i = thread.thread(); i < groups * Keyed; i += thread.threads()) {
    random_source source = origin.source;
    each_keyed([&](unsigned number, auto& each) {
      if (i / groups == number) source.draw = each.origin().source.draw;
    });
    std::uint32_t word[4];
    source.block(word, start + i % groups * detail::group_size,
                 {lanes::hidden(static_cast<std::uint32_t>(source.seed)),
                  lanes::hidden(static_cast<std::uint32_t>(source.seed >> 32))});
    keys[i] = group_key::of(word);
  }
  each_keyed(
      [&](unsigned number, auto& each) { each.take({keys + number * groups, begin, place}); });
  thread.barrier();
}

}  // namespace lowp::cuda
