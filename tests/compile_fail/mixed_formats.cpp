// SPDX-License-Identifier: Apache-2.0
// Two narrow formats do not mix: neither holds the other's values.
// expect-first: (deleted|different formats)
#include <lowp/lowp.hpp>

float sum(lowp::bfloat16 a, lowp::float16 b) {
#ifdef CONTROL
  return float(a) + float(b);
#else
  return a + b;
#endif
}
