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
#include <cstdio>

#include "program.hpp"

int main(int argc, char** argv) {
  end_on_signals();
  return static_cast<int>(judge::run({argv + 1, argv + argc}, stdout, stderr));
}
