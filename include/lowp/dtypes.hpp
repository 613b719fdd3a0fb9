// SPDX-License-Identifier: Apache-2.0
// dtype_codes_of: the codes by which DLPack, NumPy, ONNX, safetensors, GGUF and NCCL name a type.
#pragma once

#include <lowp/interop/dtypes.hpp>

namespace lowp {

/// The codes of T, a type of the catalogue, float or double; constants that need no header of the
/// other library. A system without a code for T has an empty optional:
///
///     if constexpr (dtype_codes_of<T>.nccl)
///       ncclAllGather(in, out, n, ncclDataType_t(*dtype_codes_of<T>.nccl), comm, stream);
template <has_dtype_codes T>
inline constexpr dtype_codes dtype_codes_of = detail::make_dtype_codes<T>();

}  // namespace lowp
