// SPDX-License-Identifier: Apache-2.0
// overflow_watch: names the layer that made the first infinity or NaN.
#pragma once

#include <lowp/abs_range.hpp>
#include <lowp/stall_watch.hpp>
#include <lowp/watch/overflow_watch.hpp>
