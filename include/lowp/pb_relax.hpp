// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/nn/pb_relax.hpp>
