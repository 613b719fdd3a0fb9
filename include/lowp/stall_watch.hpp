// SPDX-License-Identifier: Apache-2.0
// stall_watch: names a tensor whose updates no longer arrive.
#pragma once

#include <lowp/gradients.hpp>
#include <lowp/train/stall_watch.hpp>
