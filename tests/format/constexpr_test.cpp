// SPDX-License-Identifier: Apache-2.0
// Everything that section "values" of the public surface offers works at compile time. The
// assertions here are about the compiler; the running tests say that run time agrees.
#include <utility>

#include "support/support.hpp"

namespace {

using namespace lowp_test;
using lowp::bfloat16;
using lowp::convert;
using lowp::float16;
using lowp::float4_e2m1fn;
using lowp::float6_e2m3fn;
using lowp::float6_e3m2fn;
using lowp::float8_e4m3fn;
using lowp::float8_e4m3fnuz;
using lowp::float8_e5m2;
using lowp::float8_e8m0fnu;

template <class T>
using limits = std::numeric_limits<T>;
constexpr float infinity = std::numeric_limits<float>::infinity();

// The library's best-known examples.
static_assert(bfloat16(283) * 10 == bfloat16(2848));
static_assert(bfloat16(256) + 1 == 256);
static_assert(float16(65504) + 15 == 65504 && isinf(float16(65504) + 16));

// Conversions from every kind of number.
static_assert(bfloat16(0x1.01p0f).bits() == 0x3f80 && bfloat16(0x1.03p0f).bits() == 0x3f82);
static_assert(bfloat16(0x1.01p0 + 0x1p-40).bits() == 0x3f81);
static_assert(bfloat16(0x1.01p0L + 0x1p-62L).bits() == 0x3f81);
static_assert(bfloat16(-0x1p-140L).bits() == 0x8000 && bfloat16(0x1p-133L).bits() == 1);
static_assert(float16(-1e300L).bits() == 0xfc00 && float16(-0.0L).bits() == 0x8000);
static_assert(float16(5).bits() == 0x4500 && float16(-5LL).bits() == 0xc500);
static_assert(float16(true) == 1 && float16('a') == 97 && float16(~0ULL).bits() == 0x7c00);
static_assert(float8_e4m3fn(float16(0.1f)) == float8_e4m3fn(float(float16(0.1f))));
static_assert(float(float8_e5m2(57344)) == 57344.0f && double(float4_e2m1fn(6)) == 6.0);
static_assert(float16(limits<long double>::quiet_NaN()).bits() == 0x7e00);
static_assert(float16(-infinity).bits() == 0xfc00 && float16(double{infinity}).bits() == 0x7c00);

// Every code of the small formats, and back.
template <class T>
constexpr bool survives_round_trip() {
  for (std::uint32_t code = 0; code < code_count<T>; ++code) {
    T const x = of_code<T>(code);
    T const back = convert<T>(convert<float>(x));
    bool const quieted = isnan(x) && isnan(back);
    if (back.bits() != code && !quieted) return false;
    if (oracle::decode_to_float_bits(facts<T>, code) != float_bits(float(x))) return false;
  }
  return true;
}
static_assert(survives_round_trip<float8_e5m2>() && survives_round_trip<float8_e4m3fn>());
static_assert(survives_round_trip<float8_e4m3fnuz>() && survives_round_trip<float8_e8m0fnu>());
static_assert(survives_round_trip<float6_e2m3fn>() && survives_round_trip<float4_e2m1fn>());

// Modes and policies.
static_assert(convert<bfloat16>(0x1.01p0f, lowp::nearest_away{}).bits() == 0x3f81);
static_assert(convert<bfloat16>(0x1.01p0f, lowp::toward_zero{}).bits() == 0x3f80);
static_assert(convert<bfloat16>(0x1.0001p0f, lowp::upward{}).bits() == 0x3f81);
static_assert(convert<bfloat16>(-0x1.0001p0f, lowp::downward{}).bits() == 0xbf81);
static_assert(convert<bfloat16>(0x1.0001p0f, lowp::to_odd{}).bits() == 0x3f81);
static_assert(convert<bfloat16>(0x1.01p0f, lowp::stochastic_bits{0x8000}).bits() == 0x3f81);
static_assert(convert<bfloat16>(0x1.01p0f, lowp::stochastic_bits{0x7fff}).bits() == 0x3f80);
static_assert(convert<bfloat16>(1.0f, lowp::stochastic{.seed = 1, .stream = 2, .offset = 3}) == 1);
static_assert(convert<float8_e4m3fn>(1e6f).bits() == 0x7e);
static_assert(
    convert<float8_e4m3fn>(-1e6f, lowp::nearest_even{}, lowp::overflow::infinity).bits() == 0xff);
static_assert(convert<float8_e5m2>(1e6f, lowp::nearest_even{}, lowp::overflow::saturate).bits() ==
              0x7b);
static_assert(convert<float8_e5m2>(1e6f, lowp::nearest_even{}, lowp::overflow::cuda).bits() ==
              0x7b);
static_assert(lowp::default_overflow<float8_e4m3fn> == lowp::overflow::saturate);

// Arithmetic, with the corners that the language does not let a constant have.
template <class T>
constexpr T zero = T(0);
static_assert(bfloat16(1) / zero<bfloat16> == infinity && bfloat16(-1) / 0 == -infinity);
static_assert(float8_e4m3fn(1) / zero<float8_e4m3fn> == 448);
static_assert(float8_e4m3fn(-1) / 0 == -448 && float4_e2m1fn(1) / 0 == 6);
static_assert((zero<bfloat16> / 0).bits() == 0x7fc0 && (zero<float8_e4m3fn> / 0).bits() == 0x7f);
static_assert((zero<float8_e4m3fnuz> / 0).bits() == 0x80);
static_assert((zero<float4_e2m1fn> / 0).bits() == 0x8 && (zero<float6_e3m2fn> / 0).bits() == 0x20);
static_assert(infinity / -zero<float16> == -infinity && 1.0f / zero<float16> == infinity);
static_assert(lowp::detail::is_nan(zero<float16> / 0.0f));
static_assert(lowp::detail::is_nan(limits<float16>::quiet_NaN() / 0.0));
static_assert(isnan(limits<float16>::infinity() - limits<float16>::infinity()));
static_assert(isnan(limits<float16>::infinity() * 0));
static_assert(isnan(limits<float16>::quiet_NaN() + 1) && isnan(-limits<float16>::quiet_NaN()));
static_assert(float8_e4m3fn(448) * 2 == 448 && isinf(float8_e5m2(57344) * 2));
static_assert(float16(3) - 1 == 2 && 1 - float16(3) == -2 && 7 / float16(2) == 3.5f);
static_assert(float16(1) + 0.5f == 1.5f && 0.25 * float16(2) == 0.5 && float16(1) + 1.0L == 2.0L);
static_assert([] {
  float16 x(1);
  x += 2;
  x *= 2.0f;
  x -= 1.0;
  x /= float16(2);
  ++x;
  x++;
  return x-- == 4.5f && --x == 2.5f;
}());
static_assert((-float16(0)).bits() == 0x8000 && (+float16(1)).bits() == 0x3c00);
static_assert((-float8_e4m3fnuz(0)).bits() == 0 && isnan(-float8_e8m0fnu(1)));

// Comparisons.
constexpr float16 nan = limits<float16>::quiet_NaN();
static_assert(float16(1) < 2 && 1.5f > float16(1) && float16(0.0f) == float16(-0.0f));
static_assert(float16(2) <= 2 && float16(2) >= 2 && float16(2) != 3);
static_assert(nan != nan && !(nan < 1) && !(nan >= 1) &&
              (nan <=> nan) == std::partial_ordering::unordered);
static_assert((float16(1) <=> float16(2)) == std::partial_ordering::less);

// Functions.
static_assert(sqrt(bfloat16(2)).bits() == 0x3fb5 && sqrt(float16(9)) == 3);
static_assert(isnan(sqrt(float16(-1))) && sqrt(float16(-0.0f)).bits() == 0x8000);
static_assert(sqrt(float16::from_bits(1)).bits() == 0x0c00 && isinf(sqrt(float16(infinity))));
static_assert(fma(bfloat16(0x1.02p0), bfloat16(1.5), bfloat16(-0x1p-60)) == bfloat16(0x1.82p0));
static_assert(fma(float16(256), float16(256), float16(-65504)) == 32);
static_assert(isnan(fma(float16(infinity), float16(0), float16(1))));
static_assert(nextafter(bfloat16(1), bfloat16(2)).bits() == 0x3f81);
static_assert(nextafter(float16(65504), float16(infinity)) == infinity);
static_assert(nextafter(float16(0), float16(-1)).bits() == 0x8001);
static_assert(abs(float16(-2)) == 2 && copysign(float16(2), float16(-0.0f)) == -2);
static_assert(signbit(float16(-0.0f)) && isfinite(float16(1)) && !isfinite(nan) && !isinf(nan));
static_assert(fmin(float16(1), nan) == 1 && fmax(float16(-0.0f), float16(0)).bits() == 0);
static_assert(ulp(bfloat16(1)) == 0x1p-7f && gap_above(bfloat16(1)) == 0x1p-7f);
static_assert(gap_below(bfloat16(1)) == 0x1p-8f && gap_above(float16(65504)) == infinity);
static_assert(std::hash<float16>{}(-float16(0)) == std::hash<float16>{}(float16(0)));

// Random bits.
static_assert(lowp::philox4x32({0, 0, 0, 0}, {0, 0})[0] == 0x6627e8d5);
static_assert(lowp::stream_of(1, 2) == 0x100000002);

// The compiler and the program compute the same.
template <class T>
class constant : public testing::Test {};
TYPED_TEST_SUITE(constant, all_formats, by_format);

template <class T>
struct computed {
  T sum, difference, product, quotient, root, fused, next;
  std::uint32_t comparisons;
};

template <class T>
constexpr computed<T> compute(T a, T b) {
  return {a + b,
          a - b,
          a * b,
          a / b,
          sqrt(a),
          fma(a, b, a),
          nextafter(a, b),
          unsigned{a == b} | unsigned{a < b} << 1 | unsigned{a > b} << 2 | unsigned{a <= b} << 3};
}

template <class T>
constexpr auto pick_codes() {
  std::array<std::uint32_t, 16> picked{};
  constexpr auto top = static_cast<std::uint32_t>(facts<T>.max_code());
  constexpr auto sign = static_cast<std::uint32_t>(facts<T>.sign_mask());
  std::uint32_t const magnitudes[8] = {0, 1, 2, top / 3, top / 2, top, top + 1, top + 2};
  for (std::size_t i = 0; i < picked.size(); ++i) {
    picked[i] = (magnitudes[i / 2] | (i % 2 ? sign : 0)) & (code_count<T> - 1);
  }
  return picked;
}

// Combines one picked code with all, so that each evaluation stays within a compiler's limit.
template <class T, std::size_t A>
constexpr auto compiled_with_all = [] {
  std::array<computed<T>, pick_codes<T>().size()> results{};
  constexpr auto picked = pick_codes<T>();
  for (std::size_t i = 0; i < picked.size(); ++i) {
    results[i] = compute(of_code<T>(picked[A]), of_code<T>(picked[i]));
  }
  return results;
}();

template <class T, std::size_t A>
void compare_with_run_time() {
  constexpr auto picked = pick_codes<T>();
  for (std::size_t i = 0; i < picked.size(); ++i) {
    std::uint32_t volatile a = picked[A];
    std::uint32_t volatile b = picked[i];
    T const x = of_code<T>(a);
    T const y = of_code<T>(b);
    computed<T> const got = compute(x, y);
    computed<T> const& expected = compiled_with_all<T, A>[i];
    EXPECT_TRUE(has_bits(got.sum, expected.sum.bits(), x, "+", y));
    EXPECT_TRUE(has_bits(got.difference, expected.difference.bits(), x, "-", y));
    EXPECT_TRUE(has_bits(got.product, expected.product.bits(), x, "*", y));
    EXPECT_TRUE(has_bits(got.quotient, expected.quotient.bits(), x, "/", y));
    EXPECT_TRUE(has_bits(got.root, expected.root.bits(), "sqrt", x));
    EXPECT_TRUE(has_bits(got.fused, expected.fused.bits(), "fma", x, y, x));
    EXPECT_TRUE(has_bits(got.next, expected.next.bits(), "nextafter", x, y));
    EXPECT_EQ(got.comparisons, expected.comparisons) << shown(x) << ' ' << shown(y);
  }
}

TYPED_TEST(constant, results_are_those_of_run_time) {
  using T = TypeParam;
  []<std::size_t... A>(std::index_sequence<A...>) {
    (compare_with_run_time<T, A>(), ...);
  }(std::make_index_sequence<pick_codes<T>().size()>());
}

}  // namespace
