// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "formats.hpp"
#include "model/files/problem.hpp"
#include "recipes.hpp"

namespace judge {

namespace {

void add_types(CLI::App& app, std::string& from, std::string& to) {
  app.add_option("--from", from, "The type of the inputs")->capture_default_str();
  app.add_option("--to", to,
                 "The type of the results: one of " + names_of_types() + "; of inputs also " +
                     names_of_families())
      ->required();
}

}  // namespace

std::variant<options, std::string> parse(std::vector<std::string> arguments) {
  inputs_options inputs;
  name_options name;
  blocks_options blocks;
  vectors_options vectors;
  CLI::App app("Which rounding is this? Names the rule of a conversion by its results.",
               "lowp-judge");
  app.require_subcommand(1);

  CLI::App& i = *app.add_subcommand("inputs", "Write inputs that tell all rules apart");
  add_types(i, inputs.from, inputs.to);
  i.add_option("-o,--out", inputs.out, "The new file: .npy, .hex or .bin")->required();
  CLI::Option* const all = i.add_flag("--all", inputs.all, "All 2^32 codes of float32, 16 GB");
  i.add_flag("--stochastic", inputs.is_stochastic, "Repeat values, for stochastic rounding")
      ->excludes(all);

  CLI::App& n = *app.add_subcommand("name", "Name the rule of the results");
  n.add_option("IN", name.in, "The file of `inputs`, or numbers of your own")->required();
  n.add_option("OUT", name.out,
               "The results: .npy, .safetensors, .hex, or raw bytes of any other name")
      ->required();
  n.add_option("AGAIN", name.again, "Results of a second call, for stochastic rounding");
  add_types(n, name.from, name.to);
  n.footer(
      "Ends with 0 if one rule gives exactly these bits, with 1 if none does, with 2 if there is\n"
      "an error. Inputs that occur with several results are judged as stochastic rounding.");

  CLI::App& q = *app.add_subcommand("quantize", "Name the recipe of codes with scales of blocks");
  q.add_option("IN", blocks.in, "The file of `inputs --to` the same")->required();
  q.add_option("CODES", blocks.codes, "A byte for each, or two of four bits in a byte")->required();
  q.add_option("SCALES", blocks.scales, "One for each block, row by row or in tiles")->required();
  q.add_option("--to", blocks.to, "One of " + names_of_families())->required();
  q.add_option("--tensor-scale", blocks.tensor_scale,
               "The number, or its reciprocal, to the digits that you have");
  q.add_option("--columns", blocks.columns, "Of the matrix, if it is none of `inputs`")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 32));

  CLI::App& v = *app.add_subcommand("vectors", "Write small files of inputs and right results");
  v.add_option("DIR", vectors.folder, "A new or empty folder")->required();

  try {
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them
    app.parse(std::move(arguments));
    if (i.parsed()) return inputs;
    if (q.parsed()) return blocks;
    if (v.parsed()) return vectors;
    return name;
  } catch (CLI::CallForHelp const&) {
    return app.help();  // or that of a subcommand, with the program's name before its own
  } catch (CLI::CallForAllHelp const&) {
    return app.help("", CLI::AppFormatMode::All);
  } catch (CLI::ParseError const& e) {
    throw problem(std::string(e.what()) + "; see --help");
  }
}

}  // namespace judge
