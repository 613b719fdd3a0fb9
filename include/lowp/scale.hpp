// SPDX-License-Identifier: Apache-2.0
// Scales that round nothing: power_of_two_scale, delayed_scale, block scales.
#pragma once

#include <lowp/storage/scale.hpp>
