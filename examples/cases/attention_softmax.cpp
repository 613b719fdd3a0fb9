// SPDX-License-Identifier: Apache-2.0
#include "cases/attention_softmax.hpp"

#include "cases/program.hpp"

int main(int argc, char** argv) {
  return cases::run_program(argc, argv, [](cases::csv& csv) {
    cases::attention_softmax const found = cases::run_attention_softmax();
    fmt::print(
        "Attention heads with ever larger scores. The share of attention that goes elsewhere than "
        "in\n"
        "double, in the worst row; NaN where rows are lost:\n\n"
        "{:>4} {:>8} {:>9} {:>9}   {:<22}   {}\n{:>4} {:>8} {:>9} {:>9}   {:<22}   {}\n",
        "", "", "all in", "PB-Relax", "scores in float16 / 32", "scores in float", "head", "score",
        "float16", "alpha 32", "float inside", "float inside");
    csv.line("score,pure,relaxed,scaled,wide");
    auto const shown = [](cases::softmax_outcome const& o) {
      return o.lost > 0           ? fmt::format("{:.0f} % NaN", 100 * o.lost)
             : o.misplaced < 1e-9 ? std::string("0")
                                  : fmt::format("{:.0e}", o.misplaced);
    };
    for (std::size_t i = 0; i < found.heads.size(); ++i) {
      cases::attention_head const& h = found.heads[i];
      fmt::print("{:>4} {:>8.0e} {:>9} {:>9}   {:<22}   {}\n", i, h.largest_score, shown(h.pure),
                 shown(h.relaxed), shown(h.scaled), shown(h.wide));
      csv.line("{},{},{},{},{}", h.largest_score, h.pure.misplaced, h.relaxed.misplaced,
               h.scaled.misplaced, h.wide.misplaced);
    }
    fmt::print("\nA watch over the scores in float, for float16:\n\n{}\n", found.warning);
  });
}
