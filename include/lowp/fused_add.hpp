// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/ops/fused_add.hpp>
