// SPDX-License-Identifier: Apache-2.0
// Runs nccl::communicator on the one GPU of this machine, if it has one, against lowp's own sums.
// All that a trainer calls is compiled and linked in any case.
#include <cuda_runtime.h>
#include <lowp/cuda/lowp.cuh>
#include <lowp/lowp.hpp>
#include <lowp/nccl.hpp>

#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace {

using lowp::bfloat16;

constexpr std::size_t count = 5003, leaves = 3;

template <class T>
std::span<T> device(std::vector<T> const& values) {
  void* p = nullptr;
  cudaMalloc(&p, values.size() * sizeof(T));
  cudaMemcpy(p, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice);
  return {static_cast<T*>(p), values.size()};
}

// Compares the sum over one rank with a cast and an addition for each leaf.
template <class Wire, class Add>
bool agrees(lowp::nccl::communicator const& world, Wire const& wire, Add const& add) {
  std::vector<std::vector<float>> all(leaves, std::vector<float>(count));
  std::vector<std::span<float>> on_device;
  for (std::size_t l = 0; l < leaves; ++l) {
    for (std::size_t i = 0; i < count; ++i)
      all[l][i] = static_cast<float>((i * 37 + l * 101) % 4099) / 1024 - 2;
    on_device.push_back(device(all[l]));
  }
  std::vector<float> expected(count), found(count);
  for (std::size_t l = 0; l < leaves; ++l) add(all[l], l * count, expected);
  std::span<float> const total = device(found);
  world.reduce_scatter(on_device, total, wire);
  cudaDeviceSynchronize();
  cudaMemcpy(found.data(), total.data(), count * sizeof(float), cudaMemcpyDeviceToHost);
  return std::memcmp(found.data(), expected.data(), count * sizeof(float)) == 0;
}

bool run() {
  ncclComm_t comm = nullptr;
  int const first = 0;
  if (ncclCommInitAll(&comm, 1, &first) != ncclSuccess) return false;
  auto const scratch = device(std::vector<std::byte>(20'000));
  lowp::nccl::communicator const world(comm, nullptr, scratch);
  lowp::stochastic const random{.seed = 7, .stream = 9};
  bool good = agrees(world, lowp::wire<bfloat16>(random),
                     [&](auto const& leaf, std::uint64_t from, auto& total) {
                       std::vector<bfloat16> codes(count);
                       lowp::cast(leaf, codes, random.after(from));
                       lowp::fused_add(total, 1.0f, codes);
                     });
  good &= agrees(world, lowp::wire<float>(), [](auto const& leaf, std::uint64_t, auto& total) {
    lowp::fused_add(total, 1.0f, leaf);
  });
  good &= agrees(world, lowp::block_wire<lowp::float8_e4m3fn>(random),
                 [&](auto const& leaf, std::uint64_t from, auto& total) {
                   std::vector<lowp::float8_e4m3fn> codes(count);
                   std::vector<lowp::float8_e8m0fnu> scales((count + 31) / 32);
                   auto const blocks = lowp::blocks_of<32>(codes, scales);
                   lowp::block_cast(leaf, blocks, random.after(from));
                   lowp::fused_add(total, 1.0f, blocks);
                 });
  auto const parameters = device(std::vector<bfloat16>(count));
  auto const largest = device(std::vector<lowp::amax>(1));
  auto const flag = device(std::vector<std::uint32_t>(1));
  world.all_gather(parameters);
  world.merge(largest);
  world.any(flag[0]);
  good &= cudaDeviceSynchronize() == cudaSuccess;
  ncclCommDestroy(comm);
  return good;
}

}  // namespace

int main() {
  int devices = 0, version = 0;
  ncclGetVersion(&version);
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("NCCL %d: linked; no GPU to run it\n", version);
    return 0;
  }
  bool const good = run();
  std::printf("NCCL %d on a GPU: %s\n", version, good ? "same bits" : "OTHER BITS");
  return good ? 0 : 1;
}
