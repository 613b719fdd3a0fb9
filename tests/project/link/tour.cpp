// SPDX-License-Identifier: Apache-2.0
// Every operation, for a look at the functions that a unit leaves for others. What depends on the
// backend has the unit's flags in its name, so one backend will do.
#include "support/tour.hpp"
#include "support/backends.hpp"

void tour_of_operations();
void tour_of_operations() {
  fingerprint f;
  tour(f);
}
