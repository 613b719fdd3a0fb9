// SPDX-License-Identifier: Apache-2.0
// Floats around every change of a conversion's result.
#pragma once

#include <cstdint>
#include <vector>

#include "oracle/segments.hpp"
#include "support.hpp"

namespace lowp_test {

struct sample {
  float x;
  std::uint32_t code;
};

// First and last float of every run that shares a code, and one between. They are all exact values,
// all places at which rounding changes its mind, and their neighbours.
inline std::vector<sample> boundaries(oracle::facts const& f, oracle::mode m, oracle::policy p,
                                      std::uint32_t r = 0) {
  std::vector<sample> samples;
  oracle::for_each_segment(
      f, m, p,
      [&](std::uint32_t first, std::uint32_t last, std::uint32_t code) {
        for (std::uint32_t const bits : {first, first + (last - first) / 3, last}) {
          samples.push_back({float_of(bits), code});
        }
      },
      r);
  return samples;
}

}  // namespace lowp_test
