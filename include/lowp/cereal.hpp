// SPDX-License-Identifier: Apache-2.0
// Narrow values in archives of cereal.
#pragma once

#include <lowp/base/hide_macros.inc>

#include <lowp/interop/cereal.hpp>

#include <lowp/base/restore_macros.inc>
