// SPDX-License-Identifier: Apache-2.0
// Rounding modes, from nearest_even to stochastic.
#pragma once

#include <lowp/format/rounding.hpp>
