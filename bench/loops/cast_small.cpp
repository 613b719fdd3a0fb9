// SPDX-License-Identifier: Apache-2.0
// float16 and fp8 without branches, so that compilers can vectorise them.
#include "cast.hpp"
#include "double.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace {

/// IEEE-like: a sign, `Exponent` and `Significand` bits, the usual bias.
template <int Exponent, int Significand, class Code>
struct small_float {
  static constexpr std::uint32_t discarded = 23 - Significand;
  static constexpr std::uint32_t bias = (1u << (Exponent - 1)) - 1;
  static constexpr std::uint32_t rebias = (127 - bias) << 23;
  static constexpr std::uint32_t smallest_normal = (128 - bias) << 23;
  /// A float whose last place is the smallest subnormal: adding it rounds on that grid.
  static constexpr std::uint32_t magic = (128 - bias + discarded) << 23;
  static constexpr std::uint32_t unit = (128 - bias - Significand) << 23;
  static constexpr std::uint32_t infinity = ((1u << Exponent) - 1) << Significand;
  static constexpr std::uint32_t quiet_nan = infinity | infinity >> 1;
  static constexpr std::uint32_t sign = 1u << (Exponent + Significand);
  static constexpr int sign_shift = 31 - Exponent - Significand;

  static std::uint32_t round(std::uint32_t magnitude) {
    auto const is_odd = magnitude >> discarded & 1;
    auto const almost_half = (1u << (discarded - 1)) - 1;
    auto const normal = (magnitude - rebias + almost_half + is_odd) >> discarded;
    auto const sum = std::bit_cast<float>(magnitude) + std::bit_cast<float>(magic);
    auto const subnormal = std::bit_cast<std::uint32_t>(sum) - magic;
    return magnitude < smallest_normal ? subnormal : normal;
  }
  /// The largest finite value; larger magnitudes become it.
  static Code encode(float x, std::uint32_t largest, std::uint32_t nan) {
    auto const bits = std::bit_cast<std::uint32_t>(x);
    auto const magnitude = bits & 0x7fffffff;
    auto const rounded = std::min(round(magnitude), largest);
    auto const code = magnitude > 0x7f800000 ? nan : rounded;
    return static_cast<Code>((bits >> sign_shift & sign) | code);
  }
  /// A NaN keeps its leading payload bits.
  static Code encode(float x) {
    auto const payload = std::bit_cast<std::uint32_t>(x) >> discarded & (infinity ^ (sign - 1));
    return encode(x, infinity, quiet_nan | payload);
  }

  /// The bits of a float.
  static std::uint32_t widen(std::uint32_t magnitude) {
    auto const normal = (magnitude << discarded) + rebias;
    auto const subnormal =
        static_cast<float>(static_cast<std::int32_t>(magnitude)) * std::bit_cast<float>(unit);
    return magnitude >> Significand ? normal : std::bit_cast<std::uint32_t>(subnormal);
  }
  static float with_sign(Code code, std::uint32_t bits) {
    return std::bit_cast<float>((code & sign) << sign_shift | bits);
  }
  static float decode(Code code) {
    auto const magnitude = code & (sign - 1);
    auto const special =
        0x7f800000 | magnitude << discarded | (magnitude > infinity ? 1u << 22 : 0);
    return with_sign(code, magnitude >= infinity ? special : widen(magnitude));
  }
};

using e5m10 = small_float<5, 10, std::uint16_t>;
using e5m2 = small_float<5, 2, std::uint8_t>;
using e4m3 = small_float<4, 3, std::uint8_t>;

/// Without infinity, with one NaN; saturates.
constexpr std::uint32_t e4m3fn_nan = 0x7f;

std::uint8_t to_e4m3fn(float x) { return e4m3::encode(x, e4m3fn_nan - 1, e4m3fn_nan); }

float from_e4m3fn(std::uint8_t code) {
  auto const magnitude = code & e4m3fn_nan;
  return e4m3::with_sign(code, magnitude == e4m3fn_nan ? 0x7fc00000 : e4m3::widen(magnitude));
}

bench::peer const loops("cast", [](bench::suite& cases) {
  using lowp::float16, lowp::float8_e4m3fn, lowp::float8_e5m2;
  lowp::nearest_even const nearest;
  bench::add_cast_loops<float, float16>(cases, "float->float16/nearest_even", nearest,
                                        [](float x) { return e5m10::encode(x); });
  bench::add_cast_loops<double, float16>(
      cases, "double->float16/nearest_even", nearest,
      [](double x) { return e5m10::encode(bench::to_odd_float(x)); });
  bench::add_cast_loops<float16, float>(cases, "float16->float/exact", nearest,
                                        [](std::uint16_t x) { return e5m10::decode(x); });
  bench::add_cast_loops<float, float8_e5m2>(cases, "float->float8_e5m2/nearest_even", nearest,
                                            [](float x) { return e5m2::encode(x); });
  bench::add_cast_loops<float8_e5m2, float>(cases, "float8_e5m2->float/exact", nearest,
                                            [](std::uint8_t x) { return e5m2::decode(x); });
  bench::add_cast_loops<float, float8_e4m3fn>(cases, "float->float8_e4m3fn/nearest_even", nearest,
                                              [](float x) { return to_e4m3fn(x); });
  bench::add_cast_loops<float8_e4m3fn, float>(cases, "float8_e4m3fn->float/exact", nearest,
                                              [](std::uint8_t x) { return from_e4m3fn(x); });
});

}  // namespace
