// SPDX-License-Identifier: Apache-2.0
// Narrow values in archives of cereal.
#pragma once

#include <lowp/interop/cereal.hpp>
