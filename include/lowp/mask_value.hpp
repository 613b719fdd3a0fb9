// SPDX-License-Identifier: Apache-2.0
// mask_value<T>: a number that hides a score, with room to add a score.
#pragma once

#include <lowp/nn/mask_value.hpp>
