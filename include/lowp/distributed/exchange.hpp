// SPDX-License-Identifier: Apache-2.0
// Shards of arrays, and a reduction over ranks, in pieces. Each sender rounds its leaves to the
// wire. An all-to-all carries them to the owners, and each owner adds them in the order of leaves.
#pragma once

#include <lowp/distributed/wire.hpp>

#include <algorithm>
#include <numeric>
#include <ranges>

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
  std::uint64_t const skipped = std::min(number * size, whole.size);
  return {whole.first + skipped, std::min(size, whole.size - skipped)};
}

/// Gradients of a rank: a range of inputs, all of one size. A view must not make containers: they
/// would be gone before they are read.
template <class R>
concept leaf_list = std::ranges::random_access_range<R> && std::ranges::sized_range<R> &&
                    input<std::ranges::range_reference_t<R>> &&
                    std::ranges::borrowed_range<std::ranges::range_reference_t<R>>;

template <class G>
concept leaf_argument = leaf_list<G const> || input<G const>;

template <leaf_argument G>
auto leaves_of(G const& gradients) {
  if constexpr (leaf_list<G const>) {
    std::vector<std::span<element_of<std::ranges::range_reference_t<G const>> const>> leaves;
    for (auto&& leaf : gradients) leaves.emplace_back(leaf);
    return leaves;
  } else {
    return std::vector{std::span<element_of<G> const>(gradients)};
  }
}

template <class W>
concept wire_like = requires(W const& w) {
  w.words();
  w.invalid();
  w.bytes(std::uint64_t{});
};

/// Messages to or from all ranks, which follow each other in a buffer: their bytes.
struct message_list {
  std::vector<std::uint64_t> sizes, starts;
  std::uint64_t total = 0;

  message_list(int ranks, auto const& size_of) {
    for (int r = 0; r < ranks; ++r) {
      sizes.push_back(size_of(r));
      starts.push_back(total);
      total += sizes.back();
    }
  }
};

/// Sizes of an exchange: the same on all ranks but for `rank`.
struct exchange {
  static constexpr std::uint64_t unit = 256;  // a multiple of every block

  std::uint64_t count, granule;
  int rank, ranks;
  std::vector<std::uint64_t> leaves;  ///< of each rank
  std::uint64_t piece = unit;

  /// Chooses pieces whose messages fill at most `bytes` in each direction, or are one unit each.
  void cut(std::uint64_t bytes, std::uint64_t bytes_of_unit) {
    std::uint64_t const most = *std::ranges::max_element(leaves);
    std::uint64_t const one = most * static_cast<std::uint64_t>(ranks) * bytes_of_unit;
    piece = unit * (one == 0 ? 1 : std::max<std::uint64_t>(bytes / one, 1));
  }
  [[nodiscard]] shard of(int r) const { return shard_of(count, r, ranks, granule); }
  [[nodiscard]] std::uint64_t rounds() const {
    std::uint64_t largest = 0;
    for (int r = 0; r < ranks; ++r) largest = std::max(largest, of(r).size);
    return largest / piece + (largest % piece != 0);
  }
  [[nodiscard]] std::uint64_t leaves_before(int r) const {
    return std::accumulate(leaves.begin(), leaves.begin() + r, std::uint64_t{0});
  }
};

/// The part that mpi::communicator and nccl::communicator share: ranks and their shards.
class rank_group {
 public:
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] shard shard_of(std::uint64_t count) const {
    return lowp::shard_of(count, rank_, size_, granule_);
  }

 protected:
  explicit rank_group(std::uint64_t granule) : granule_(granule) {}
  [[nodiscard]] exchange exchange_of(std::uint64_t count) const {
    return {count, granule_, rank_, size_, {}};
  }
  static error_text check_granule(std::uint64_t granule) {
    if (granule != 0 && granule % exchange::unit == 0) return {};
    return joined_text({"granule is ", granule, ", not a multiple of 256"});
  }

  int rank_ = 0, size_ = 1;
  std::uint64_t granule_;
};

error_text check_reduction(char const* function, exchange const& e, auto const& leaves,
                           std::span<float> total, auto const& wire) {
  call_check check(function);
  if (std::string const wrong = wire.invalid(); !wrong.empty())
    check.add(joined_text({function, ": ", wrong.c_str()}));
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i].size() != e.count)
      check.add(joined_text({function, ": sizes differ: leaf 0 has ", e.count, ", leaf ", i,
                             " has ", leaves[i].size()}));
    check.no_overlap({"leaf ", leaves[i], std::to_string(i).c_str()}, {"total", total});
  }
  std::uint64_t const own = e.of(e.rank).size;
  if (!leaves.empty() && total.size() != own)
    check.add(joined_text({function, ": total has ", total.size(),
                           " elements, this rank's shard of ", e.count, " has ", own}));
  return check.text();
}

/// Runs all rounds. `carry(to, from)` sends the messages `to` of the send buffer, and receives the
/// messages `from` into the other buffer. `buffer(bytes sent, bytes received)` returns both.
void run_exchange(exchange const& e, auto const& executor, auto const& leaves,
                  std::span<float> total, auto const& wire, auto const& buffer, auto const& carry) {
  shard const own = e.of(e.rank);
  std::uint64_t const before = e.leaves_before(e.rank), all = e.leaves_before(e.ranks);
  std::uint64_t const rounds = e.rounds();
  for (std::uint64_t round = 0; round < rounds; ++round) {
    shard const mine = piece_of(own, round, e.piece);
    auto const theirs = [&](int r) { return piece_of(e.of(r), round, e.piece); };
    message_list const to(e.ranks,
                          [&](int r) { return leaves.size() * wire.bytes(theirs(r).size); });
    message_list const from(e.ranks, [&](int r) {
      return e.leaves[static_cast<std::size_t>(r)] * wire.bytes(mine.size);
    });
    auto const [sent, received] = buffer(to.total, from.total);
    for (int r = 0; r < e.ranks; ++r) {
      shard const piece = theirs(r);
      std::byte* at = sent + to.starts[static_cast<std::size_t>(r)];
      for (std::size_t l = 0; l < leaves.size() && piece.size != 0; ++l) {
        wire.encode(executor, leaves[l].subspan(piece.first, piece.size), at,
                    (before + l) * e.count + piece.first);
        at += wire.bytes(piece.size);
      }
    }
    carry(to, from);
    std::span<float> const target = total.subspan(mine.first - own.first, mine.size);
    for (std::uint64_t l = 0; l < all && mine.size != 0; ++l)
      wire.add(executor, received + l * wire.bytes(mine.size), target, l == 0);
  }
}

}  // namespace detail

}  // namespace lowp
