// SPDX-License-Identifier: Apache-2.0
// Numbers as text that reads back to the same bits.
#pragma once

#include <lowp/base/text.hpp>
#include <lowp/format/charconv.hpp>

#include <charconv>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace lowp {

/// A value that a checkpoint keeps as text: an integer, a truth value, an enumeration, float or
/// double.
template <class T>
concept checkpoint_scalar =
    std::integral<T> || std::is_enum_v<T> || std::same_as<T, float> || std::same_as<T, double>;

namespace detail::inline LOWP_UNIT {

template <class T>
using bits_of_scalar = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

/// The text around a NaN's bits, which are hexadecimal: decimal text would lose them.
inline constexpr std::string_view nan_before = "nan(0x", nan_after = ")";

template <class T>
std::string scalar_text(T value) {
  if constexpr (std::is_enum_v<T>) {
    return scalar_text(static_cast<std::underlying_type_t<T>>(value));
  } else if constexpr (std::same_as<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::integral<T>) {
    return text_of(value);
  } else {
    if (!unpack(static_cast<double>(value)).nan) return text_of(value);
    char text[16];
    auto const bits = __builtin_bit_cast(bits_of_scalar<T>, value);
    return std::string(nan_before)
        .append(text, std::to_chars(text, text + sizeof(text), bits, 16).ptr)
        .append(nan_after);
  }
}

/// Returns true if all of `text` is a T. Then stores it in *to unless `to` is null.
template <class T>
bool parse_scalar(std::string_view text, T* to) {
  char const* const end = text.data() + text.size();
  T value{};
  if constexpr (std::is_enum_v<T>) {
    std::underlying_type_t<T> number{};
    if (!parse_scalar(text, &number)) return false;
    value = static_cast<T>(number);
  } else if constexpr (std::same_as<T, bool>) {
    value = text == "true";
    if (!value && text != "false") return false;
  } else if constexpr (std::integral<T>) {
    auto const read = std::from_chars(text.data(), end, value);
    if (read.ec != std::errc() || read.ptr != end) return false;
  } else if (text.starts_with(nan_before) && text.ends_with(nan_after)) {
    bits_of_scalar<T> bits = 0;
    char const* const last = end - nan_after.size();
    auto const read = std::from_chars(text.data() + nan_before.size(), last, bits, 16);
    if (read.ec != std::errc() || read.ptr != last) return false;
    value = __builtin_bit_cast(T, bits);
    if (!unpack(static_cast<double>(value)).nan) return false;
  } else {
    auto const [number, stop] = scanner(text.data(), end).number();
    if (stop != end || text.empty() || number.nan) return false;
    value = nearest<T>(number);
    auto const magnitude = __builtin_bit_cast(bits_of_scalar<T>, value) << 1;
    bool const is_out_of_range = unpack(static_cast<double>(value)).infinite != number.infinite ||
                                 (magnitude == 0) != (number.significand == 0 && !number.infinite);
    if (is_out_of_range) return false;
  }
  if (to != nullptr) *to = value;
  return true;
}

}  // namespace detail::inline LOWP_UNIT

}  // namespace lowp
