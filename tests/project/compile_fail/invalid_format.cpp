// SPDX-License-Identifier: Apache-2.0
// A format of 17 bits: the constraint that it does not satisfy names the error.
// expect: more_than_16_bits
#include <lowp/lowp.hpp>

#ifdef CONTROL
using mine = lowp::basic_float<lowp::format{5, 10, 15}>;
#else
using mine = lowp::basic_float<lowp::format{6, 10, 31}>;
#endif

float widened(mine x) { return x; }
