// SPDX-License-Identifier: Apache-2.0
// Parts of a checkpoint, without their types. Numbers are text that reads back to the same bits.
#pragma once

#include <lowp/base/text.hpp>
#include <lowp/format/charconv.hpp>
#include <lowp/io/safetensors/dtype.hpp>

#include <span>

namespace lowp {

namespace detail {

/// A truth value, or an integer of at most 64 bits that the standard library reads: it reads no
/// char16_t.
template <class T>
concept whole_scalar =
    std::same_as<T, bool> || (std::integral<T> && sizeof(T) <= sizeof(std::uint64_t) &&
                              requires(char const* text, std::remove_const_t<T>& value) {
                                std::from_chars(text, text, value);
                              });

/// A tensor of a checkpoint. The types here have no unit's name: see compiled_state.hpp.
struct saved_tensor {
  std::span<std::uint64_t const> shape;
  safetensors::dtype type;
  std::string_view format;  ///< format of codes that the file has only as integers
  std::span<std::byte> bytes;
  std::byte high_byte{0xff};  ///< the bits that a code may have in its last byte
};
struct saved_scalar {
  void* value;
  std::string (*text)(void const*);
  bool (*parse)(std::string_view, void*);  ///< into null: only checks
  char const* only = nullptr;              ///< the only text that a file may have
};

}  // namespace detail

/// A value that a checkpoint keeps as text: an integer of at most 64 bits, truth value,
/// enumeration, float or double. A file may give an enumeration any number of its underlying type.
/// Fix that type (`enum mode : int`): else a number beyond the enumerators' bits is undefined.
template <class T>
concept checkpoint_scalar = detail::whole_scalar<T> || detail::one_of<T, float, double> ||
                            (std::is_enum_v<T> && detail::whole_scalar<std::underlying_type_t<T>>);

namespace detail::inline LOWP_SHARED {

/// Returns the text of a truth value, or of a float, a double or an integer of 64 bits.
template <class T>
LOWP_LIB std::string text_of_scalar(T value);
/// Returns true if all of `text` is such a number. Then stores it.
template <class T>
LOWP_LIB bool read_scalar(std::string_view text, T& to);

#if defined(LOWP_BODIES)

template <class T>
using bits_of_scalar = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

/// The text around a NaN's bits, which are hexadecimal: decimal text would lose them.
inline constexpr std::string_view nan_before = "nan(0x", nan_after = ")";

template <class T>
std::string text_of_scalar(T value) {
  if constexpr (std::same_as<T, bool>) {
    return value ? "true" : "false";
  } else {
    if constexpr (std::integral<T>) return text_of(value);
    if (!unpack(static_cast<double>(value)).nan) return text_of(value);
    char text[16];
    auto const bits = __builtin_bit_cast(bits_of_scalar<T>, value);
    return std::string(nan_before)
        .append(text, std::to_chars(text, text + sizeof(text), bits, 16).ptr)
        .append(nan_after);
  }
}

bool read_whole(std::string_view text, auto& to, int base) {
  char const* const end = text.data() + text.size();
  auto const read = std::from_chars(text.data(), end, to, base);
  return read.ec == std::errc() && read.ptr == end;
}
template <class T>
bool read_scalar(std::string_view text, T& to) {
  if constexpr (std::same_as<T, bool>) {
    to = text == "true";
    return to || text == "false";
  } else if constexpr (std::integral<T>) {
    return read_whole(text, to, 10);
  } else if (text.starts_with(nan_before) && text.ends_with(nan_after)) {
    text.remove_prefix(nan_before.size());
    text.remove_suffix(nan_after.size());
    bits_of_scalar<T> bits = 0;
    if (!read_whole(text, bits, 16)) return false;
    to = __builtin_bit_cast(T, bits);
    return unpack(static_cast<double>(to)).nan;
  } else {
    char const* const end = text.data() + text.size();
    auto const [number, stop] = scanner(text.data(), end).number();
    if (stop != end || text.empty() || number.nan) return false;
    to = nearest<T>(number);
    auto const magnitude = __builtin_bit_cast(bits_of_scalar<T>, to) << 1;
    return unpack(static_cast<double>(to)).infinite == number.infinite &&
           (magnitude == 0) == (number.significand == 0 && !number.infinite);
  }
}
#if defined(LOWP_COMPILING)
#define LOWP_SCALAR(T)                    \
  template std::string text_of_scalar(T); \
  template bool read_scalar(std::string_view, T&);
LOWP_SCALAR(bool)
LOWP_SCALAR(std::int64_t)
LOWP_SCALAR(std::uint64_t)
LOWP_SCALAR(float)
LOWP_SCALAR(double)
#undef LOWP_SCALAR
#endif

#endif

}  // namespace detail::inline LOWP_SHARED

namespace detail::inline LOWP_UNIT {

template <class T>
struct widest_of : std::conditional<std::is_signed_v<T>, std::int64_t, std::uint64_t> {};
template <one_of<bool, float, double> T>
struct widest_of<T> : std::type_identity<T> {};
template <class T>
  requires std::is_enum_v<T>
struct widest_of<T> : widest_of<std::underlying_type_t<T>> {};

template <class T>
std::string scalar_text(T value) {
  return text_of_scalar(static_cast<typename widest_of<T>::type>(value));
}

/// Returns true if all of `text` is a T. Then stores it in *to unless `to` is null.
template <class T>
bool parse_scalar(std::string_view text, T* to) {
  typename widest_of<T>::type value{};
  if (!read_scalar(text, value)) return false;
  if constexpr (!one_of<T, float, double>)
    if (static_cast<decltype(value)>(static_cast<T>(value)) != value) return false;
  if (to != nullptr) *to = static_cast<T>(value);
  return true;
}

/// The names that a file has for `specials`, in its order. A name stays when the enumeration grows.
inline constexpr std::string_view specials_names[] = {"ieee", "nan_all_ones", "nan_negative_zero",
                                                      "none", "p3109_extended"};
inline constexpr std::string_view before_specials = " specials ";

/// Returns the facts that give codes of the same width another meaning.
inline std::string format_text(format const& f) {
  std::string text = f.has_sign ? "e" : "unsigned e";
  text.append(std::to_string(f.exponent_bits)).append("m");
  text.append(std::to_string(f.significand_bits)).append(" bias ");
  text.append(std::to_string(f.bias)).append(before_specials);
  return text.append(specials_names[static_cast<std::size_t>(f.special_values)]);
}

}  // namespace detail::inline LOWP_UNIT

}  // namespace lowp
