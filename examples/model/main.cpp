// SPDX-License-Identifier: Apache-2.0
// Will these weights fit a narrower format? Audits, converts and compares files of tensors, in memory
// that does not grow with the size of a tensor.
//
//   options, program              the command line, and one way out for every error
//   model, reader                 a safetensors file or a sharded model, its elements piece by piece
//   targets, odd                  the formats by name: the use of lowp
//   selection, progress           what stays as it is; the bar
//   audit, verdict                what a format would do to each tensor; table, json, page, histogram show it
//   conversion                    the new file
//   difference, distance          two files, in ulps
#include <csignal>
#include <cstdio>

#include "program.hpp"

extern "C" void on_signal(int number) {
  stop = true;
  std::signal(number, SIG_DFL);  // the second one ends the program at once
}

int main(int argc, char** argv) {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  return static_cast<int>(run({argv + 1, argv + argc}, stdout, stderr));
}
