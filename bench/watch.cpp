// SPDX-License-Identifier: Apache-2.0
// What a watch costs a training step: every tensor of every layer, forward and backward, at the default
// and at every k-th step. Steps with and without it take turns, so that both meet the same neighbours
// and clocks; of what a benchmark program takes, this one heeds --benchmark_min_time and --benchmark_out.
#include "main.hpp"
#include "recorder.hpp"
#include "watched_models.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <string>
#include <vector>

namespace {

/// What this thread has computed for, in seconds: waiting for a neighbour is none of it.
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

struct seconds_of_step {
  double without, with, between;  ///< a watch; one that does not look at this step
};

template <class Model>
seconds_of_step measure(Model& model, bench::watch& watch, double seconds) {
  std::vector<double> times[3];
  double const begin = now();
  std::uint64_t number = 0;
  // The first rounds bring memory and clocks up.
  for (int round = 0; round < 5 || now() - begin < seconds; ++round)
    for (std::size_t kind = 0; kind < 3; ++kind) {
      ++number;
      double const start = now();
      if (kind != 0) watch.step(kind == 1 ? 0 : 1);
      model.step(kind == 0 ? nullptr : &watch, number);
      if (round >= 3) times[kind].push_back(now() - start);
    }
  return {lower_quartile(times[0]), lower_quartile(times[1]), lower_quartile(times[2])};
}

template <class Model, class... Size>
void row(bench::recorder& file, double seconds, std::string const& name, Size... size) {
  // No step but the 0th is looked at, and no trouble is expected.
  bench::watch watch({.every = std::uint64_t{1} << 62});
  Model model(watch, size...);
  seconds_of_step const t = measure(model, watch, seconds);
  auto const share = [&](double with) { return 100 * (with / t.without - 1); };
  std::printf("%-44s  %9.3f  %6.2f %%  %6.2f %%  %6.2f %%\n", name.c_str(), 1e3 * t.without,
              share(t.with), share((t.with + 9 * t.between) / 10), share(t.between));
  std::fflush(stdout);
  auto const record = [&](char const* how, double step) {
    file.add("watch/" + name + "/" + how + "/" + std::string(lowp::isa()) + "/step", step);
  };
  record("unwatched", t.without);
  record("watched", t.with);
  record("between watched ones", t.between);
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
  std::printf("%-44s  %9s  %8s  %8s  %8s\n", "training step", "ms", "default", "every 10",
              "others");
  for (std::size_t const examples : {16U, 64U, 256U, 1024U})
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
