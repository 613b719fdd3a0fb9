// SPDX-License-Identifier: Apache-2.0
#include "cases/flan_t5.hpp"

#include "cases/program.hpp"

namespace {

void tell(cases::flan_t5::attempt const& a) {
  fmt::print("{:<22} {:>6.1f} % {:>8.1f} %  {:>8}  {}\n", a.name, 100 * a.lost,
             100 * a.padding_lost, a.error == 0 ? "-" : fmt::format("{:.1g}", a.error),
             a.first ? a.first->name : "none");
}

/// "scores" of "block.0.layer.0.SelfAttention.scores"
std::string last_part(std::string const& name) { return name.substr(name.rfind('.') + 1); }

/// Three tables: cells (column, row, percent lost), rows (row, name, tokens lost, error), columns.
void tell_picture(cases::flan_t5_case const& c, cases::csv& csv) {
  auto attempts = c.attempts;
  attempts.push_back(c.bf16);
  csv.line("column,row,percent");
  for (std::size_t row = 0; row < attempts.size(); ++row)
    for (std::size_t i = 0; i < attempts[row].sites.size(); ++i)
      if (auto const lost = attempts[row].sites[i].lost)
        csv.line("{},{},{:.3g}", i, row, 100 * *lost);
  csv.line("\n\nrow,name,tokens,error");
  for (std::size_t row = 0; row < attempts.size(); ++row)
    csv.line("{},{},{:.0f} %,{:.1g}", row, attempts[row].name, 100 * attempts[row].lost,
             attempts[row].error);
  csv.line("\n\ncolumn,name");
  for (std::size_t i = 0; i < c.bf16.sites.size(); ++i)
    csv.line("{},{}", i, last_part(c.bf16.sites[i].name));
}

}  // namespace

int main(int argc, char** argv) {
  return cases::run_program(argc, argv, [](cases::csv& csv) {
    cases::flan_t5_case const c = cases::run_flan_t5();
    fmt::print("Down-projections of {} encoder blocks, and what a power of two makes of them:\n\n",
               c.deviation.size());
    for (std::size_t b = 0; b < c.deviation.size(); ++b)
      fmt::print("block.{}  standard deviation {:.0f}, largest {:.1g}; times 2^-{}: {:.0f}\n", b,
                 c.deviation[b], c.largest[b], c.exponent[b],
                 std::ldexp(c.deviation[b], -c.exponent[b]));
    fmt::print(
        "\nTokens lost to infinity or NaN, and how far the others are from fp32:\n\n"
        "{:<22} {:>8} {:>10}  {:>8}  {}\n",
        "", "tokens", "padding", "error", "first trouble");
    for (cases::flan_t5::attempt const& each : c.attempts) tell(each);
    tell(c.bf16);
    fmt::print("\nBits were lost by scaling in {:.0f} % of what goes into the projections.\n",
               100 * c.attempts.back().inexact());
    fmt::print("\nThe first report of the watch, without a cure:\n\n{}\n",
               c.attempts.front().first->text);
    tell_picture(c, csv);
  });
}
