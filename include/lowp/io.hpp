// SPDX-License-Identifier: Apache-2.0
// Streams: operator<< and operator>>.
#pragma once

#include <lowp/io/io.hpp>
