// SPDX-License-Identifier: Apache-2.0
// The element types of the safetensors format, by name, width and C++ type.
#pragma once

#include <lowp/format/basic_float.hpp>

#include <optional>
#include <string_view>
#include <vector>

namespace lowp::safetensors {

/// The element types in the order of huggingface/safetensors 0.8, tensor.rs.
// clang-format off
enum class dtype : std::uint8_t {
  boolean, f4_e2m1, f6_e2m3, f6_e3m2, u8, i8, f8_e5m2, f8_e4m3, f8_e8m0, f8_e4m3fnuz, f8_e5m2fnuz,
  i16, u16, f16, bf16, i32, u32, f32, c64, f64, i64, u64
};
// clang-format on

namespace detail {
struct dtype_facts {
  std::string_view name;
  unsigned bits;
};
inline constexpr std::array<dtype_facts, 22> dtypes{
    {{"BOOL", 8},        {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
     {"I8", 8},          {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
     {"F8_E5M2FNUZ", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16},    {"BF16", 16},
     {"I32", 32},        {"U32", 32},    {"F32", 32},    {"C64", 64},    {"F64", 64},
     {"I64", 64},        {"U64", 64}}};

/// Returns the place of T in a list, or nothing.
template <class T, class... Each>
constexpr std::optional<dtype> place_among() {
  std::uint8_t place = 0;
  if ((... || (std::same_as<T, Each> || (++place, false)))) return dtype{place};
  return {};
}
/// The types in the order of dtype. void stands for those that C++ has not, or not in this way.
template <class T>
inline constexpr std::optional<dtype> type_of =
    place_among<lowp::detail::explicit_of<T>, void, float4_e2m1fn, float6_e2m3fn, float6_e3m2fn,
                std::uint8_t, std::int8_t, float8_e5m2, float8_e4m3fn, float8_e8m0fnu,
                float8_e4m3fnuz, float8_e5m2fnuz, std::int16_t, std::uint16_t, float16, bfloat16,
                std::int32_t, std::uint32_t, float, void, double, std::int64_t, std::uint64_t>();
}  // namespace detail

LOWP_HOST_FN constexpr std::string_view name_of(dtype type) {
  return detail::dtypes[static_cast<std::size_t>(type)].name;
}
/// Returns the bits of one element. Elements of fewer than 8 lie packed in the file.
LOWP_HOST_FN constexpr unsigned bits_of(dtype type) {
  return detail::dtypes[static_cast<std::size_t>(type)].bits;
}
LOWP_HOST_FN constexpr std::optional<dtype> dtype_named(std::string_view name) {
  for (std::size_t i = 0; i < detail::dtypes.size(); ++i)
    if (detail::dtypes[i].name == name) return static_cast<dtype>(i);
  return {};
}

/// A type whose objects lie in a file as in memory. A file packs formats of fewer than 8 bits.
template <class T>
concept stored = detail::type_of<T>.has_value() && bits_of(*detail::type_of<T>) == 8 * sizeof(T);

template <stored T>
inline constexpr dtype dtype_of = *detail::type_of<T>;

}  // namespace lowp::safetensors

namespace lowp::safetensors::detail::inline LOWP_UNIT {

/// Returns the bytes of a tensor. Returns no value if a product exceeds 2^64 bits, or is no whole
/// bytes. Extents are multiplied from the left, as in the reference implementation.
inline std::optional<std::uint64_t> bytes_of(dtype type, std::vector<std::uint64_t> const& shape) {
  std::uint64_t bits = 1;
  for (std::uint64_t const extent : shape)
    if (__builtin_mul_overflow(bits, extent, &bits)) return {};
  if (__builtin_mul_overflow(bits, bits_of(type), &bits) || bits % 8 != 0) return {};
  return bits / 8;
}

}  // namespace lowp::safetensors::detail::inline LOWP_UNIT
