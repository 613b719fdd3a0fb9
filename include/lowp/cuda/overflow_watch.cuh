// SPDX-License-Identifier: Apache-2.0
// An overflow_watch of tensors in device memory. The stream reads each tensor; `tell` waits for the
// stream and judges them.
//
//     lowp::overflow_watch<float16> watch;
//     thrust::device_vector<lowp::abs_range_report<float16>> room(200);
//     lowp::cuda::overflow_watch gpu(watch, view(room.data(), room.size()), stream);
//     each step:  watch.step(step);
//                 ... gpu.forward(fc1).weight(w).input(x).output(y);    // launches
//                 gpu.tell();                                           // waits, and throws
#pragma once

#include <lowp/base/hide_macros.inc>

#include <lowp/cuda/lowp.cuh>
#include <lowp/watch/overflow_watch.hpp>
#include <lowp/watch/watch_queue.hpp>

#include <cuda_runtime_api.h>

namespace lowp::cuda {

/// Passes tensors that a stream computes to a watch of the host. A launch of its own
/// on the stream reads each tensor. It neither synchronizes nor allocates device memory.
template <census_target To>
class overflow_watch {
 public:
  using frame = watched_frame<overflow_watch>;

  /// @param watch    has the places, the policy and the reports; it must live as long
  /// @param scratch  device memory: one range for each tensor between two calls of `tell`
  /// @throws lowp::cuda::error  CUDA refuses a call
  overflow_watch(lowp::overflow_watch<To>& watch, std::span<abs_range_report<To>> scratch,
                 cudaStream_t stream = nullptr)
      : watch_(watch), scratch_(scratch), stream_(stream) {
    clear(scratch.size());
  }

  /// Begins a frame, as in lowp::overflow_watch. A step that is not watched launches nothing.
  /// @throws std::invalid_argument  a frame gets more tensors than the scratch holds, or memory
  ///                                that the device cannot reach
  frame forward(std::size_t place) { return begin(place, watch_pass::forward); }
  frame backward(std::size_t place) { return begin(place, watch_pass::backward); }

  /// Waits for the stream and passes all frames to the watch, in its present step.
  /// @throws watch_error        at the first trouble, if the policy of the watch throws
  /// @throws lowp::cuda::error  CUDA refuses a call
  void tell() {
    std::size_t const count = queue_.size();
    std::vector<abs_range_report<To>> seen(count);
    if (count != 0) {
      status("cudaMemcpyAsync",
             cudaMemcpyAsync(seen.data(), scratch_.data(), seen.size() * sizeof seen[0],
                             cudaMemcpyDeviceToHost, stream_))
          .or_throw();
      clear(count);
      status("cudaStreamSynchronize", cudaStreamSynchronize(stream_)).or_throw();
    }
    std::vector<abs_range> const ranges(seen.begin(), seen.end());
    queue_.pass_to(watch_, ranges);
  }

 private:
  friend frame;

  frame begin(std::size_t place, watch_pass pass) {
    bool const is_watched = watch_.is_watched();
    return frame(is_watched ? this : nullptr, is_watched ? queue_.begin(place, pass) : 0);
  }
  void see(std::uint64_t number, watch_role role, std::string_view name, auto const& values,
           lowp::detail::watch_expression const&) {
    if (queue_.size() == scratch_.size())
      detail::refuse_if("cuda::overflow_watch: there is room for " +
                        std::to_string(scratch_.size()) + " tensors between two calls of tell()");
    abs_range_of(stream_, values, scratch_.data() + queue_.size());
    queue_.add(number, role, name);
  }
  void clear(std::size_t count) {
    status("cudaMemsetAsync",
           cudaMemsetAsync(scratch_.data(), 0, count * sizeof scratch_[0], stream_))
        .or_throw();
  }

  lowp::overflow_watch<To>& watch_;
  std::span<abs_range_report<To>> scratch_;
  cudaStream_t stream_;
  detail::watch_queue queue_;
};

}  // namespace lowp::cuda

#include <lowp/base/restore_macros.inc>
