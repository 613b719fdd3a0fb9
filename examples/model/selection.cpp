// SPDX-License-Identifier: Apache-2.0
#include "selection.hpp"

#include <fmt/core.h>
#include <regex.h>

#include <algorithm>

#include "problem.hpp"
#include "reader.hpp"

// POSIX's, because libstdc++'s std::regex recurses once for each character, and names come out of files
// that nobody vouches for.
struct selection::pattern {
  explicit pattern(std::string const& text) {
    int const error = ::regcomp(&compiled, text.c_str(), REG_EXTENDED | REG_NOSUB);
    if (error == 0) return;
    char why[200] = {};
    ::regerror(error, &compiled, why, sizeof why);
    throw problem(fmt::format("--keep '{}' is no extended regular expression: {}", text, why));
  }
  ~pattern() { ::regfree(&compiled); }
  pattern(pattern const&) = delete;
  pattern& operator=(pattern const&) = delete;

  [[nodiscard]] bool is_in(std::string const& name) const {
    return ::regexec(&compiled, name.c_str(), 0, nullptr, 0) == 0;
  }

  regex_t compiled{};
};

selection::selection(plan const& what) {
  for (std::string const& text : what.keep) keep_.push_back(std::make_unique<pattern>(text));
}
selection::~selection() = default;

bool selection::has(model::entry const& e) const {
  return facts_of(e.type()) != nullptr &&
         std::none_of(keep_.begin(), keep_.end(), [&](auto& p) { return p->is_in(e.name()); });
}

lowp::range_census census_of(model const& from, model::entry const& of, target const& to,
                             float factor, progress& bar) {
  lowp::range_census sum;
  for (reader pieces(from, of, factor); pieces.next(); bar.add(pieces.bytes()))
    sum += to.census(pieces.floats());
  return sum;
}

bool may_gain(lowp::range_census const& c) {
  return c.overflow != 0 || c.flushed != 0 || c.subnormal != 0;
}
