// SPDX-License-Identifier: Apache-2.0
// dtype_codes_of: the codes by which DLPack, NumPy, ONNX, safetensors, GGUF and NCCL name a type.
#pragma once

#include <lowp/io/safetensors/dtype.hpp>

namespace lowp {

/// The fields of DLDataType, in its order. An element of fewer than 8 bits has a byte in memory:
/// its tensor needs the flag DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED.
struct dlpack_dtype {
  std::uint8_t code, bits;
  std::uint16_t lanes;

  bool operator==(dlpack_dtype const&) const = default;
};

/// A type's names and numbers in other systems. ONNX and safetensors pack elements below 8 bits.
struct dtype_codes {
  std::string_view numpy;                       ///< numpy.dtype(name), after importing ml_dtypes
  dlpack_dtype dlpack;                          ///< DLDataType of dlpack.h 1.3
  std::optional<int> onnx;                      ///< TensorProto.DataType of ONNX 1.23
  std::optional<int> gguf;                      ///< ggml_type of ggml.h, GGUF 0.19
  std::optional<int> nccl;                      ///< ncclDataType_t of nccl.h 2.30
  std::optional<std::string_view> safetensors;  ///< dtype in a header, safetensors 0.8
};

namespace detail {

namespace dtype_table {

struct row {
  std::string_view numpy;
  std::uint8_t dlpack;
  std::optional<int> onnx{}, gguf{}, nccl{};
};
template <class T>
inline constexpr row of{};
template <format F>
inline constexpr row of<basic_float<F, true>> = of<basic_float<F>>;

// clang-format off
//                                                       NumPy         DLPack ONNX GGUF NCCL
template <> inline constexpr row of<double>             {"float64",            2, 11, 28,  8};
template <> inline constexpr row of<float>              {"float32",            2,  1,  0,  7};
template <> inline constexpr row of<float16>            {"float16",            2, 10,  1,  6};
template <> inline constexpr row of<bfloat16>           {"bfloat16",           4, 16, 30,  9};
template <> inline constexpr row of<float8_e3m4>        {"float8_e3m4",        7};
template <> inline constexpr row of<float8_e4m3>        {"float8_e4m3",        8};
template <> inline constexpr row of<float8_e4m3b11fnuz> {"float8_e4m3b11fnuz", 9};
template <> inline constexpr row of<float8_e4m3fn>      {"float8_e4m3fn",     10, 17, {}, 10};
template <> inline constexpr row of<float8_e4m3fnuz>    {"float8_e4m3fnuz",   11, 18};
template <> inline constexpr row of<float8_e5m2>        {"float8_e5m2",       12, 19, {}, 11};
template <> inline constexpr row of<float8_e5m2fnuz>    {"float8_e5m2fnuz",   13, 20};
template <> inline constexpr row of<float8_e8m0fnu>     {"float8_e8m0fnu",    14, 24};
template <> inline constexpr row of<float6_e2m3fn>      {"float6_e2m3fn",     15, 27};
template <> inline constexpr row of<float6_e3m2fn>      {"float6_e3m2fn",     16, 28};
template <> inline constexpr row of<float4_e2m1fn>      {"float4_e2m1fn",     17, 23};
// float8_ue5m3 has no name in any of them.
// clang-format on

}  // namespace dtype_table

}  // namespace detail

/// A type of the catalogue, float or double.
template <class T>
concept has_dtype_codes = !detail::dtype_table::of<T>.numpy.empty();

/// The codes of T, a type of the catalogue, float or double; constants that need no header of the
/// other library. A system without a code for T has an empty optional:
///
///     if constexpr (dtype_codes_of<T>.nccl)
///       ncclAllGather(in, out, n, ncclDataType_t(*dtype_codes_of<T>.nccl), comm, stream);
template <has_dtype_codes T>
inline constexpr dtype_codes dtype_codes_of = []() -> dtype_codes {
  detail::dtype_table::row const& row = detail::dtype_table::of<T>;
  auto const type = safetensors::detail::type_of<T>;
  std::uint8_t bits = 8 * sizeof(T);
  if constexpr (requires { T::descriptor; }) bits = static_cast<std::uint8_t>(T::descriptor.bits());
  return {.numpy = row.numpy,
          .dlpack = {row.dlpack, bits, 1},
          .onnx = row.onnx,
          .gguf = row.gguf,
          .nccl = row.nccl,
          .safetensors = type ? std::optional(name_of(*type)) : std::nullopt};
}();

}  // namespace lowp
