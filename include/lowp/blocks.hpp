// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/ops/block_cast.hpp>
