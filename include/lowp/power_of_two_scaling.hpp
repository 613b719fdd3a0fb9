// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/nn/power_of_two_scaling.hpp>
