// SPDX-License-Identifier: Apache-2.0
// Parses the command line.
#pragma once

#include <string>
#include <variant>
#include <vector>

namespace judge {

struct inputs_options {
  std::string from = "float32", to, out;
  bool all = false, is_stochastic = false;
};
struct name_options {
  std::string in, out, again, from = "float32", to;
};

struct blocks_options {
  std::string in, codes, scales, to, tensor_scale;
  std::size_t columns = 0;  ///< 0: of the matrix of `inputs`
};
struct vectors_options {
  std::string folder;
};

using options = std::variant<inputs_options, name_options, blocks_options, vectors_options>;

/// @throws problem  there is no such option, or a value is out of its range
/// @return the text to print where --help was all that was asked for
std::variant<options, std::string> parse(std::vector<std::string> arguments);

}  // namespace judge
