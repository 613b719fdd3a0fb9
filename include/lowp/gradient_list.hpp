// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/train/gradient_list.hpp>
