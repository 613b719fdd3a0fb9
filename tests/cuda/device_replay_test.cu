// SPDX-License-Identifier: Apache-2.0
// On a GPU: streams, graphs that are replayed with other arguments, and what a call refuses.
// Without a GPU every test here is skipped; replay_test.cpp and status.cu have what needs none.
#include <gtest/gtest.h>
#include <lowp/cuda/lowp.cuh>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "checksums.hpp"
#include "device_memory.hpp"
#include "device_training.hpp"

namespace {

using namespace lowp_test;
using device_replay = on_a_gpu;

// The calls of `body(stream)`, captured.
class captured {
 public:
  template <class Body>
  explicit captured(Body const& body) {
    must(cudaStreamCreate(&stream_));
    must(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
    body(stream_);
    must(cudaStreamEndCapture(stream_, &graph_));
    must(cudaGraphInstantiate(&executable_, graph_, 0));
  }
  captured(captured const&) = delete;
  captured& operator=(captured const&) = delete;
  ~captured() {
    cudaGraphExecDestroy(executable_);
    cudaGraphDestroy(graph_);
    cudaStreamDestroy(stream_);
  }
  void replay() const {
    must(cudaGraphLaunch(executable_, stream_));
    must(cudaStreamSynchronize(stream_));
  }

 private:
  cudaStream_t stream_ = nullptr;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

// A captured step, replayed with another lr, step and stream each time.
TEST_F(device_replay, graph_of_a_training_step) {
  trained want(100'003);
  trained_on_device const got(want);
  device_object<lowp::cuda::step_state> const state;
  device_object<lowp::update_report> const report;
  captured graph([&](cudaStream_t stream) {
    lowp::cuda::update(stream, got.p, got.g, got.m, got.v, lowp::adamw{}, state.data(),
                       lowp::stochastic{.seed = 5}, report.data());
  });
  lowp::update_report expected;
  for (std::uint64_t const step : {1U, 2U, 3U, 100U}) {
    double const lr = 1e-2 / static_cast<double>(step);
    std::uint64_t const tensor = lowp::stream_of(7, 0);
    state.set({lr, step, tensor});
    graph.replay();
    lowp::update(want.p, want.g, want.m, want.v, lowp::adamw{.lr = lr}, step,
                 lowp::stochastic{.seed = 5, .stream = tensor}, expected);
    ASSERT_TRUE(got.equals(want)) << step;
  }
  expect_same(report.get(), expected);
}

TEST_F(device_replay, of_scale_alpha_and_rounding) {
  std::vector<float> const x = fixed_inputs<float>(1);
  std::vector<lowp::float8_e4m3fn> const none(x.size());
  device_range<float> const from(x);
  device_range<lowp::float8_e4m3fn> const to(none), copy(none);
  device_object<float> const number;
  device_object<lowp::stochastic> const rounding{lowp::stochastic{.seed = 0}};
  captured const graph([&](cudaStream_t stream) {
    lowp::cuda::scaled_cast(stream, from, to, number.data(), rounding.data());
    lowp::cuda::fused_add(stream, to, number.data(), from, rounding.data());
    lowp::cuda::cast(stream, to, copy);
  });
  for (std::uint64_t const far : {std::uint64_t{0}, std::uint64_t{9} << 32, ~std::uint64_t{0}}) {
    lowp::stochastic const mode{.seed = 3 + far, .stream = 4 + far, .offset = 5 + far};
    float const value = far == 0 ? 1.7f : -0.3f;
    number.set(value);
    rounding.set(mode);
    graph.replay();
    std::vector<lowp::float8_e4m3fn> want(x.size());
    lowp::scaled_cast(x, want, value, mode);
    lowp::fused_add(want, value, x, mode);
    EXPECT_TRUE(same_bits(to.read(), want));
    EXPECT_TRUE(same_bits(copy.read(), want));
  }
}

// The same text, as a status and as an exception.
template <class Tried, class Thrown>
std::string refusal(Tried const& tried, Thrown const& thrown) {
  lowp::cuda::status const status = tried();
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.code(), cudaSuccess);
  try {
    thrown();
    ADD_FAILURE() << "nothing was thrown";
  } catch (std::invalid_argument const& refused) {
    EXPECT_EQ(refused.what(), "lowp::cuda::" + status.message());
  }
  return status.message();
}
template <class... Arguments>
std::string refusal_of_fused_add(Arguments&&... arguments) {
  return refusal([&] { return lowp::cuda::try_fused_add(nullptr, arguments...); },
                 [&] { lowp::cuda::fused_add(nullptr, arguments...); });
}

TEST_F(device_replay, refuses_memory_by_name) {
  std::vector<float> host(8);
  device_range<float> const there(host), other(host);
  std::optional<device_range<float>> freed(std::in_place, host);
  std::span const gone(freed->data(), freed->size());
  freed.reset();
  std::span const aside(reinterpret_cast<float*>(reinterpret_cast<char*>(other.data()) + 1), 8);
  lowp::nearest_even const nearest;

  EXPECT_EQ(refusal_of_fused_add(there, 1e39, there),
            "fused_add: alpha is 1e+39, inf as a float, not finite");
  EXPECT_EQ(refusal_of_fused_add(there, 1.0f, aside),
            "fused_add: u is not aligned to its elements of 4 bytes: cudaMemcpy copies it to an "
            "aligned address");
  EXPECT_EQ(
      refusal_of_fused_add(there, 1.0f, there, nearest, static_cast<lowp::update_report*>(nullptr)),
      "the report is a null pointer");
  int reaches_all = 0;
  must(cudaDeviceGetAttribute(&reaches_all, cudaDevAttrPageableMemoryAccess, 0));
  if (reaches_all != 0) GTEST_SKIP() << "SKIPPED: this device can reach all of the host's memory";
  std::string const why = "is in host memory that the device cannot reach";
  lowp::update_report report;
  float const number = 1;
  EXPECT_EQ(refusal_of_fused_add(there, 1.0f, host), "fused_add: u " + why);
  EXPECT_EQ(refusal_of_fused_add(there, 1.0f, gone), "fused_add: u " + why);
  EXPECT_EQ(refusal_of_fused_add(there, 1.0f, there, nearest, report), "the report " + why);
  EXPECT_EQ(refusal_of_fused_add(there, &number, there), "an argument in device memory " + why);
  EXPECT_EQ(there.read(), host);
}

// A launch on the stream of all others ends a capture.
TEST_F(device_replay, tells_what_cuda_refuses) {
  device_range<float> const x(std::vector<float>(8, 1.0f));
  cudaStream_t stream = nullptr;
  must(cudaStreamCreate(&stream));
  must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  lowp::cuda::status const status = lowp::cuda::try_fused_add(nullptr, x, 1.0f, x);
  EXPECT_EQ(status.code(), cudaErrorStreamCaptureImplicit);
  EXPECT_NE(status.message().find("cudaLaunchKernelExC: cudaErrorStreamCaptureImplicit: "),
            std::string::npos)
      << status.message();
  try {
    lowp::cuda::fused_add(nullptr, x, 1.0f, x);
    ADD_FAILURE() << "nothing was thrown";
  } catch (lowp::cuda::error const& refused) {
    EXPECT_NE(refused.code(), cudaSuccess);
  }
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);
  must(cudaStreamDestroy(stream));
  static_cast<void>(cudaGetLastError());  // forgets it
  EXPECT_TRUE(lowp::cuda::try_fused_add(nullptr, x, 1.0f, x).ok());
  EXPECT_EQ(x.read(), std::vector<float>(8, 2.0f));
}

}  // namespace
