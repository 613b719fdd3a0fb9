// SPDX-License-Identifier: Apache-2.0
#include "summary.hpp"

#include <fmt/core.h>

namespace {

constexpr std::size_t moment_bytes = 2 * sizeof(float);

double share(std::uint64_t part, std::uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

std::string percent(double x) { return fmt::format("{:.1f} %", 100 * x); }

std::string row(training const& t) {
  mode const& m = t.how();
  measurement const& last = t.measurements().back();
  lowp::update_report const updates = t.updates();
  std::size_t const bytes = t.state().bytes_per_parameter();
  bool const has_stepped = updates.count != 0;
  return fmt::format("{:<8} {:<14} {:<10} {:>8.3f} {:>8.3f} {:>7} {:>7} {:>11} {:>11} {:>9}\n",
                     m.name, fmt::format("{}{}", m.format, m.is_scaled ? "*" : ""),
                     m.is_stochastic ? "stochastic" : "nearest", last.training_loss,
                     last.held_out_loss, bytes, bytes + moment_bytes,
                     has_stepped ? percent(share(updates.stalled, updates.count)) : "-",
                     percent(share(t.state().unchanged(), t.size())),
                     has_stepped ? fmt::format("{:.4f}", updates.applied_ratio()) : "-");
}

// Nothing to say unless something went wrong.
std::string warning(training const& t) {
  lowp::update_report const u = t.updates();
  if (u.overflowed == 0 && u.nonfinite == 0) return "";
  return fmt::format(
      "{}: {} updates went beyond the largest value of the format, {} were not finite\n",
      t.how().name, u.overflowed, u.nonfinite);
}

}  // namespace

std::string table_of(trainings const& runs) {
  std::string text = fmt::format(
      "{:8} {:14} {:10} {:^17} {:^15} {:^23} {:>9}\n"
      "{:8} {:14} {:10} {:>8} {:>8} {:>7} {:>7} {:>11} {:>11} {:>9}\n",
      "", "", "", "loss", "bytes/weight", "weights not moved", "applied",  //
      "mode", "stored as", "rounding", "training", "held out", "stored", "in all", "per step",
      "since start", "ratio");
  bool is_any_scaled = false;
  for (auto const& t : runs) {
    text += row(*t);
    is_any_scaled = is_any_scaled || t->how().is_scaled;
  }
  text += '\n';
  for (auto const& t : runs) text += warning(*t);
  text +=
      "loss: mean cross-entropy in nats per byte; held out: on text that no training batch has\n"
      "in all: with the two moments of AdamW, which are float in every mode; without the gradient\n"
      "per step: mean share of weights that an update should have changed and did not\n"
      "since start: share of weights that hold the code that they were initialised with\n"
      "applied ratio: what the weights moved by over what the updates asked for; 1 is faithful\n"
      "One seed and one text: small differences between rows say nothing about the formats.\n";
  if (is_any_scaled) text += "*: times a power of two that each tensor keeps throughout\n";
  return text;
}

std::string csv_of(trainings const& runs) {
  std::string text = "step,mode,training_loss,held_out_loss,stalled_share,applied_ratio\n";
  for (auto const& t : runs) {
    for (measurement const& m : t->measurements()) {
      text += fmt::format("{},{},{},{},", m.step, t->how().name, m.training_loss, m.held_out_loss);
      if (m.updates.count == 0)
        text += ",\n";
      else
        text += fmt::format("{},{}\n", share(m.updates.stalled, m.updates.count),
                            m.updates.applied_ratio());
    }
  }
  return text;
}
