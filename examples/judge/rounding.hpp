// SPDX-License-Identifier: Apache-2.0
// Rounds one exact number to a format that is known at run time only. Integers alone: no
// floating-point unit has a say.
#pragma once

#include <cstdint>

#include "formats.hpp"

namespace judge {

enum class kind : std::uint8_t { zero, finite, infinity, nan };

/// A number of any format: significand * 2^exponent.
struct exact {
  kind what = kind::zero;
  bool is_negative = false;
  std::uint64_t significand = 0;
  int exponent = 0;
  std::uint64_t payload = 0;  ///< of a NaN: its fraction, the quiet bit at bit 63
};

enum class mode : std::uint8_t {
  nearest_even,
  nearest_away,
  toward_zero,
  upward,
  downward,
  to_odd,
  ties_upward,       ///< to nearest; no mode of the library
  ties_toward_zero,  ///< likewise
};
inline constexpr int modes_of_library = 6;
inline constexpr int all_modes = 8;
std::string_view name_of(mode m);

exact decode(number_type const& t, std::uint64_t code);

/// A magnitude on the grid of a format, which continues beyond the largest value.
struct place {
  std::uint64_t code = 0;  ///< of the neighbour toward zero
  bool is_exact = true;    ///< it is the number
  int versus_half = -1;    ///< sign of the distance from that neighbour less half a gap
  std::uint64_t part = 0;  ///< that distance in 2^-32 of a gap, rounded down
};
/// @param x  finite or zero
place locate(number_type const& t, exact const& x);
bool moves_away(mode m, bool is_negative, place const& at);

/// The result of a rounding before a policy decides about what is beyond the range.
struct rounded {
  enum class outcome : std::uint8_t { in_range, beyond, infinite, below } what = outcome::in_range;
  std::uint64_t code = 0;  ///< with its sign
  bool is_negative = false;
};
/// Says that the mode rounds magnitudes beyond `end` back to it.
bool points_inward(mode m, bool is_negative, number_type const& t, std::uint64_t end);
/// @param x  no NaN
rounded round_to(number_type const& t, exact const& x, mode m);
/// Ends with a policy.
std::uint64_t finished(number_type const& t, rounded const& r, lowp::special_codes const& codes);
std::uint64_t code_of_nan(number_type const& t, exact const& x, lowp::special_codes const& codes);
/// All of it.
std::uint64_t converted(number_type const& t, exact const& x, mode m, lowp::overflow policy);

/// The value of a code as a text: "448", "2^-149", "NaN".
std::string shown(number_type const& t, std::uint64_t code);
double value_of(number_type const& t, std::uint64_t code);
double value_of(exact const& x);

}  // namespace judge
