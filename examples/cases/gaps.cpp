// SPDX-License-Identifier: Apache-2.0
#include "cases/gaps.hpp"

#include "cases/program.hpp"

namespace {

std::string text_of(float gap) { return std::isnan(gap) ? "-" : fmt::format("{:.3g}", gap); }

}  // namespace

int main(int argc, char** argv) {
  return cases::run_program(argc, argv, [](cases::csv& csv) {
    cases::gaps const found = cases::find_gaps();
    fmt::print("   magnitude   bfloat16 gap    float16 gap\n");
    csv.line("magnitude,bfloat16,float16");
    for (cases::gap_row const& row : found.rows) {
      fmt::print("{:>12} {:>14} {:>14}\n", text_of(row.magnitude), text_of(row.bfloat16_gap),
                 text_of(row.float16_gap));
      csv.line("{},{},{}", row.magnitude, row.bfloat16_gap, row.float16_gap);
    }
    fmt::print(
        "\nbfloat16: 283 * 10 = {}, because the gap there is 16\n"
        "bfloat16: a counter that adds 1 stops at {}; float16: at {}\n"
        "float16:  65504 + {} is infinite, 65504 + {} is still 65504\n",
        found.product, found.bfloat16_stuck, found.float16_stuck, found.float16_end,
        found.float16_end - 1);
  });
}
