// SPDX-License-Identifier: Apache-2.0
// A pointer does not say how many.
// expect-first: a watch reads a range of float or a narrow type, such as std::span\(pointer
#include <lowp/watch.hpp>

#include <span>

void look(lowp::overflow_watch<>& watch, float const* x) {
#ifdef CONTROL
  watch.forward(0).input(std::span(x, 3));
#else
  watch.forward(0).input(x);
#endif
}
