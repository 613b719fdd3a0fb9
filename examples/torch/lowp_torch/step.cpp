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
// nvcc compiles it for tensors on a GPU. With LOWP_TORCH_STORED the learning rate and the step's
// number lie in device memory.
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

void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

/// Tensors whose fingerprints one kernel takes, as the argument of it.
struct synced {
  static constexpr unsigned most = 64;
  struct {
    std::uint16_t const* p;
    void* extra;
    std::uint64_t* written;
    std::uint64_t n;
  } tensors[most];
  bool checks;
};
__constant__ auto const device_keys = keys;

/// Gives an element's storage what p alone says.
template <class Storage>
__device__ void restart(void* extra, std::uint16_t p, std::uint64_t i) {
  if constexpr (!std::is_void_v<typename Storage::beside>) {
    auto& beside = static_cast<typename Storage::beside*>(extra)[i];
    if constexpr (std::same_as<Storage, master<element>>)
      beside = static_cast<float>(Storage::element::from_bits(p));
    else
      beside = {};
  }
}

/// Does what sync_part does. A block of threads takes elements that share a fingerprint.
__global__ void __launch_bounds__(block) sync_blocks(synced const all, std::uint64_t* restarted) {
  __shared__ std::uint32_t sums[2];
  __shared__ bool is_old;
  auto const& t = all.tensors[blockIdx.y];
  for (std::uint64_t begin = blockIdx.x * block; begin < t.n; begin += gridDim.x * block) {
    std::uint64_t const i = begin + threadIdx.x;
    if (threadIdx.x < 2) sums[threadIdx.x] = 0;
    __syncthreads();
    int const bits = i < t.n ? static_cast<std::int16_t>(t.p[i]) : 0;
    for (int k = 0; k < 2; ++k) {
      auto sum = static_cast<std::uint32_t>(bits * device_keys.of[k][threadIdx.x]);
      for (unsigned lanes = 16; lanes != 0; lanes /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, lanes);
      if (threadIdx.x % 32 == 0) atomicAdd(&sums[k], sum);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      std::uint64_t const now = std::uint64_t{sums[1]} << 32 | sums[0];
      std::uint64_t& written = t.written[begin / block];
      is_old = all.checks && written != now;
      written = now;
      if (is_old && restarted != nullptr)
        atomicAdd(reinterpret_cast<unsigned long long*>(restarted), 1ull);
    }
    __syncthreads();
    if (is_old && i < t.n) restart<LOWP_TORCH_STORAGE<element>>(t.extra, t.p[i], i);
    __syncthreads();
  }
}

/// Records the fingerprints of tensors on the stream. `restarted` in device memory counts blocks.
void sync_on_gpu(std::span<tensor const> tensors, bool checks, cudaStream_t stream,
                 std::uint64_t* restarted = nullptr) {
  for (std::size_t first = 0; kind::remembers() && first < tensors.size(); first += synced::most) {
    auto const some =
        tensors.subspan(first).first(std::min<std::size_t>(synced::most, tensors.size() - first));
    synced all{};
    all.checks = checks;
    std::uint64_t blocks = 0;
    for (std::size_t i = 0; i < some.size(); ++i) {
      tensor const& t = some[i];
      all.tensors[i] = {static_cast<std::uint16_t const*>(t.p), t.extra, t.written, t.n};
      blocks = std::max(blocks, (t.n + block - 1) / block);
    }
    if (blocks == 0) continue;
    dim3 const grid(static_cast<unsigned>(std::min<std::uint64_t>(blocks, 4096)),
                    static_cast<unsigned>(some.size()));
    sync_blocks<<<grid, block, 0, stream>>>(all, restarted);
    check(cudaGetLastError());
  }
}

/// Takes a step of all tensors on the stream. One kernel takes many, and one each run of a shard.
/// It counts reports in `s.scratch` if asked, and then waits; else it waits for nothing. There is
/// at least one tensor.
void step_on_gpu(std::span<tensor> tensors, settings const& s) {
  using listed = decltype(kind::part_of(tensor(), 0, 0));
  std::uint32_t const first = tensors.front().number;
  std::vector<listed> list(tensors.back().number - first + 1, listed{});
  std::vector<lowp::update_report> reports(s.reports != 0 ? list.size() : 0);
  std::span const theirs(static_cast<lowp::update_report*>(s.scratch), reports.size());
  auto const stream = static_cast<cudaStream_t>(s.stream);
  auto const rates = LOWP_TORCH_OPTIMIZER::rates(s);
#ifdef LOWP_TORCH_STORED
  static_assert(sizeof(stored) == sizeof(lowp::cuda::step_state));
  auto const* const number = reinterpret_cast<lowp::cuda::step_state const*>(s.stored);
#else
  std::uint64_t const number = s.step;
#endif
  auto const step = [&](std::vector<listed> const& some, tensor const& t) {
    auto const random = rounding_of<lowp::LOWP_TORCH_ROUNDING>(s, t, 0);
    if (s.reports == 0) return lowp::cuda::update(stream, some, rates, number, random);
    lowp::cuda::update(stream, some, rates, number, random,
                       theirs.subspan(t.number - first, some.size()));
  };
  // The place in the list keys the random bits. Between numbers stand tensors without elements.
  auto const is_whole = [](tensor const& t) { return t.is_run() && t.first == 0; };
#ifdef LOWP_TORCH_STORED
  for (tensor const& t : tensors)
    if (!is_whole(t))
      throw std::invalid_argument(
          std::string(t.name) +
          ": capturable=True takes whole parameters, and this is a part of one");
#endif
  if (s.reports != 0)
    check(cudaMemcpyAsync(theirs.data(), reports.data(), theirs.size_bytes(),
                          cudaMemcpyHostToDevice, stream));
  for (tensor const& t : tensors)
    if (is_whole(t)) list[t.number - first] = kind::part_of(t, 0, t.n, t.name);
  tensor origin{};
  origin.number = first;
  step({}, origin);  // refuses what a step would refuse
  sync_on_gpu(tensors, true, stream);
  step(list, origin);
  for (tensor const& t : tensors)
    if (!is_whole(t))
      for_each_run(kind::layout, t, 0, t.n, [&](tensor const& run, std::size_t, std::size_t n) {
        step({kind::part_of(run, 0, n, run.name)}, run);
      });
  sync_on_gpu(tensors, false, stream);
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
/// Makes states agree with parameters that were written from outside. A GPU does it on the stream,
/// and counts in `restarted`, an integer of its memory.
#ifndef __CUDACC__
extern "C" void lowp_torch_resync(void* tensors, std::size_t count) {
  resync_all(kind(), std::span(static_cast<tensor*>(tensors), count));
}
#else
extern "C" bool lowp_torch_resync_on_gpu(void* tensors, std::size_t count, void* s,
                                         std::uint64_t* restarted) {
  auto& with = *static_cast<settings*>(s);
  return is_done(with, [&] {
    std::span const list(static_cast<tensor const*>(tensors), count);
    sync_on_gpu(list, list.front().checks != 0, static_cast<cudaStream_t>(with.stream), restarted);
  });
}
/// Returns the bytes of a report.
extern "C" std::size_t lowp_torch_report_size() { return sizeof(lowp::update_report); }
#endif
