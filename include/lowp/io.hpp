// SPDX-License-Identifier: Apache-2.0
// Streams: operator<< and operator>>. dtype_codes_of: a type's names in other systems. With POSIX:
// atomic_file, a file that appears whole or not at all.
#pragma once

#include <lowp/base/hide_macros.inc>

#include <lowp/interop/dtypes.hpp>
#include <lowp/io/io.hpp>
#if __has_include(<unistd.h>)
#include <lowp/io/atomic_file.hpp>
#endif

#include <lowp/base/restore_macros.inc>
