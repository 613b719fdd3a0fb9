// SPDX-License-Identifier: Apache-2.0
// Audits, converts and compares files of tensors: will these weights fit a narrower format? Memory
// does not grow with the size of a tensor.
//
//   options, program              the command line, and one way out for every error
//   model, reader                 a safetensors file or a sharded model, read in pieces
//   targets, odd                  the formats by name: the use of lowp
//   selection, progress           tensors that stay as they are; the bar
//   audit, verdict                a format's effect on tensors: table, json, page, histogram
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
  for (int const number : {SIGINT, SIGTERM, SIGXCPU}) std::signal(number, on_signal);
  // nohup has ignored it.
  if (std::signal(SIGHUP, on_signal) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // so that a write fails, and the part of a file is removed
  return static_cast<int>(run({argv + 1, argv + argc}, stdout, stderr));
}
