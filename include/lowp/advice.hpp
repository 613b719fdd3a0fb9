// SPDX-License-Identifier: Apache-2.0
// stall_advice: the storage in which updates arrive.
#pragma once

#include <lowp/train/advice.hpp>
