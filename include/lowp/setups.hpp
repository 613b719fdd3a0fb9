// SPDX-License-Identifier: Apache-2.0
// cast_per_use, cached_copy, pure: three ways to keep weights.
#pragma once

#include <lowp/train/setups.hpp>
