// SPDX-License-Identifier: Apache-2.0
// Times a launch among many that follow one another.
#pragma once

#include "memory.cuh"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace bench {

/// Seconds of one launch.
struct quantiles {
  double median = 0, p10 = 0, p90 = 0;

  static quantiles of(std::vector<double> samples) {
    std::sort(samples.begin(), samples.end());
    auto const at = [&](double share) {
      double const place = share * static_cast<double>(samples.size() - 1);
      auto const below = static_cast<std::size_t>(place);
      auto const above = std::min(below + 1, samples.size() - 1);
      return std::lerp(samples[below], samples[above], place - std::floor(place));
    };
    return {at(0.5), at(0.1), at(0.9)};
  }
};

class event {
 public:
  event() { must(cudaEventCreate(&event_)); }
  ~event() { cudaEventDestroy(event_); }
  event(event const&) = delete;
  event& operator=(event const&) = delete;

  void record(cudaStream_t stream) { must(cudaEventRecord(event_, stream)); }
  double seconds_since(event const& earlier) const {
    float milliseconds = 0;
    must(cudaEventElapsedTime(&milliseconds, earlier.event_, event_));
    return milliseconds * 1e-3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

/// launch(stream, number), for the numbers from 0 on, as a CUDA graph.
class graph {
 public:
  template <class Launch>
  graph(cudaStream_t stream, std::size_t launches, Launch const& launch) {
    cudaGraph_t captured = nullptr;
    must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    try {
      for (std::size_t i = 0; i < launches; ++i) launch(stream, i);
    } catch (...) {
      cudaStreamEndCapture(stream, &captured);
      throw;
    }
    must(cudaStreamEndCapture(stream, &captured));
    cudaError_t const code = cudaGraphInstantiate(&graph_, captured, 0);
    cudaGraphDestroy(captured);
    must(code);
    if constexpr (!is_rehearsal) must(cudaGraphUpload(graph_, stream));  // the emulation has none
  }
  ~graph() { cudaGraphExecDestroy(graph_); }
  graph(graph const&) = delete;
  graph& operator=(graph const&) = delete;

  void replay(cudaStream_t stream) { must(cudaGraphLaunch(graph_, stream)); }

 private:
  cudaGraphExec_t graph_ = nullptr;
};

inline constexpr std::size_t warm_ups = is_rehearsal ? 1 : 5,
                             replays = is_rehearsal ? 2
                                       : is_quick   ? 9
                                                    : 25,
                             least_launches = is_rehearsal ? 2 : 6;

/// Each set equally often.
inline std::size_t launches_of(std::size_t sets) {
  return (least_launches + sets - 1) / sets * sets;
}

template <class Launch>
quantiles time_launches(cudaStream_t stream, std::size_t sets, Launch const& launch) {
  std::size_t const launches = launches_of(sets);
  launch(stream, 0);  // loads the kernel, which a capture may not
  must(cudaStreamSynchronize(stream));
  graph work(stream, launches, launch);
  for (std::size_t i = 0; i < warm_ups; ++i) work.replay(stream);
  std::vector<event> marks(replays + 1);
  marks[0].record(stream);
  for (std::size_t i = 0; i < replays; ++i) {
    work.replay(stream);
    marks[i + 1].record(stream);
  }
  must(cudaStreamSynchronize(stream));
  std::vector<double> samples;
  for (std::size_t i = 0; i < replays; ++i)
    samples.push_back(marks[i + 1].seconds_since(marks[i]) / static_cast<double>(launches));
  return quantiles::of(samples);
}

}  // namespace bench
