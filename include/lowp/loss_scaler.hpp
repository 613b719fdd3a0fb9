// SPDX-License-Identifier: Apache-2.0
// loss_scaler: scales losses by the rules of GradScaler.
#pragma once

#include <lowp/train/loss_scaler.hpp>
