// SPDX-License-Identifier: Apache-2.0
// checkpoint: parameters, moments and scalars in a safetensors file; needs nlohmann-json.
#pragma once

#include <lowp/base/hide_macros.inc>

#include <lowp/io/checkpoint/checkpoint.hpp>

#include <lowp/base/restore_macros.inc>
