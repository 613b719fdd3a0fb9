// SPDX-License-Identifier: Apache-2.0
// Measures the cost of a watch to a training step. The step shows it every tensor of every layer,
// forward and backward. It does so at the default, with weights read in turns; with all weights
// read in every step; and in steps that the watch skips. The fewer the examples, the more of a step
// is reading weights: one example is the worst case.
//
// Steps of all kinds take turns, so that they meet the same neighbours and clocks. Of a benchmark
// program's flags, this one heeds --benchmark_min_time and --benchmark_out.
#include "harness/main.hpp"
#include "harness/recorder.hpp"
#include "watched_models.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <string>
#include <vector>

namespace {

/// This thread's processor time in seconds, without the time it waits for a neighbour.
double now() {
  std::timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double lower_quartile(std::vector<double>& times) {
  auto const at = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 4);
  std::nth_element(times.begin(), at, times.end());
  return *at;
}

/// Kinds of steps: without a watch, at the default, with updates that tell the watch about the
/// weights, reading all, and skipped.
constexpr std::size_t kinds = 5, told = 2;

/// The mean step of each kind, over as many steps as it takes to read every weight.
template <class Model>
std::array<double, kinds> measure(Model& model, std::array<bench::watch, kinds - 1>& watches,
                                  double seconds) {
  std::size_t const turn = lowp::watch_policy{}.weights_every;
  std::array<std::vector<std::vector<double>>, kinds> times;
  times.fill(std::vector<std::vector<double>>(turn));
  double const begin = now();
  std::uint64_t number = 0;
  // The first steps bring memory and clocks up.
  for (std::size_t step = 1; step < turn + 4 || now() - begin < seconds; ++step)
    for (std::size_t kind = 0; kind < kinds; ++kind) {
      bench::watch* const watch = kind == 0 ? nullptr : &watches[kind - 1];
      double const start = now();
      if (watch != nullptr) watch->step(step);
      model.step(watch, kind == told ? watch : nullptr, ++number);
      if (step >= 4) times[kind][step % turn].push_back(now() - start);
    }
  std::array<double, kinds> means{};
  for (std::size_t kind = 0; kind < kinds; ++kind)
    for (std::vector<double>& each : times[kind])
      means[kind] += lower_quartile(each) / static_cast<double>(turn);
  return means;
}

template <class Model, class... Size>
void row(bench::recorder& file, double seconds, std::string const& name, Size... size) {
  std::array<bench::watch, kinds - 1> watches{bench::watch(), bench::watch(),
                                              bench::watch({.weights_every = 1}),
                                              bench::watch({.every = std::uint64_t{1} << 62})};
  for (bench::watch& each : watches) Model(each, size...);  // names its places
  bench::watch named;
  Model model(named, size...);
  auto const t = measure(model, watches, seconds);
  std::printf("%-44s  %9.3f", name.c_str(), 1e3 * t[0]);
  for (std::size_t kind = 1; kind < kinds; ++kind)
    std::printf("  %8.2f %%", 100 * (t[kind] / t[0] - 1));
  std::printf("\n");
  std::fflush(stdout);
  constexpr char const* names[kinds] = {"unwatched", "watched", "told by updates", "all weights",
                                        "between watched ones"};
  for (std::size_t kind = 0; kind < kinds; ++kind)
    file.add("watch/" + name + "/" + names[kind] + "/" + std::string(lowp::isa()) + "/step",
             t[kind]);
}

}  // namespace

int main(int argc, char** argv) try {
  std::vector<std::string> const arguments(argv, argv + argc);
  double const least = std::atof(bench::value_of("--benchmark_min_time", arguments, "0.5").c_str());
  double const seconds = 20 * least;
  bench::note_build();
  bench::recorder file(bench::value_of("--benchmark_out", arguments, ""));
  std::printf("watch: %s, lowp %s, one thread, lower quartile of its time\n\n",
              bench::processor().c_str(), std::string(lowp::isa()).c_str());
  std::printf("%-44s  %9s  %10s  %10s  %10s  %10s\n", "training step", "ms", "default", "told",
              "all weights", "others");
  for (std::size_t const examples : {1U, 4U, 16U, 64U, 256U, 1024U})
    row<bench::watched_mlp>(file, seconds,
                            "MLP, 3 layers of 512, batch " + std::to_string(examples),
                            std::size_t{512}, examples);
  for (std::size_t const stretches : {2U, 8U})
    row<bench::watched_block>(
        file, seconds, "transformer block of 256, " + std::to_string(128 * stretches) + " tokens",
        std::size_t{256}, std::size_t{128}, stretches);
} catch (std::exception const& error) {
  std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
  return 2;
}
