// SPDX-License-Identifier: Apache-2.0
// Conversions, against CUB's transform if it has them.
#include "cub.cuh"
#include "suite.cuh"

#include <lowp/cuda/lowp.cuh>

namespace {

// `using namespace lowp` would make CUB's ::cuda ambiguous.
using lowp::bfloat16, lowp::float16, lowp::float8_e4m3fn;

template <class From, class To>
bench::subject subject_of(std::string const& name, std::size_t count) {
  return {name, count, count * (sizeof(From) + sizeof(To)),
          bench::sets_of(count * std::min(sizeof(From), sizeof(To)))};
}

/// launch(stream, from, to) must do what lowp::cast does.
template <class From, class To, class R, class Launch>
void measure_cast(bench::suite& all, std::string const& name, std::size_t count, R const& rounding,
                  Launch const& launch) {
  all.measure(subject_of<From, To>(name, count), [&] {
    auto const from = all.random<From>(count, bench::normal{1});
    auto const to = all.output<To>(count);
    auto const run = [&](cudaStream_t stream, std::size_t i) { launch(stream, from[i], to[i]); };
    all.check(
        run,
        [&](std::size_t first, std::span<To> out, std::span<From> in) {
          lowp::cast(in, out, bench::from_element(rounding, first));
        },
        to, from);
    return all.time(run);
  });
}

template <class From, class To, class R>
void measure_own(bench::suite& all, std::string const& name, R const& rounding,
                 std::size_t count = bench::many) {
  measure_cast<From, To>(all, "cast/" + name + "/lowp", count, rounding,
                         [&](cudaStream_t stream, std::span<From> from, std::span<To> to) {
                           lowp::cuda::cast(stream, from, to, rounding);
                         });
}

template <int N>
void measure_cub(bench::suite& all, std::string const& peer) {
  measure_cast<float, bfloat16>(all, "cast/float->bfloat16/nearest_even/" + peer, bench::many,
                                lowp::nearest_even{}, bench::converted_by_cub<N>::launch);
}

void measure_scaled(bench::suite& all) {
  using From = bfloat16;
  using To = float8_e4m3fn;
  constexpr float scale = 64;
  std::size_t const count = bench::many;
  std::string const name = "scaled_cast/bfloat16->float8_e4m3fn/nearest_even,amax/lowp";
  all.measure(subject_of<From, To>(name, count), [&] {
    auto const from = all.random<From>(count, bench::normal{1});
    auto const to = all.output<To>(count);
    auto* const largest = all.zero<lowp::amax>();
    auto const run = [&](cudaStream_t stream, std::size_t i) {
      lowp::cuda::scaled_cast(stream, from[i], to[i], scale, largest);
    };
    lowp::amax expected;
    all.check(
        run,
        [&](std::size_t, std::span<To> out, std::span<From> in) {
          lowp::scaled_cast(in, out, scale, expected);
        },
        to, from);
    if (all.value_of(largest).bits != expected.bits)
      throw std::runtime_error("amax differs from the host's");
    return all.time(run);
  });
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run(argc, argv, [](bench::suite& all) {
    lowp::stochastic const random{.seed = 20110516};
    lowp::nearest_even const nearest;
    measure_own<float, bfloat16>(all, "float->bfloat16/nearest_even", nearest);
    if constexpr (!bench::is_rehearsal) {  // CUB asks for more than an emulation has
      measure_cub<1>(all, "cub");
      measure_cub<8>(all, "cub_by_8");
    }
    measure_own<bfloat16, float>(all, "bfloat16->float/exact", nearest);
    measure_own<float, float16>(all, "float->float16/nearest_even", nearest);
    measure_own<float, float8_e4m3fn>(all, "float->float8_e4m3fn/nearest_even", nearest);
    measure_own<float, float8_e4m3fn>(all, "float->float8_e4m3fn/stochastic", random);
    measure_scaled(all);
    std::string const swept = "float->bfloat16/stochastic";
    if constexpr (bench::is_quick)
      measure_own<float, bfloat16>(all, swept, random);
    else
      for (int power = 16; power <= 30; power += 2)
        measure_own<float, bfloat16>(all, swept, random, std::size_t{1} << power);
  });
}
