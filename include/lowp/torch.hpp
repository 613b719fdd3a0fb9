// SPDX-License-Identifier: Apache-2.0
// view: tensors of PyTorch's C++ library as spans.
#pragma once

#include <lowp/base/hide_macros.inc>

#include <lowp/interop/torch.hpp>

#include <lowp/base/restore_macros.inc>
