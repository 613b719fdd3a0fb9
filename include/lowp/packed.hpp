// SPDX-License-Identifier: Apache-2.0
// packed<T>: a view of codes of four or six bits without gaps between them.
#pragma once

#include <lowp/storage/packed.hpp>
