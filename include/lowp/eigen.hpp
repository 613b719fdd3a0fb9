// SPDX-License-Identifier: Apache-2.0
// Narrow scalars in Eigen 3.4.
#pragma once

#include <lowp/base/hide_macros.inc>

#include <lowp/interop/eigen.hpp>

#include <lowp/base/restore_macros.inc>
