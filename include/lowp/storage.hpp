// SPDX-License-Identifier: Apache-2.0
// kahan, master, split_master, scaled, blocks_of: what a parameter or a moment may be kept as.
#pragma once

#include <lowp/ops/storage_operands.hpp>
