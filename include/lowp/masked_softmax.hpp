// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/nn/masked_softmax.hpp>
