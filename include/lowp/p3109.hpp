// SPDX-License-Identifier: Apache-2.0
// The formats and stochastic roundings of the IEEE P3109 draft.
#pragma once

#include <lowp/format/p3109.hpp>
