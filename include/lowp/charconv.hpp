// SPDX-License-Identifier: Apache-2.0
// from_chars, to_chars: decimal text, rounded once; the shortest text that reads back.
#pragma once

#include <lowp/format/charconv.hpp>
