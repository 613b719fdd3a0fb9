// SPDX-License-Identifier: Apache-2.0
// All of the host side that needs nothing but the standard library. For less, include what you use.
#pragma once

#include <lowp/advice.hpp>
#include <lowp/blocks.hpp>
#include <lowp/cast.hpp>
#include <lowp/charconv.hpp>
#include <lowp/fp8_lm.hpp>
#include <lowp/fused_add.hpp>
#include <lowp/gradient_list.hpp>
#include <lowp/loss_scaler.hpp>
#include <lowp/scaled_cast.hpp>
#include <lowp/setups.hpp>
#include <lowp/split.hpp>
#include <lowp/transform.hpp>
#include <lowp/tree_add.hpp>
#include <lowp/update.hpp>
#include <lowp/value.hpp>
