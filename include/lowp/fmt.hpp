// SPDX-License-Identifier: Apache-2.0
// Narrow values in texts of fmt.
#pragma once

#include <lowp/base/hide_macros.inc>

#include <lowp/interop/fmt.hpp>

#include <lowp/base/restore_macros.inc>
