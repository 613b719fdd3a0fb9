// SPDX-License-Identifier: Apache-2.0
// Formatting with fmt: {} shortest, {:x} code, {:b} sign, exponent and significand.
#pragma once

#include <lowp/io/fmt.hpp>
