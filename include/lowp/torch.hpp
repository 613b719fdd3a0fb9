// SPDX-License-Identifier: Apache-2.0
// view: tensors of PyTorch's C++ library as spans.
#pragma once

#include <lowp/interop/torch.hpp>
