// SPDX-License-Identifier: Apache-2.0
// Fused steps for optimizer.py. A library serves one kind of parameters; build.py has the command:
//
//     LOWP_TORCH_OPTIMIZER  adamw, lion or direction
//     LOWP_TORCH_ELEMENT    float32, bfloat16 or float16
//     LOWP_TORCH_STORAGE    plain, kahan, master, corrected8 or corrected16
//     LOWP_TORCH_MOMENT     a member of moments
//     LOWP_TORCH_ROUNDING   nearest_even, stochastic or stochastic_fast
//     LOWP_TORCH_GRADIENT   float32, bfloat16 or float16, unless it is ELEMENT
//
// nvcc compiles it for tensors on a GPU, whose storage is plain.
#include "fused.hpp"

#include <lowp/cast.hpp>
#ifdef __CUDACC__
#include <lowp/cuda/lowp.cuh>
#endif

namespace {

using float32 = float;
using lowp::bfloat16, lowp::float16;
using element = LOWP_TORCH_ELEMENT;
#ifdef LOWP_TORCH_GRADIENT
using gradient = LOWP_TORCH_GRADIENT;
#else
using gradient = element;
#endif

using kind =
    fused_kind<LOWP_TORCH_OPTIMIZER, LOWP_TORCH_STORAGE<element>, moments::LOWP_TORCH_MOMENT<true>,
               moments::LOWP_TORCH_MOMENT<false>, gradient, lowp::LOWP_TORCH_ROUNDING>;

#ifdef __CUDACC__

/// Takes a step of all tensors on the stream. One kernel takes many, and one each run of a shard.
/// It counts reports in `s.scratch` if asked, and then waits; else it waits for nothing. There is
/// at least one tensor.
void step_on_gpu(std::span<tensor> tensors, settings const& s) {
  static_assert(!kind::has_extra, "fingerprints need memory of the processor");
  using listed = decltype(kind::part_of(tensor(), 0, 0));
  std::uint32_t const first = tensors.front().number;
  std::vector<listed> list(tensors.back().number - first + 1, listed{});
  std::vector<lowp::update_report> reports(s.reports != 0 ? list.size() : 0);
  std::span const theirs(static_cast<lowp::update_report*>(s.scratch), reports.size());
  auto const stream = static_cast<cudaStream_t>(s.stream);
  auto const check = [](cudaError_t error) {
    if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
  };
  auto const rates = LOWP_TORCH_OPTIMIZER::rates(s);
  auto const step = [&](std::vector<listed> const& some, tensor const& t) {
    auto const random = rounding_of<lowp::LOWP_TORCH_ROUNDING>(s, t, 0);
    if (s.reports == 0) return lowp::cuda::update(stream, some, rates, s.step, random);
    lowp::cuda::update(stream, some, rates, s.step, random,
                       theirs.subspan(t.number - first, some.size()));
  };
  if (s.reports != 0)
    check(cudaMemcpyAsync(theirs.data(), reports.data(), theirs.size_bytes(),
                          cudaMemcpyHostToDevice, stream));
  // The place in the list keys the random bits. Between numbers stand tensors without elements.
  auto const is_whole = [](tensor const& t) { return t.is_run() && t.first == 0; };
  for (tensor const& t : tensors)
    if (is_whole(t)) list[t.number - first] = kind::part_of(t, 0, t.n, t.name);
  tensor origin{};
  origin.number = first;
  step(list, origin);
  for (tensor const& t : tensors)
    if (!is_whole(t))
      for_each_run(kind::layout, t, 0, t.n, [&](tensor const& run, std::size_t, std::size_t n) {
        step({kind::part_of(run, 0, n, run.name)}, run);
      });
  if (s.reports == 0) return;
  check(cudaMemcpyAsync(reports.data(), theirs.data(), theirs.size_bytes(), cudaMemcpyDeviceToHost,
                        stream));
  check(cudaStreamSynchronize(stream));
  for (tensor& t : tensors) t.outcome = outcome_of(reports[t.number - first]);
}

#endif

}  // namespace

/// Takes a step of `count` tensors. Returns false and an error text if it refuses the call; then it
/// writes nothing.
extern "C" bool lowp_torch_step(void* tensors, std::size_t count, void* s) {
  auto& with = *static_cast<settings*>(s);
  std::span const list(static_cast<tensor*>(tensors), count);
#ifdef __CUDACC__
  return is_done(with, [&] { step_on_gpu(list, with); });
#else
  return is_done(with, [&] { step_all(kind(), list, with); });
#endif
}
#ifndef __CUDACC__
/// Makes states agree with parameters that were written from outside.
extern "C" void lowp_torch_resync(void* tensors, std::size_t count) {
  resync_all(kind(), std::span(static_cast<tensor*>(tensors), count));
}
#else
/// Returns the bytes of a report.
extern "C" std::size_t lowp_torch_report_size() { return sizeof(lowp::update_report); }
#endif
