// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include <exception>
#include <optional>
#include <string_view>

#include "block_judgement.hpp"
#include "chance.hpp"
#include "inputs.hpp"
#include "judgement.hpp"
#include "model/files/problem.hpp"
#include "model/files/text.hpp"
#include "options.hpp"
#include "recipes.hpp"
#include "vectors.hpp"

namespace judge {

namespace {

void print(std::FILE* out, std::string const& text) { std::fputs(text.c_str(), out); }

number_type const& target_named(std::string const& name) {
  for (recipe_family const& f : recipe_families())
    if (f.name == name) throw problem(name + " has scales of blocks: see lowp-judge quantize");
  number_type const& to = type_named(name);
  if (to.special == nullptr) throw problem(name + " is a type of inputs alone");
  return to;
}

status run(inputs_options const& o, std::FILE* out) {
  for (recipe_family const& f : recipe_families())
    if (f.name == o.to) {
      auto const words = block_inputs();
      if (o.from != "float32" || o.all || o.is_stochastic)
        throw problem(o.to + " takes inputs of float32, once each");
      write_numbers(o.out, type_named(o.from), words.size(),
                    [&](std::uint64_t i) { return words[i]; });
      print(out, one_line(o.out) + ": " + grouped(input_rows) + " rows of " +
                     grouped(input_columns) + " numbers of float32\n");
      return status::named;
    }
  number_type const &from = type_named(o.from), &to = target_named(o.to);
  std::uint64_t count = 0;
  if (o.all) {
    if (from.bits() > 32) throw problem("--all is for types of at most 32 bits");
    count = from.code_mask() + 1;
    write_numbers(o.out, from, count, [](std::uint64_t i) {
      if (i % 65536 == 0 && stop) throw interruption();
      return i;
    });
  } else {
    constexpr std::uint64_t repeats = 1 << 13;
    auto const codes =
        o.is_stochastic ? stochastic_inputs_for(from, to, repeats) : inputs_for(from, to);
    count = codes.size();
    write_numbers(o.out, from, count, [&](std::uint64_t i) { return codes[i]; });
  }
  print(out, one_line(o.out) + ": " + grouped(count) + " numbers of " + o.from + "\n");
  return status::named;
}

status run(name_options const& o, std::FILE* out) {
  number_type const &from = type_named(o.from), &to = target_named(o.to);
  column const in = read_numbers(o.in, from), results = read_numbers(o.out, to);
  if (in.size() == 0) throw problem("'" + o.in + "' has no numbers");
  auto const check_size = [&](column const& each) {
    if (each.size() != in.size())
      throw problem("'" + each.path() + "' has " + std::to_string(each.size()) + " codes, and '" +
                    o.in + "' " + std::to_string(in.size()) + " numbers");
  };
  check_size(results);
  if (is_stochastic(from, in, results)) {
    std::optional<column> again;
    if (!o.again.empty()) check_size(again.emplace(read_numbers(o.again, to)));
    chance_verdict const v = judge_chances(from, to, in, results, again ? &*again : nullptr);
    print(out, v.text);
    return v.is_named ? status::named : status::unknown;
  }
  if (!o.again.empty())
    throw problem("'" + o.out + "' has one result for each number: no second call can differ");
  judgement const j = judge_results(from, to, in, results);
  std::string const head = grouped(j.count) + " numbers of " + o.from + " as " + o.to + ": ";
  if (j.is_exact()) {
    print(out, head + "each result is that of\n" + j.rule.text());
    if (j.rule.is_plain()) return status::named;
    whole_rule plain = j.rule;
    plain.numbers = {};
    plain.nans = {};
    differences const d = differences_from(plain, from, to, in, results);
    print(out, "One rounding to nearest even with that policy differs in " + grouped(d.total()) +
                   ":\n" + d.text(from, to));
    return status::named;
  }
  print(out, head + "no rule gives these bits. The nearest one differs in " + grouped(j.differing) +
                 ":\n" + j.rule.text() +
                 differences_from(j.rule, from, to, in, results).text(from, to));
  return status::unknown;
}

status run(blocks_options const& o, std::FILE* out) {
  block_verdict const v = judge_blocks(o);
  print(out, v.text);
  return v.is_named ? status::named : status::unknown;
}

status run(vectors_options const& o, std::FILE* out) {
  print(out, write_vectors(o.folder));
  return status::named;
}

}  // namespace

status run(std::vector<std::string> arguments, std::FILE* out, std::FILE* err) {
  return way_out<status>("lowp-judge", out, err, [&] {
    auto const parsed = parse(std::move(arguments));
    if (auto const* const command = std::get_if<options>(&parsed))
      return std::visit([&](auto const& o) { return run(o, out); }, *command);
    std::fputs(std::get<std::string>(parsed).c_str(), out);
    return status::named;
  });
}

}  // namespace judge
