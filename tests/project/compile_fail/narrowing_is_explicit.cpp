// SPDX-License-Identifier: Apache-2.0
// A float becomes narrow only where the program says so.
// expect-first: (conversion|convert)
#include <lowp/lowp.hpp>

lowp::bfloat16 narrow(float x) {
#ifdef CONTROL
  return lowp::bfloat16(x);
#else
  return x;
#endif
}
