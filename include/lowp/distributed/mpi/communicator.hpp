// SPDX-License-Identifier: Apache-2.0
// Sharded training over MPI 3 or newer.
#pragma once

#include <lowp/distributed/exchange.hpp>
#include <lowp/distributed/mpi/datatype.hpp>
#include <lowp/report/amax.hpp>

#include <climits>

namespace lowp::mpi {

/// Collective calls of a sharded training step, by all ranks in one order. shard_of cuts arrays.
///
///     mpi::communicator world(MPI_COMM_WORLD);
///     std::vector<float> total(world.shard_of(count).size);
///     world.reduce_scatter(leaves, total, wire<bfloat16>());
///     if (!world.any(has_overflowed)) update(...);  // all ranks skip, or none
///     world.all_gather(parameters);
///
/// It works on a duplicate of the communicator. Its memory is two buffers that keep their size.
/// @throws mpi::error             MPI does not run, or fails and returns: a lost rank mostly ends
///                                the job
/// @throws std::invalid_argument  on every rank if one of them is given wrong arguments, before
///                                anything is written
class communicator : public detail::rank_group {
 public:
  /// Duplicates `comm`, which is a collective call. `comm` must be one group, not MPI_COMM_NULL.
  /// @param piece_bytes  size of each buffer. An exchange goes in pieces of this size, at least 256
  ///                     elements of each leaf and shard
  /// @param granule      shards begin at its multiples: a multiple of 256. If it is 2^14, merged
  ///                     sums and norms have the same bits for any number of ranks
  /// @throws std::invalid_argument  on every rank: a granule is no multiple of 256, or two ranks
  ///                                have other arguments
  explicit communicator(MPI_Comm comm, std::size_t piece_bytes = std::size_t{16} << 20,
                        std::uint64_t granule = 256)
      : rank_group(granule), piece_bytes_(piece_bytes < INT_MAX ? piece_bytes : INT_MAX) {
    detail::check_mpi_runs();
    int has_two_groups = 0;
    if (comm == MPI_COMM_NULL)
      detail::raise<error>(
          "lowp::mpi::communicator: comm is MPI_COMM_NULL: is this rank left out?");
    call("MPI_Comm_test_inter", MPI_Comm_test_inter(comm, &has_two_groups));
    if (has_two_groups != 0)
      detail::raise<error>("lowp::mpi::communicator: comm has two groups: merge them first");
    call("MPI_Comm_dup", MPI_Comm_dup(comm, &comm_));
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
    if (auto const wrong = check_settings(); !wrong.empty()) {
      MPI_Comm_free(&comm_);
      detail::refuse(detail::joined_text({"mpi::communicator: ", wrong.c_str()}));
    }
  }
  communicator(communicator const&) = delete;
  communicator& operator=(communicator const&) = delete;
  ~communicator() {
    if (!detail::is_mpi_over()) MPI_Comm_free(&comm_);
  }

  /// Adds the leaves of all ranks: total[i] is the sum of leaf[shard.first + i] over all leaves.
  /// The sender rounds each value once, to the wire's format. The owner adds in float.
  ///
  /// **The bits are the same for any number of ranks if the leaves are the same.** A leaf is an
  /// addend, such as the gradient of a micro-batch. Leaves are numbered from rank 0's first, and
  /// added in that order: give each rank a run of them. A rank that first adds its micro-batches
  /// sends less, but the bits then depend on the number of ranks. A stochastic wire takes for
  /// element i of leaf l the random bits of index l * count + i: give it a stream of its own.
  ///
  /// @param gradients  ranges of float or a narrow type, `count` elements each, or one such range.
  ///                   Every rank has one leaf or more; their number may differ
  /// @param total      shard_of(count).size floats, apart from the leaves
  /// @param wire       wire<T>(rounding, scale) or block_wire<T, Block>(rounding), equal on all
  ///                   ranks. wire<float>() rounds nothing
  /// @throws std::invalid_argument  sizes differ on a rank or between ranks; formats, scales,
  ///                                roundings or random bits of wires differ; a rank has no leaf; a
  ///                                scale is no power of two; total overlaps a leaf
  void reduce_scatter(detail::leaf_argument auto const& gradients, std::span<float> total,
                      detail::wire_like auto const& wire) {
    auto const leaves = detail::leaves_of(gradients);
    detail::exchange e = exchange_of(leaves.empty() ? 0 : leaves[0].size());
    constexpr char function[] = "mpi::communicator::reduce_scatter";
    agree(function, detail::check_reduction(function, e, leaves, total, wire), leaves.size(),
          wire.words(), e);
    e.cut(piece_bytes_, wire.bytes(e.unit));
    detail::run_exchange(
        e, simd::this_thread{}, leaves, total, wire,
        [&](std::uint64_t out, std::uint64_t in) {
          if (sent_.size() < out) sent_.resize(out);
          if (received_.size() < in) received_.resize(in);
          return std::pair(sent_.data(), received_.data());
        },
        [&](auto const& to, auto const& from) {
          call("MPI_Alltoallv",
               MPI_Alltoallv(sent_.data(), integers(to.sizes).data(), integers(to.starts).data(),
                             MPI_BYTE, received_.data(), integers(from.sizes).data(),
                             integers(from.starts).data(), MPI_BYTE, comm_));
        });
  }
  /// Copies every rank's shard of an array to all ranks, in place.
  ///
  /// @param whole  `count` elements. This rank's shard is read, the others are written
  /// @throws std::invalid_argument  sizes or formats differ between ranks
  template <output Whole>
  void all_gather(Whole&& whole) {
    using T = element_of<Whole>;
    constexpr std::uint64_t unit = detail::exchange::unit;
    std::uint64_t const count = std::ranges::size(whole);
    detail::exchange e = exchange_of(count);
    constexpr char function[] = "mpi::communicator::all_gather";
    detail::error_text wrong;
    if (count / unit >= INT_MAX)
      wrong =
          detail::joined_text({function, ": whole has ", count, " elements, beyond 256 * INT_MAX"});
    agree(function, wrong, 1, detail::words_of(detail::text_of_type<T>()), e);
    e.cut(piece_bytes_, unit * sizeof(T));
    // Numbers of units fit an int, unlike bytes. The rest at the end is a message of its own.
    datatype const units(unit * sizeof(T));
    std::uint64_t const rounds = e.rounds();
    for (std::uint64_t round = 0; round < rounds; ++round) {
      std::vector<int> sizes, starts;
      for (int r = 0; r < size_; ++r) {
        shard const piece = detail::piece_of(e.of(r), round, e.piece);
        sizes.push_back(static_cast<int>(piece.size / unit));
        starts.push_back(static_cast<int>(piece.first / unit));
      }
      call("MPI_Allgatherv",
           MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, std::ranges::data(whole),
                          sizes.data(), starts.data(), units, comm_));
    }
    if (std::uint64_t const rest = count % unit; rest != 0)
      call("MPI_Bcast", MPI_Bcast(std::ranges::data(whole) + (count - rest),
                                  static_cast<int>(rest * sizeof(T)), MPI_BYTE, size_ - 1, comm_));
  }

  /// Makes `largest` the maximum of all ranks. A NaN of any rank wins.
  void merge(amax& largest) { merge(std::span(&largest, 1)); }
  /// @param largest  fewer than 2^31, equally many on all ranks, which nothing checks
  void merge(std::span<amax> largest) {
    static_assert(sizeof(amax) == sizeof(std::uint32_t));
    detail::check_mpi_runs();
    call("MPI_Allreduce",
         MPI_Allreduce(MPI_IN_PLACE, largest.data(), static_cast<int>(largest.size()), MPI_UINT32_T,
                       MPI_MAX, comm_));
  }
  /// Adds the reports of all ranks with +=, in the order of ranks: gradient_report, sum_report,
  /// update_report. All ranks get the same bits.
  template <class Report>
    requires std::is_trivially_copyable_v<Report> && (!std::same_as<Report, amax>) &&
             requires(Report& to, Report const& from) { to += from; }
  void merge(Report& report) {
    std::vector<Report> const all = of_all_ranks(report);
    report = Report{};
    for (Report const& each : all) report += each;
  }
  /// Returns true on all ranks if `here` is true on any: one decision to skip a step.
  [[nodiscard]] bool any(bool here) {
    detail::check_mpi_runs();
    int decision = here ? 1 : 0;
    call("MPI_Allreduce", MPI_Allreduce(MPI_IN_PLACE, &decision, 1, MPI_INT, MPI_LOR, comm_));
    return decision != 0;
  }

 private:
  static void call(char const* function, int code) { detail::check_mpi(function, code); }

  template <class T>
  std::vector<T> of_all_ranks(T const& mine) {
    static_assert(sizeof(T) <= INT_MAX);
    constexpr int bytes = static_cast<int>(sizeof(T));
    detail::check_mpi_runs();
    std::vector<T> all(static_cast<std::size_t>(size_));
    call("MPI_Allgather",
         MPI_Allgather(&mine, bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, comm_));
    return all;
  }

  detail::error_text check_settings() {
    auto const granules = of_all_ranks(granule_), sizes = of_all_ranks(piece_bytes_);
    for (std::uint64_t const each : granules)
      if (auto const wrong = check_granule(each); !wrong.empty()) return wrong;
    for (auto const& [name, all] : {std::pair{"granules", &granules}, {"piece_bytes", &sizes}})
      for (std::size_t r = 1; r < all->size(); ++r)
        if (all->at(r) != all->front())
          return detail::joined_text(
              {name, " differ: rank 0 has ", all->front(), ", rank ", r, " has ", all->at(r)});
    return {};
  }

  static std::vector<int> integers(std::vector<std::uint64_t> const& numbers) {
    return {numbers.begin(), numbers.end()};
  }

  /// Compares the arguments of all ranks. Throws on all of them, or sets the numbers of leaves.
  void agree(char const* function, detail::error_text const& wrong, std::uint64_t leaf_count,
             detail::wire_words const& wire, detail::exchange& e) {
    struct arguments {
      std::uint64_t is_wrong, count, leaves;
      detail::wire_words wire;
    };
    auto const all = of_all_ranks(arguments{wrong.empty() ? 0u : 1u, e.count, leaf_count, wire});
    using detail::refuse, detail::joined_text;
    detail::refuse_if(wrong);
    for (std::size_t r = 0; r < all.size(); ++r) {
      if (all[r].is_wrong != 0)
        refuse(joined_text({function, ": rank ", r, " refused its arguments"}));
      if (all[r].leaves == 0) refuse(joined_text({function, ": rank ", r, " has no leaf"}));
      e.leaves.push_back(all[r].leaves);
    }
    for (std::size_t r = 1; r < all.size(); ++r) {
      if (all[r].count != all[0].count)
        refuse(joined_text({function, ": sizes differ: rank 0 has ", all[0].count,
                            " elements, rank ", r, " has ", all[r].count}));
      if (all[r].wire != all[0].wire)
        refuse(joined_text({function, ": formats differ: rank 0 has ", all[0].wire.data(),
                            "; rank ", r, " has ", all[r].wire.data()}));
    }
    std::uint64_t const most = std::ranges::max(e.leaves);
    // The bytes of a unit of each leaf and shard must fit an int.
    if (most * all.size() * 4 * detail::exchange::unit > INT_MAX)
      refuse(joined_text({function, ": ", most, " leaves of ", all.size(),
                          " ranks are too many for one message: add some first"}));
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  std::uint64_t piece_bytes_;
  std::vector<std::byte> sent_, received_;
};

}  // namespace lowp::mpi
