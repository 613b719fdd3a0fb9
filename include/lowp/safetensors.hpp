// SPDX-License-Identifier: Apache-2.0
// safetensors::file and safetensors::writer; needs nlohmann-json.
#pragma once

#include <lowp/base/hide_macros.inc>

#include <lowp/io/safetensors/file.hpp>
#include <lowp/io/safetensors/writer.hpp>

#include <lowp/base/restore_macros.inc>
