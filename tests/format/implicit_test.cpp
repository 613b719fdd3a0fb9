// SPDX-License-Identifier: Apache-2.0
// implicit<T>: code written for float takes it, and every result has T's bits.
// ../base/environment_test.cpp gives it to every function of spans.
#include <lowp/io.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <ranges>
#include <sstream>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/support.hpp"

namespace {

using namespace lowp_test;
using lowp::bfloat16;
using lowp::float16;
using lowp::float8_e4m3fn;
using lowp::implicit;

// Lines as programs with `typedef float real;` have them. Every number here is in all formats.
enum size { two = 2 };
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"  // such programs do not ask for it
#pragma GCC diagnostic ignored "-Wfloat-conversion"
template <class real>
struct lines {
  static real propagate(real x) { return x; }
  static real halved(real x) { return x * 0.5f; }
  static real constant() { return 0.5; }
  static constexpr real scale = 1.5;

  struct neuron {
    real weight = 0.5, bias = -1;
    real operator()(real x) const { return weight * x + bias; }
  };
  struct square {
    template <class Number>
    Number operator()(Number x) const {
      return x * x;
    }
  };

  static std::vector<float> run() {
    real x = 1.0, y = 0.5f, z = 3, w = two;
    std::array<real, 2> a{1.5, 2.0f};
    std::array<real, 3> v;
    v.fill(0.0);
    std::vector<real> u(3, 0.5), t{1.0, 0.5f, 2};
    real matrix[2][2] = {{1.0, 0.0}, {0.0, 1.0}};
    x = 1.0 / x;
    y = 2.0 * y;
    z += 0.5 * x;
    w -= 0.5;
    w *= 2.0;
    w /= 3;
    real const e = std::exp(0.0) + std::tanh(real(0)), r = std::sqrt(x) + 1;
    real const p = propagate(1.0) + propagate(0.5f) + halved(3) + constant();
    real const larger = std::max(std::max<real>(x, 0.5f), real(0.25f)), c = x > 0.5 ? x : real(0);
    real sum = std::accumulate(t.begin(), t.end(), 0.0);
    u[0] = std::inner_product(t.begin(), t.end(), t.begin(), real(-1.25));
    std::fill(v.begin(), v.end(), 1.5);
    std::transform(t.begin(), t.end(), u.begin(), [](real k) { return k * 2.0; });
    std::function<real(real)> const twice = [](real k) { return 2.0f * k; };
    std::vector<float> const back(u.begin(), u.end());
    sum = -sum + 4;
    sum++;
    --sum;
    if (!x || (x && y != 1.0)) sum = 100;
    int const whole = static_cast<int>(t[2]);
    double wide = x;
    wide += t[1];
    matrix[1][0] += 0.5;
    std::pair<real, real> const pair(0.5, 2);
    auto const found = std::ranges::find(t, 0.5) - t.begin();
    auto const sorted = std::ranges::is_sorted(t, std::ranges::less{}, [](real k) { return -k; });
    std::vector<float> all{x, y, z, w, a[0], a[1], v[2], e, r, p, larger, c, sum, u[0]};
    all.insert(all.end(), back.begin(), back.end());
    for (real const k : {real(whole), real(wide), matrix[1][0], pair.first, scale, neuron{}(2.0),
                         twice(0.5), square()(real(1.5)), real{}, real(found), real(sorted)})
      all.push_back(k);
    return all;
  }
};

#pragma GCC diagnostic pop

template <class T>
class implicit_type : public testing::Test {};
using formats = testing::Types<bfloat16, float8_e4m3fn>;
TYPED_TEST_SUITE(implicit_type, formats, by_format);

TYPED_TEST(implicit_type, compiles_in_the_place_of_float) {
  EXPECT_EQ(lines<implicit<TypeParam>>::run(), lines<float>::run());
}

TYPED_TEST(implicit_type, converts_without_a_cast) {
  using T = TypeParam;
  using real = implicit<T>;
  static_assert(std::is_same_v<implicit<real>, real> && lowp::narrow<real> &&
                !std::is_same_v<real, T>);
  static_assert(sizeof(real) == sizeof(T) && alignof(real) == alignof(T));
  static_assert(std::is_trivially_copyable_v<real> && std::is_standard_layout_v<real>);
  static_assert(std::is_trivially_default_constructible_v<real> && std::is_final_v<real>);
  static_assert(std::is_convertible_v<float, real> && std::is_convertible_v<real, float>);
  static_assert(std::is_convertible_v<double, real> && std::is_convertible_v<long double, real>);
  static_assert(std::is_convertible_v<int, real> && std::is_convertible_v<bool, real>);
  static_assert(std::is_convertible_v<size, real> && std::is_convertible_v<oracle::i128, real>);
  static_assert(std::is_convertible_v<T, real> && std::is_convertible_v<real, T>);
  static_assert(std::is_assignable_v<real&, T> && std::is_assignable_v<T&, real>);
  // Classes and scoped enumerations stay explicit, as for T.
  enum class scoped {};
  struct foreign {
    constexpr operator float() const { return 0; }
  };
  static_assert(!std::is_convertible_v<scoped, real> && std::is_constructible_v<real, scoped>);
  static_assert(!std::is_convertible_v<foreign, real> && std::is_constructible_v<real, foreign>);
  static_assert(!std::is_constructible_v<real, char const*>);
  types_of<all_formats>::for_each([](auto other) {
    using U = typename decltype(other)::type;
    static_assert(std::is_constructible_v<real, U> && std::is_constructible_v<U, real>);
    static_assert(std::is_convertible_v<U, real> == std::is_same_v<T, U>);
    static_assert(std::is_convertible_v<real, U> == std::is_same_v<T, U>);
    static_assert(requires(real x, U y) { x + y; } == std::is_same_v<T, U>);
    static_assert(requires(real x, U y) { x == y; } == std::is_same_v<T, U>);
  });
#if defined(__FLT16_MANT_DIG__)
  static_assert(std::is_convertible_v<lowp::compiler_float16, real>);
#endif
}

TYPED_TEST(implicit_type, has_the_result_types_of_the_type_itself) {
  using T = TypeParam;
  using real = implicit<T>;
  static_assert(std::is_same_v<decltype(real() + real()), real>);
  static_assert(std::is_same_v<decltype(real() + T()), real>);
  static_assert(std::is_same_v<decltype(T() * real()), real>);
  static_assert(std::is_same_v<decltype(real() * 2), real>);
  static_assert(std::is_same_v<decltype(2U / real()), real>);
  static_assert(std::is_same_v<decltype(real() * 2.0f), float>);
  static_assert(std::is_same_v<decltype(2.0 - real()), double>);
  static_assert(std::is_same_v<decltype(-real()), real>);
  static_assert(std::is_same_v<decltype(real() <=> T()), std::partial_ordering>);
  static_assert(std::is_same_v<decltype(sqrt(real())), real>);
  static_assert(std::is_same_v<decltype(pow(exp(real()), real())), real>);
  static_assert(std::is_same_v<decltype(std::declval<real&>() += 2.0), real&>);
  static_assert(std::is_same_v<decltype(std::declval<T&>() += real()), T&>);
  static_assert(std::is_same_v<std::common_type_t<real, int>, real>);
  static_assert(std::is_same_v<std::common_type_t<bool, real>, real>);
  static_assert(std::is_same_v<std::common_type_t<real, float>, float>);
  static_assert(std::is_same_v<std::common_type_t<double, real>, double>);
  static_assert(std::is_same_v<std::common_type_t<real, T>, real>);
  static_assert(std::is_same_v<std::common_type_t<T, real>, real>);
  static_assert(std::is_same_v<std::common_type_t<T, float>, float>);
  static_assert(std::totally_ordered_with<real, float> && std::totally_ordered_with<real, T>);
}

template <class T>
std::vector<std::pair<T, T>> pairs() {
  std::vector<std::pair<T, T>> all;
  if constexpr (code_count<T> <= 256) {
    for (std::uint32_t a = 0; a < code_count<T>; ++a)
      for (std::uint32_t b = 0; b < code_count<T>; ++b)
        all.emplace_back(of_code<T>(a), of_code<T>(b));
  } else {
    codes<T> random(17);
    for (int i = 0; i < 100'000; ++i) {
      T const a = random.next();
      all.emplace_back(a, random.next());
    }
  }
  return all;
}

// Results of one type in the same order, as bits.
class bits_of_results {
 public:
  void add(lowp::narrow auto x) { all_.push_back(x.bits()); }
  void add(std::floating_point auto x) {
    // The language does not promise the sign and the payload of a NaN.
    std::array<std::uint32_t, (sizeof x + 3) / 4> words{};
    if (!(x != x)) std::memcpy(words.data(), &x, sizeof x > 10 ? 10 : sizeof x);
    all_.insert(all_.end(), words.begin(), words.end());
  }
  void add(bool x) { all_.push_back(x); }
  bool operator==(bits_of_results const&) const = default;

 private:
  std::vector<std::uint32_t> all_;
};

template <class real>
bits_of_results operators(real a, real b, int i, float f, double d, long double l) {
  bits_of_results all;
  real c = a;
  for (
      real const x :
      {a + b, a - b,  a * b,  a / b,  -a,     +a,    a + i,  i - a,  a * i,
       i / a, c += b, c -= b, c *= b, c /= b, c = a, c += i, c *= f, c -= d,
                                              c = a, c++,    ++c,    c--,    --c,    c = f, c = d,  c = l,  c = i})
    all.add(x);
  all.add(a + f), all.add(f - a), all.add(a * d), all.add(d / a), all.add(a - l);
  for (bool const is :
       {a == b, a != b, a<b, a <= b, a> b, a >= b, (a <=> b) < 0, (a <=> b) > 0, a == f, a<d, d> a,
        a != i, i <= a, isnan(a), isinf(a), isfinite(a), signbit(a)})
    all.add(is);
  for (real const x : {abs(a), copysign(a, b), nextafter(a, b), sqrt(a), fma(a, b, a), fmin(a, b),
                       fmax(a, b), fabs(a)})
    all.add(x);
  all.add(ulp(a)), all.add(gap_above(a)), all.add(gap_below(a)), all.add(float{a});
  return all;
}

TYPED_TEST(implicit_type, operators_have_the_same_bits) {
  using T = TypeParam;
  int i = -7;
  for (auto const& [a, b] : pairs<T>()) {
    float const f = 0.37f * static_cast<float>(++i % 1000);
    double const d = 0.1 * i;
    long double const l = 0.1L * i;
    ASSERT_TRUE(operators<implicit<T>>(a, b, i, f, d, l) == operators<T>(a, b, i, f, d, l))
        << shown(a) << ' ' << shown(b) << ' ' << i;
    ASSERT_EQ((implicit<T>(a) - b).bits(), (a - b).bits());
    ASSERT_EQ((a / implicit<T>(b)).bits(), (a / b).bits());
  }
}

template <class real>
bits_of_results functions(real x, real y) {
  bits_of_results all;
  for (real const r :
       {exp(x),      exp2(x),    expm1(x),        log(x),       log2(x),     log10(x),
        log1p(x),    sin(x),     cos(x),          tan(x),       asin(x),     acos(x),
        atan(x),     sinh(x),    cosh(x),         tanh(x),      asinh(x),    acosh(x),
        atanh(x),    cbrt(x),    erf(x),          erfc(x),      floor(x),    ceil(x),
        trunc(x),    round(x),   rint(x),         nearbyint(x), pow(x, y),   hypot(x, y),
        atan2(x, y), fmod(x, y), remainder(x, y), fdim(x, y),   ldexp(x, 3), lerp(x, y, x)})
    all.add(r);
  return all;
}

TYPED_TEST(implicit_type, every_code_keeps_its_bits_functions_text_and_hash) {
  using T = TypeParam;
  using real = implicit<T>;
  codes<T> random(23);
  for (std::uint32_t code = 0; code < code_count<T>; ++code) {
    T const x = of_code<T>(code);
    real const y = x;
    T const back = y;
    ASSERT_TRUE(y.bits() == code && back.bits() == code &&
                real::from_bits(x.bits()).bits() == code);
    ASSERT_EQ(std::hash<real>()(y), std::hash<T>()(x));
    if (code % 16 == 0) {
      T const other = random.next();
      ASSERT_TRUE(functions<real>(x, other) == functions<T>(x, other)) << shown(x);
    }
    std::array<char, 32> of_x{}, of_y{};
    auto const end = to_chars(of_x.data(), of_x.data() + 32, x).ptr;
    to_chars(of_y.data(), of_y.data() + 32, y);
    ASSERT_EQ(of_x, of_y);
    real read = 0;
    T expected(0);
    from_chars(of_x.data(), end, read);
    from_chars(of_x.data(), end, expected);
    ASSERT_EQ(read.bits(), expected.bits());
  }
  std::stringstream stream;
  stream << real(1.5) << ' ' << T(1.5);
  EXPECT_EQ(stream.str(), "1.5 1.5");
  real read;
  stream >> read;
  EXPECT_EQ(read, 1.5);
}

TYPED_TEST(implicit_type, has_the_same_limits_and_names) {
  using T = TypeParam;
  using A = std::numeric_limits<implicit<T>>;
  using B = std::numeric_limits<T>;
  static_assert(std::is_same_v<decltype(A::max()), implicit<T>> && A::is_specialized);
  static_assert(A::digits == B::digits && A::max_digits10 == B::max_digits10);
  static_assert(A::digits10 == B::digits10 && A::has_infinity == B::has_infinity);
  static_assert(A::min_exponent == B::min_exponent && A::max_exponent == B::max_exponent);
  static_assert(A::is_iec559 == B::is_iec559 && A::has_quiet_NaN == B::has_quiet_NaN);
  static_assert(lowp::dtype_codes_of<implicit<T>>.numpy == lowp::dtype_codes_of<T>.numpy);
  static_assert(lowp::dtype_codes_of<implicit<T>>.dlpack == lowp::dtype_codes_of<T>.dlpack);
  static_assert(lowp::dtype_codes_of<implicit<T>>.safetensors ==
                lowp::dtype_codes_of<T>.safetensors);
  for (auto const& [a, b] :
       {std::pair(A::max(), B::max()), std::pair(A::min(), B::min()),
        std::pair(A::lowest(), B::lowest()), std::pair(A::epsilon(), B::epsilon()),
        std::pair(A::infinity(), B::infinity()), std::pair(A::quiet_NaN(), B::quiet_NaN()),
        std::pair(A::denorm_min(), B::denorm_min()), std::pair(A::round_error(), B::round_error())})
    EXPECT_EQ(a.bits(), b.bits());
}

template <class T, class X>
void round_once(X x, std::uint32_t code) {
  implicit<T> const copied = x;
  implicit<T> assigned;
  assigned = x;
  EXPECT_EQ(copied.bits(), code);
  EXPECT_EQ(assigned.bits(), code);
  EXPECT_EQ(implicit<T>{x}.bits(), code);
}

TEST(implicit_type, conversions_round_once) {
  round_once<bfloat16>(0x1.01p0f, 0x3f80);
  round_once<bfloat16>(0x1.01p0 + 0x1p-40, 0x3f81);  // a tie by way of float
  round_once<bfloat16>(0x1.01p0L + 0x1p-62L, 0x3f81);
  round_once<bfloat16>((1LL << 40) + (1LL << 32) + 1, 0x5381);
  round_once<bfloat16>(two, 0x4000);
  round_once<float16>(65520.0, 0x7c00);
  round_once<float8_e4m3fn>(1e30, 0x7e);
  static_assert(implicit<bfloat16>(0.5).bits() == 0x3f00);
  // A signaling NaN is copied, not converted.
  implicit<float16> const nan = float16::from_bits(0x7d01);
  EXPECT_EQ(nan.bits(), 0x7d01);
  EXPECT_EQ(lowp::convert<float16>(nan).bits(), 0x7d01);
  EXPECT_EQ(lowp::convert<implicit<bfloat16>>(0x1.018p0f, lowp::toward_zero{}).bits(), 0x3f80);
  implicit<bfloat16> const ones[]{1.0, 1.0};
  static_assert(std::is_same_v<decltype(lowp::view(ones, 2)), std::span<bfloat16 const>>);
  EXPECT_EQ(lowp::view(ones, 2)[1], 1);
}

}  // namespace
