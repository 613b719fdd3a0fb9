// SPDX-License-Identifier: Apache-2.0
// Storages of parameters and moments: kahan, master, split_master, scaled, blocks_of.
#pragma once

#include <lowp/ops/storage_operands.hpp>
