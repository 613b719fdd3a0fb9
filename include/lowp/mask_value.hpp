// SPDX-License-Identifier: Apache-2.0
// mask_value<T>: hides a score, and a score can be added to it.
#pragma once

#include <lowp/nn/mask_value.hpp>
