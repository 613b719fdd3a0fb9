// SPDX-License-Identifier: Apache-2.0
// fp8_lm: one tensor as FP8-LM keeps it.
#pragma once

#include <lowp/train/fp8_lm.hpp>
