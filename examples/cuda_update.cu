// SPDX-License-Identifier: Apache-2.0
// Training steps on a GPU: the bits of the processor, captured once and replayed with other rates.
#include <lowp/cuda/lowp.cuh>

#include <thrust/device_vector.h>

#include <cstdio>
#include <stdexcept>

void must(cudaError_t code) {
  if (code != cudaSuccess) throw std::runtime_error(cudaGetErrorString(code));
}

int main() {
  try {
    thrust::device_vector<lowp::bfloat16> p(1000, lowp::bfloat16(1.0f)),
        g(1000, lowp::bfloat16(0.5f));
    thrust::device_vector<float> m(1000), v(1000);
    thrust::device_vector<lowp::cuda::step_state> state(1);
    thrust::device_vector<lowp::update_report> report(1);

    cudaStream_t stream;
    must(cudaStreamCreate(&stream));
    cudaGraph_t graph;
    must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    lowp::cuda::update(stream, p, g, m, v, lowp::adamw{}, state.data().get(),
                       lowp::stochastic{.seed = 42}, report.data().get());
    must(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t step;
    must(cudaGraphInstantiate(&step, graph, 0));

    for (unsigned i = 1; i <= 100; ++i) {
      state[0] = {.lr = 1e-4 / i, .step = i};
      must(cudaGraphLaunch(step, stream));
      must(cudaStreamSynchronize(stream));
    }
    lowp::update_report const all = report[0];
    std::printf("applied %.2f of 100 steps\n", all.applied_ratio());
  } catch (std::exception const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
