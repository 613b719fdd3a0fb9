// SPDX-License-Identifier: Apache-2.0
// Narrow values as JSON numbers.
#pragma once

#include <lowp/interop/nlohmann_json.hpp>
