// SPDX-License-Identifier: Apache-2.0
// checkpoint: the state of a training run in a safetensors file; needs nlohmann-json.
#pragma once

#include <lowp/io/checkpoint/checkpoint.hpp>
