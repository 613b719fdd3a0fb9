// SPDX-License-Identifier: Apache-2.0
// What an expression tells of a frame is gone with it: a name for its result would be of nothing.
// expect: watch_telling.* as 'this' argument discards qualifiers|expects an rvalue for object argument
#include <lowp/overflow_watch.hpp>

#include <vector>

void look(lowp::overflow_watch<>& watch, const std::vector<float>& w, const std::vector<float>& x) {
#ifdef CONTROL
  auto&& frame = watch.forward(0);
  frame.weight(w);
#else
  auto&& frame = watch.forward(0).weight(w);
#endif
  frame.input(x);
}
