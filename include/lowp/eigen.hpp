// SPDX-License-Identifier: Apache-2.0
// Narrow scalars in Eigen 3.4.
#pragma once

#include <lowp/interop/eigen.hpp>
