// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>
#include <string>

#include "configuration.hpp"

namespace training {

std::vector<configuration> all_configurations() {
  std::vector<configuration> all;
  for (auto const& list :
       {plain_configurations(), composite_configurations(), moment_configurations(),
        small_configurations(), optimizer_configurations()})
    for (configuration const& c : list) {
      all.push_back(c);
      if (!c.how.draws()) continue;
      all.push_back(c);
      all.back().how.is_fast = true;
    }
  return all;
}

configuration configuration_named(std::string_view name) {
  std::string known;
  for (configuration const& c : all_configurations()) {
    if (c.text() == name) return c;
    known.append(known.empty() ? "" : ", ").append(c.text());
  }
  throw std::runtime_error("there is no configuration '" + std::string(name) + "': choose among " +
                           known);
}

}  // namespace training
