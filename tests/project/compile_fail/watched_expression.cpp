// SPDX-License-Identifier: Apache-2.0
// A frame that an expression makes is gone with it: a name for its result would name nothing.
// expect: watch_telling.* as 'this' argument discards qualifiers|expects an rvalue for object
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
