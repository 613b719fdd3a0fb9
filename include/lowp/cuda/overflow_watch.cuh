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

#include <lowp/cuda/lowp.cuh>
#include <lowp/watch/overflow_watch.hpp>
#include <lowp/watch/queue.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lowp::cuda {

/// Passes tensors that a stream computes to a watch of the host. A launch of its own
/// on the stream reads each tensor. It neither synchronizes nor allocates device memory.
template <census_target To>
class overflow_watch {
 public:
  class frame;

  /// @param watch    has the places, the policy and the reports; it must live as long
  /// @param scratch  device memory: one range for each tensor between two calls of `tell`
  /// @throws lowp::cuda::error  CUDA refuses a call
  overflow_watch(lowp::overflow_watch<To>& watch, std::span<abs_range_report<To>> scratch,
                 cudaStream_t stream = nullptr)
      : watch_(watch), scratch_(scratch), stream_(stream) {
    clear(scratch.size());
  }

  /// Begins a frame, as in lowp::overflow_watch. A step that is not watched launches nothing.
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
    queue_.tell(watch_, ranges);
  }

 private:
  frame begin(std::size_t place, watch_pass pass) {
    bool const is_watched = watch_.is_watched();
    return frame(is_watched ? this : nullptr, is_watched ? queue_.begin(place, pass) : 0);
  }
  template <class T>
  void see(std::size_t number, watch_role role, std::string_view name, T const& values) {
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

/// A frame: ranges of device memory, as the operations of this folder take them. It refers to the
/// watch only, so it may be copied.
/// @throws std::invalid_argument  more tensors than the scratch holds; memory that the device
///                                cannot reach
template <census_target To>
class overflow_watch<To>::frame {
 public:
  template <class T>
  frame weight(T const& values) const {
    return weight("weight", values);
  }
  template <class T>
  frame weight(std::string_view name, T const& values) const {
    return see(watch_role::weight, name, values);
  }
  template <class T>
  frame input(T const& values) const {
    return see(watch_role::input, {}, values);
  }
  template <class T>
  frame output(T const& values) const {
    return see(watch_role::output, {}, values);
  }

 private:
  friend overflow_watch;
  frame(overflow_watch* watch, std::size_t number) : watch_(watch), number_(number) {}

  template <class T>
  frame see(watch_role role, std::string_view name, T const& values) const {
    if (watch_ != nullptr) watch_->see(number_, role, name, values);
    return *this;
  }

  overflow_watch* watch_;
  std::size_t number_;
};

}  // namespace lowp::cuda
