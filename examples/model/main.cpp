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
#include <cstdio>

#include "program.hpp"

int main(int argc, char** argv) {
  end_on_signals();
  return static_cast<int>(run({argv + 1, argv + argc}, stdout, stderr));
}
