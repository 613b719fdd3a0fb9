// SPDX-License-Identifier: Apache-2.0
// named: lists of tensors with names.
#pragma once

#include <lowp/ops/tensor_list.hpp>
