// SPDX-License-Identifier: Apache-2.0
// Names the rounding of somebody else's conversion by its results.
//
//   options, program              the command line, and one way out for every error
//   formats, rounding             formats as data; one exact number, rounded by integers
//   inputs                        numbers that tell rules apart
//   rules, judgement              rules and known faults; the one that gives these results
//   chance                        stochastic rounding: probabilities, shared and repeated bits
//   recipes                       codes with scales of blocks
//   vectors                       small files of inputs and results
//   files/                        .npy, safetensors, hex text and raw bytes
#include <csignal>
#include <cstdio>

#include "program.hpp"

extern "C" void on_signal(int number) {
  judge::stop = true;
  std::signal(number, SIG_DFL);  // the second one ends the program at once
}

int main(int argc, char** argv) {
  for (int const number : {SIGINT, SIGTERM}) std::signal(number, on_signal);
  std::signal(SIGXFSZ, SIG_IGN);  // so that a write fails, and the part of a file is removed
  return static_cast<int>(judge::run({argv + 1, argv + argc}, stdout, stderr));
}
