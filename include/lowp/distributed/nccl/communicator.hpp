// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/cuda/grid.hpp>
#include <lowp/distributed/exchange.hpp>
#include <lowp/report/amax.hpp>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <stdexcept>

namespace lowp::nccl {

/// NCCL failed. The text has the function and the words of NCCL.
struct error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// NCCL's type of T, for the caller's own copies. A sum in it is rounded to T at each rank.
template <class T>
inline constexpr auto datatype =
    static_cast<ncclDataType_t>(detail::dtype_table::of<T>.nccl.value_or(ncclUint8));

/// mpi::communicator over device memory, on a stream: same shards, same sums, same bits. Nothing
/// synchronizes or allocates device memory. Each rank checks its own arguments alone.
///
///     nccl::communicator world(comm, stream, scratch);
///     world.reduce_scatter(leaves, total, wire<bfloat16>());
///     world.any(flag);  // the caller's kernels read the flag
///     world.all_gather(parameters);
///
/// @throws nccl::error            NCCL fails
/// @throws std::invalid_argument  wrong arguments of this rank. Other ranks may already wait then:
///                                abort the communicator
template <class Grid>
class basic_communicator : public detail::rank_group {
 public:
  /// @param comm     belongs to the caller, who keeps and destroys it
  /// @param scratch  device memory from cudaMalloc, half for each direction. An exchange goes in
  ///                 pieces that fit it, equal on all ranks
  /// @param granule  as for mpi::communicator
  basic_communicator(ncclComm_t comm, cudaStream_t stream, std::span<std::byte> scratch,
                     std::uint64_t granule = 256)
      : rank_group(granule), comm_(comm), stream_(stream), scratch_(scratch) {
    if (auto const wrong = check_granule(granule); !wrong.empty())
      detail::refuse(detail::joined_text({"nccl::communicator: ", wrong.c_str()}));
    call("ncclCommUserRank", ncclCommUserRank(comm, &rank_));
    call("ncclCommCount", ncclCommCount(comm, &size_));
  }

  /// Adds the leaves of all ranks, as mpi::communicator::reduce_scatter does.
  ///
  /// @param gradients  spans of device memory, equally many on all ranks; at least one. Or one span
  /// @param total      shard_of(count).size floats in device memory, apart from the leaves
  /// @throws std::invalid_argument  sizes differ, there is no leaf, or a scale is no power of two;
  ///                                total overlaps a leaf, or the scratch one of these; 256
  ///                                elements of each leaf and rank do not fit the scratch
  void reduce_scatter(detail::leaf_argument auto const& gradients, std::span<float> total,
                      detail::wire_like auto const& wire) const {
    auto const leaves = detail::leaves_of(gradients);
    detail::exchange e = exchange_of(leaves.empty() ? 0 : leaves[0].size());
    constexpr char function[] = "nccl::communicator::reduce_scatter";
    detail::call_check check(function);
    check.add(detail::check_reduction(function, e, leaves, total, wire));
    for (std::size_t i = 0; i < leaves.size(); ++i)
      check.no_overlap({"leaf ", leaves[i], std::to_string(i).c_str()}, {"scratch", scratch_});
    check.no_overlap({"total", total}, {"scratch", scratch_});
    detail::refuse_if(check.text());
    if (leaves.empty()) detail::refuse(detail::joined_text({function, ": there is no leaf"}));
    e.leaves.assign(static_cast<std::size_t>(size_), leaves.size());
    std::size_t const half = scratch_.size() / 512 * 256;
    std::size_t const least = leaves.size() * e.leaves.size() * wire.bytes(e.unit);
    if (half < least)
      detail::refuse(detail::joined_text(
          {function, ": scratch has ", scratch_.size(), " bytes, and needs ", 2 * least + 512}));
    e.cut(half, wire.bytes(e.unit));
    std::byte *const sent = scratch_.data(), *const received = sent + half;
    Grid grid(stream_);
    detail::run_exchange(
        e, cuda::on_grid<Grid>{{grid}}, leaves, total, wire,
        [&](std::uint64_t, std::uint64_t) { return std::pair(sent, received); },
        [&](auto const& to, auto const& from) {
          grid.outcome().or_throw();
          in_group([&] {
            for (int r = 0; r < size_; ++r) {
              auto const at = static_cast<std::size_t>(r);
              if (to.sizes[at] != 0)
                call("ncclSend",
                     ncclSend(sent + to.starts[at], to.sizes[at], ncclUint8, r, comm_, stream_));
              if (from.sizes[at] != 0)
                call("ncclRecv", ncclRecv(received + from.starts[at], from.sizes[at], ncclUint8, r,
                                          comm_, stream_));
            }
          });
        });
    grid.outcome().or_throw();
  }
  /// Copies every rank's shard of an array in device memory to all ranks, in place.
  template <output Whole>
  void all_gather(Whole&& whole) const {
    using T = element_of<Whole>;
    in_group([&] {
      for (int r = 0; r < size_; ++r) {
        shard const s = lowp::shard_of(std::ranges::size(whole), r, size_, granule_);
        T* const at = std::ranges::data(whole) + s.first;
        if (s.size != 0)
          call("ncclBroadcast",
               ncclBroadcast(at, at, s.size * sizeof(T), ncclUint8, r, comm_, stream_));
      }
    });
  }

  /// Makes maxima in device memory those of all ranks. A NaN of any rank wins.
  void merge(amax& largest) const { merge(std::span(&largest, 1)); }
  void merge(std::span<amax> largest) const { maximum(largest.data(), largest.size()); }
  /// Makes a flag in device memory that of all ranks: 0 if it is 0 on each.
  void any(std::uint32_t& flag) const { maximum(&flag, 1); }

 private:
  static void call(char const* function, ncclResult_t code) {
    if (code != ncclSuccess)
      detail::raise<error>(std::string(function) + ": " + ncclGetErrorString(code));
  }
  /// Ends the group also if a call throws: an open one would keep the thread's later calls.
  static void in_group(auto const& calls) {
    call("ncclGroupStart", ncclGroupStart());
    struct closing {
      bool is_open = true;
      ~closing() {
        if (is_open) ncclGroupEnd();
      }
    } group;
    calls();
    group.is_open = false;
    call("ncclGroupEnd", ncclGroupEnd());
  }
  void maximum(void* words, std::size_t count) const {
    call("ncclAllReduce", ncclAllReduce(words, words, count, ncclUint32, ncclMax, comm_, stream_));
  }

  ncclComm_t comm_;
  cudaStream_t stream_;
  std::span<std::byte> scratch_;
};

}  // namespace lowp::nccl
