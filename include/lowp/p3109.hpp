// SPDX-License-Identifier: Apache-2.0
// The formats and stochastic roundings of the IEEE P3109 draft.
#pragma once

#include <lowp/base/hide_macros.inc>

#include <lowp/format/p3109.hpp>

#include <lowp/base/restore_macros.inc>
