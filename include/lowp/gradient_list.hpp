// SPDX-License-Identifier: Apache-2.0
// unscale, measure and clip take lists of named tensors.
#pragma once

#include <lowp/gradients.hpp>
