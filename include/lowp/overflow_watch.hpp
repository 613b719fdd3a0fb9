// SPDX-License-Identifier: Apache-2.0
// overflow_watch: names the layer that made the first infinity or NaN.
#pragma once

#include <lowp/watch/overflow_watch.hpp>
