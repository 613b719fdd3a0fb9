// SPDX-License-Identifier: Apache-2.0
// Narrow values in texts of fmt.
#pragma once

#include <lowp/interop/fmt.hpp>
