// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "problem.hpp"
#include "whole.hpp"

#ifndef LOWP_DEFAULT_TEXT
#define LOWP_DEFAULT_TEXT "LICENSE"
#endif

namespace {

// The source tree may have moved since the build; then the one that the user stands in has it.
std::string default_text() {
  std::error_code ignored;
  return std::filesystem::exists(LOWP_DEFAULT_TEXT, ignored) ? LOWP_DEFAULT_TEXT : "LICENSE";
}

}  // namespace

std::optional<options> parse(int argc, char** argv) {
  constexpr std::uint64_t most_steps = 1'000'000'000;
  CLI::Validator const whole(to_whole, "");
  options o;
  o.text = default_text();
  CLI::App app(
      "Trains a small byte language model once for each way of storing its weights, all from the\n"
      "same initial weights on the same data, and compares them. AdamW's moments are float in\n"
      "every mode, and so is all arithmetic.");
  app.add_option("--text", o.text, "What to learn; the last tenth is held out")
      ->capture_default_str()
      ->type_name("FILE");
  app.add_option("--steps", o.steps, "Length of the whole run, and of the cosine schedule")
      ->capture_default_str()
      ->transform(whole)
      ->check(CLI::Range(std::uint64_t{1}, most_steps))
      ->type_name("N");
  app.add_option("--seed", o.seed, "Of initial weights, data order and stochastic rounding [1]")
      ->transform(whole)
      ->type_name("N");
  app.add_option("--lr", o.learning_rate, "Largest learning rate")
      ->capture_default_str()
      ->check(CLI::Range(1e-9, 1.0))
      ->type_name("X");
  app.add_option("--modes", o.modes, fmt::format("Some of {} [all]", names_of_modes()))
      ->delimiter(',')
      ->type_name("A,B");
  app.add_option("--threads", o.threads, "How many modes at a time [one per processor]")
      ->transform(whole)
      ->check(CLI::Range(1u, 1024u))
      ->type_name("N");
  app.add_option("--svg", o.svg, "Where to draw the curves; '' for nowhere")
      ->capture_default_str()
      ->type_name("FILE");
  app.add_option("--csv", o.csv, "Where to write the curves as numbers")->type_name("FILE");
  app.add_option("--checkpoint", o.checkpoint, "Where to save the run when it ends or is stopped")
      ->type_name("FILE");
  app.add_option("--stop-at", o.stop_at, "End after this step of the schedule")
      ->transform(whole)
      ->check(CLI::Range(std::uint64_t{1}, most_steps))
      ->type_name("N");
  app.add_option("--resume", o.resume, "Go on from this checkpoint")->type_name("FILE");
  app.footer(
      "A checkpoint has parameters, moments, seed and step. A resumed run ends with the bits of "
      "one\n"
      "that ran through if it gets the same --text, --steps and --lr again:\n"
      "    train --steps 1200 --stop-at 600 --checkpoint half\n"
      "    train --steps 1200 --resume half\n"
      "Ctrl-C saves one too, if --checkpoint says where.");
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& e) {
    if (e.get_exit_code() != 0) throw problem(fmt::format("{}; see --help", e.what()));
    app.exit(e);
    return {};
  }
  if (!std::isfinite(o.learning_rate))  // NaN is in every range, because it is outside none
    throw problem("--lr is not a number; see --help");
  if (o.stop_at > o.steps)
    throw problem(
        fmt::format("--stop-at {} is after the last step: give at most {}, or more --steps",
                    *o.stop_at, o.steps));
  return o;
}
