// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>

#include "files/problem.hpp"
#include "targets/targets.hpp"
#include "whole.hpp"

namespace {

// NaN would be in every range, because it is outside none.
std::string is_not_negative(std::string const& text) {
  double number = 0;
  char const* const end = text.data() + text.size();
  auto const [rest, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && rest == end && std::isfinite(number) && number >= 0) return "";
  return fmt::format("'{}' is not a number from 0 up", text);
}

struct names {
  std::string to, rounding = "nearest_even", scale, overflow;
};

void add_plan(CLI::App& app, plan& what, names& n, std::string const& scale) {
  n.scale = scale;
  app.add_option("MODEL", what.model,
                 "A file of safetensors or GGUF, or the .json index of a model in several")
      ->required();
  app.add_option("--to", n.to, "The format: one of " + names_of_targets())
      ->required()
      ->type_name("FORMAT");
  app.add_option("--scale", n.scale,
                 "none, or tensor: a power of two for each tensor that loses something without")
      ->capture_default_str()
      ->check(CLI::IsMember({"none", "tensor"}))
      ->type_name("WAY");
  app.add_option("--keep", what.keep,
                 "Leave tensors with such a name in their type (an extended regular expression; "
                 "may be given several times)")
      ->allow_extra_args(false)
      ->type_name("REGEX");
}

void add_top(CLI::App& app, std::size_t& top) {
  app.add_option("--top", top, "Show so many tensors, the worst; 0: all")
      ->capture_default_str()
      ->transform(CLI::Validator(to_whole, ""))
      ->type_name("N");
}

void finish_plan(plan& what, names const& n) {
  what.to = target_named(n.to);
  if (what.to == nullptr)
    throw problem(fmt::format("there is no format '{}': --to takes {}", n.to, names_of_targets()));
  what.is_scaled = n.scale == "tensor";
  if (what.is_scaled && what.to->blocks != nullptr)
    throw problem(
        fmt::format("{} has scales of blocks: --scale tensor is for other formats", n.to));
}

void finish(audit_options& o, names const& n) {
  finish_plan(o.what, n);
  if (o.what.to->name == "float32")
    throw problem("an audit is for a format narrower than float32: see --to");
}

void finish(convert_options& o, names const& n) {
  finish_plan(o.what, n);
  if (!o.what.to->type)
    throw problem(fmt::format("safetensors files have no type for {}: it can only be audited",
                              o.what.to->name));
  o.is_fast = n.rounding == "stochastic_fast";
  o.is_stochastic = o.is_fast || n.rounding == "stochastic";
  if (o.is_stochastic && o.what.to->name == "float32")
    throw problem("--rounding " + n.rounding + " is for formats narrower than float32");
  if (!n.overflow.empty() && o.what.to->blocks != nullptr)
    throw problem(fmt::format("{} saturates: --overflow is for other formats", n.to));
  if (!n.overflow.empty())
    o.overflow = n.overflow == "saturate" ? lowp::overflow::saturate : lowp::overflow::infinity;
}

}  // namespace

std::variant<options, std::string> parse(std::vector<std::string> arguments) {
  audit_options audit;
  convert_options convert;
  diff_options diff;
  names n, n_convert;

  CLI::App app(
      "Will these weights fit a narrower format? Audits, converts and compares files "
      "of safetensors, and reads GGUF.\n"
      "Memory does not grow with their size: about 16 MB, and a kilobyte for each tensor.",
      "lowp-model");
  app.require_subcommand(1);

  CLI::App& a = *app.add_subcommand("audit", "What rounding to a format would do to each tensor");
  add_plan(a, audit.what, n, "none");
  a.add_option("--flushed", audit.flushed,
               "Let so large a share of each tensor's numbers be flushed to zero")
      ->capture_default_str()
      ->check(is_not_negative)
      ->type_name("SHARE");
  add_top(a, audit.top);
  a.add_option("--json", audit.json,
               "Write all of it for programs; -: to the standard output, and no table")
      ->type_name("FILE");
  a.add_option("--html", audit.html,
               "Write a page with a histogram of exponents for each tensor; -: as of --json")
      ->type_name("FILE");
  a.footer(
      "Ends with 0 if the model fits: nothing overflows and no more than --flushed is flushed to\n"
      "zero; with 1 if it does not, with 2 if there is an error. --scale tensor asks whether it\n"
      "fits when `convert --scale tensor` chooses the scales.");

  CLI::App& c = *app.add_subcommand("convert", "Write the model in another format");
  add_plan(c, convert.what, n_convert, "none");
  c.add_option("OUT", convert.out, "The new file; it appears whole or not at all, and may be MODEL")
      ->required();
  c.add_option("--rounding", n_convert.rounding, "nearest_even, stochastic or stochastic_fast")
      ->capture_default_str()
      ->check(CLI::IsMember({"nearest_even", "stochastic", "stochastic_fast"}))
      ->type_name("MODE");
  c.add_option("--seed", convert.seed, "Of stochastic rounding: the same seed gives the same bits")
      ->capture_default_str()
      ->transform(CLI::Validator(to_whole, ""))
      ->type_name("N");
  c.add_option("--overflow", n_convert.overflow,
               "infinity or saturate [infinity where the format has one]")
      ->check(CLI::IsMember({"infinity", "saturate"}))
      ->type_name("POLICY");
  c.footer(
      "Where a tensor NAME has a scale, the metadata have that power of two as scalar.NAME.scale, "
      "and a\n"
      "value is an element over it: here, and in lowp/checkpoint.hpp. What is no floating-point "
      "tensor,\n"
      "or has the format already, is copied.");

  CLI::App& d = *app.add_subcommand("diff", "How far two models are apart");
  d.add_option("A", diff.a, "A model, as of audit")->required();
  d.add_option("B", diff.b, "Another")->required();
  d.add_option(
       "--within", diff.within,
       "Take tensors of one shape for equal if no value differs by more, in ulps of the type "
       "with fewer significand bits; whatever the types and the metadata")
      ->check(is_not_negative)
      ->type_name("ULPS");
  add_top(d, diff.top);
  d.add_option("--json", diff.json,
               "Write all of it for programs; -: to the standard output, and no table")
      ->type_name("FILE");
  d.footer(
      "Ends as diff(1): with 0 if they are equal, with 1 if not, with 2 if there is an error.");

  try {
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them
    app.parse(std::move(arguments));
    if (a.parsed()) return finish(audit, n), audit;
    if (c.parsed()) return finish(convert, n_convert), convert;
    return diff;
  } catch (CLI::CallForHelp const&) {
    return app.help();  // or that of a subcommand, with the program's name before its own
  } catch (CLI::CallForAllHelp const&) {
    return app.help("", CLI::AppFormatMode::All);
  } catch (CLI::ParseError const& e) {
    throw problem(fmt::format("{}; see --help", e.what()));
  }
}
