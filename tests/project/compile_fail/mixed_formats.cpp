// SPDX-License-Identifier: Apache-2.0
// Two narrow formats do not mix: neither holds the other's values.
// clang names no more than the operator in its first line.
// expect-first: (formats_do_not_mix_convert_one|selected deleted operator)
#include <lowp/lowp.hpp>

float sum(lowp::bfloat16 a, lowp::float16 b) {
#ifdef CONTROL
  return float(a) + float(b);
#else
  return a + b;
#endif
}
