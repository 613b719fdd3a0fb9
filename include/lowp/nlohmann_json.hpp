// SPDX-License-Identifier: Apache-2.0
// Narrow values as JSON numbers.
#pragma once

#include <lowp/base/hide_macros.inc>

#include <lowp/interop/nlohmann_json.hpp>

#include <lowp/base/restore_macros.inc>
