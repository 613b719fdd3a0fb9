// SPDX-License-Identifier: Apache-2.0
// atomic_file: a file that appears whole or not at all.
#pragma once

#include <lowp/io/atomic_file.hpp>
