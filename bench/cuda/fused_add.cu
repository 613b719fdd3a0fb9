// SPDX-License-Identifier: Apache-2.0
// p += alpha * u in bfloat16.
#include "suite.cuh"

#include <lowp/cuda/lowp.cuh>

namespace {

using namespace lowp;

template <class R>
void time_fused_add(bench::suite& all, std::string const& name, R const& rounding) {
  using T = bfloat16;
  constexpr float alpha = 0x1p-7f;
  std::size_t const count = bench::many;
  all.measure({"fused_add/bfloat16,bfloat16/" + name + "/lowp", count, count * 3 * sizeof(T),
               bench::sets_of(count * sizeof(T))},
              [&] {
                auto const p = all.random<T>(count, bench::normal{1});
                auto const u = all.random<T>(count, bench::normal{1});
                auto const run = [&](cudaStream_t stream, std::size_t i) {
                  lowp::cuda::fused_add(stream, p[i], alpha, u[i], rounding);
                };
                all.check(
                    run,
                    [&](std::size_t first, std::span<T> to, std::span<T> addend) {
                      lowp::fused_add(to, alpha, addend, bench::from_element(rounding, first));
                    },
                    p, u);
                return all.time(run);
              });
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run(argc, argv, [](bench::suite& all) {
    time_fused_add(all, "nearest_even", nearest_even{});
    time_fused_add(all, "stochastic", stochastic{.seed = 20110516});
  });
}
