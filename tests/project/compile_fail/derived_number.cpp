// SPDX-License-Identifier: Apache-2.0
// Operators and numeric_limits would not know a class derived from a narrow type.
// expect-first: (final|derive)
#include <lowp/lowp.hpp>

#ifdef CONTROL
using real = lowp::implicit<lowp::bfloat16>;
#else
struct real : lowp::bfloat16 {
  real(double x) : bfloat16(x) {}
};
#endif

real twice(real x) { return x + x; }
