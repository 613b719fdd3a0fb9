// SPDX-License-Identifier: Apache-2.0
#include "cases/mixed.hpp"

#include "cases/mixed_time.hpp"
#include "cases/program.hpp"

int main(int argc, char** argv) {
  return cases::run_program(argc, argv, [](cases::csv& csv) {
    fmt::print(
        "                        bytes a   scratch of a     held-out   applied\n"
        "                         weight   layer in use         loss\n");
    csv.line("set-up,bytes,scratch,loss,applied");
    for (cases::mixed_run const& run : cases::run_mixed(LOWP_DEFAULT_TEXT)) {
      fmt::print("{:<22} {:>8} {:>14} {:>12.2f} {:>9.2f}\n", run.name, run.bytes, run.scratch,
                 run.held_out, run.applied);
      csv.line("{},{},{},{},{}", run.name, run.bytes, run.scratch, run.held_out, run.applied);
    }
    // Time is another at every run, and so not in the output that is compared.
    fmt::print(stderr, "AdamW and {} uses of {} M weights on one thread, against fp32:\n",
               cases::micro_batches, cases::timed_weights >> 20);
    for (cases::mixed_time const& time : cases::time_mixed())
      fmt::print(stderr, "{:<22} {:.2f}\n", time.name, time.ratio);
  });
}
