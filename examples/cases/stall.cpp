// SPDX-License-Identifier: Apache-2.0
#include "cases/stall.hpp"

#include "cases/program.hpp"

int main(int argc, char** argv) {
  return cases::run_program(argc, argv, [](cases::csv& csv) {
    cases::stall const found = cases::find_stall();
    fmt::print(
        "{} bfloat16 weights, half of them below {:.4f}; there an update has to reach {:.3g}\n"
        "AdamW asks every weight for lr in each of {} steps\n\n"
        "    lr       rounding     weights moved   updates lost   applied\n",
        cases::stall_weights, found.median, found.half_gap, cases::stall_steps);
    csv.line("magnitude,{}", "nearest 5e-7,stochastic 5e-7,nearest 1.6e-5,stochastic 1.6e-5");
    for (cases::stall_run const& run : found.runs)
      fmt::print("{:<9} {:<10} {:>13.1f} % {:>12.1f} % {:>9.3f}\n", run.rate, run.rounding,
                 100 * run.moved, 100 * run.stalled, run.applied);
    for (std::size_t k = 0; k < cases::magnitude_classes; ++k) {
      std::string line =
          fmt::format("{}", std::ldexp(1.5, static_cast<int>(k) + cases::least_exponent));
      for (cases::stall_run const& run : found.runs)
        line += fmt::format(",{}", run.by_magnitude[k]);
      csv.line("{}", line);
    }
    fmt::print("\nTo nearest, half of them move from lr {:.2g} on (lowp::stall_advice)\n",
               found.rate_for_half);
    fmt::print(
        "\nA second moment of 1, after {} steps of 10 times smaller gradients: exactly {:.3f}\n"
        "    rounding     changes lost   bias in a step       v\n",
        cases::moment_steps, found.exact_moment);
    for (cases::moment_run const& run : found.moments)
      fmt::print("    {:<10} {:>12.1f} % {:>16.6f} {:>7.3f}\n", run.rounding, 100 * run.stalled,
                 run.bias, run.mean);
  });
}
