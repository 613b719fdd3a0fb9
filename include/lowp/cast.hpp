// SPDX-License-Identifier: Apache-2.0
// Conversion of spans.
#pragma once

#include <lowp/ops/cast.hpp>
