// SPDX-License-Identifier: Apache-2.0
#include "cases/t5.hpp"

#include "cases/program.hpp"

namespace {

void tell(std::string const& what, cases::t5_network const& n) {
  auto const line = [](char const* kept_as, cases::t5::outcome const& o) {
    fmt::print("  {:<4}{:>6.1f} % NaN{:>6.1f} % right{}\n", kept_as, 100 * o.lost, 100 * o.right,
               o.lost == 0 && o.error > 0 ? fmt::format(", {:.1g} from fp32", o.error) : "");
  };
  fmt::print("{}\n", what);
  line("fp32", n.fp32);
  line("bf16", n.bf16);
  line("fp16", n.fp16);
}

/// The range of activation number i of t5::ranges.
float scale_of(cases::t5::scales const& s, std::size_t i) {
  std::size_t const b = i / 5, part = i % 5;
  return part == 0   ? s.gate[b]
         : part == 1 ? s.up[b]
         : part == 2 ? s.gate[b] * s.up[b]
                     : s.stream[b];
}

void tell_ranges(cases::t5_case const& c, cases::csv& csv) {
  fmt::print(
      "The largest magnitude of each activation in bfloat16, and how many are beyond float16; the\n"
      "scale that this gives, and the largest in float16 with it; the largest with the penalty "
      "below:\n\n"
      "{:<16} {:>8} {:>7}   {:>5} {:>8}   {:>8}\n",
      "", "trained", "beyond", "scale", "scaled", "tuned");
  csv.line("name,trained,scaled,tuned");
  for (std::size_t i = 0; i < c.trained.ranges.size(); ++i) {
    auto const& [name, before] = c.trained.ranges[i];
    float const trained = before.max_abs.value(),
                scaled = c.scaled.ranges[i].census.max_abs.value(),
                tuned = c.tuned.ranges[i].census.max_abs.value();
    float const scale = scale_of(c.scales, i);
    fmt::print("{:<16} {:>8.1e} {:>7}   {:>5} {:>8.1e}   {:>8.1e}\n", name, trained,
               before.overflow, scale == 1 ? "1" : fmt::format("2^{}", std::ilogb(scale)), scaled,
               tuned);
    csv.line("{},{},{},{}", name, trained, scaled, tuned);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return cases::run_program(argc, argv, [](cases::csv& csv) {
    cases::t5_case const c = cases::run_t5();
    tell(fmt::format("Trained in bfloat16, {} steps:", c.steps), c.trained);
    fmt::print("\nA watch over the run in float16:\n\n{}\n\n", c.trained.alarm);
    fmt::print(
        "The same watch over the run in bfloat16, where nothing has gone wrong yet:\n\n{}\n\n",
        c.warning);
    tell_ranges(c, csv);
    fmt::print("\n");
    tell("With these scales:", c.scaled);
    fmt::print("\n");
    tell(fmt::format("Instead, {} steps more in bfloat16, with a penalty on activations beyond {}:",
                     c.tuning_steps, cases::t5::penalty.bound),
         c.tuned);
  });
}
