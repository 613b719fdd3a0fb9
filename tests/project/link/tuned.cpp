// SPDX-License-Identifier: Apache-2.0
#include "support/tour.hpp"

std::vector<unsigned char> tuned_tour();
std::vector<unsigned char> tuned_tour() { return tour(); }
