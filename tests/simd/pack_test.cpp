// SPDX-License-Identifier: Apache-2.0
// The vocabulary of lanes on the packs of every backend. Each word means for a pack what it means
// for a scalar. For reals it is exact arithmetic rounded once.
#include <gtest/gtest.h>
#include <lowp/simd/dispatch.hpp>

#include <array>
#include <bit>
#include <cstdint>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "support.hpp"
#include "support/formats.hpp"

template <>
inline constexpr oracle::facts
    lowp_test::facts<lowp::basic_float<lowp::format{2, 1, -120, lowp::specials::none}>>{
        "far_e2m1fn", 2, 1, -120, false, oracle::nan_rule::none, true, 0x1.8p123, 0x1p121, 0x1p120};

namespace {

using namespace lowp_test;
namespace lanes = lowp::lanes;
using u32 = std::uint32_t;

// An operation: `on` for lanes of any kind, `expected` for one of them.
template <class F>
using word = lanes::word<F>;
template <class F, class M>
LOWP_HOST_FN word<F> one_or_zero(M const& where) {
  return lanes::select(where, lanes::broadcast<word<F>>(1), lanes::broadcast<word<F>>(0));
}
template <class F>
LOWP_HOST_FN F real(word<F> const& bits) {
  return lanes::from_bits<F>(bits);
}

bool above(u32 a, u32 b) { return std::bit_cast<int>(a) > std::bit_cast<int>(b); }
bool is_any_nan(u32 a) { return (a & 0x7fffffffU) > 0x7f800000U; }
u32 number(u32 a) { return is_any_nan(a) ? 1 : a; }
u32 positive_zero(u32 a) { return a == 0x80000000U ? 0 : a; }
bool is_larger(u32 a, u32 b) { return std::bit_cast<float>(a) > std::bit_cast<float>(b); }
template <class F>
LOWP_HOST_FN F number_of(word<F> const& a) {
  return lanes::select(lanes::is_nan(real<F>(a)), real<F>(lanes::broadcast<word<F>>(1)),
                       real<F>(a));
}
u32 float_from(u32 integer) {
  return oracle::encode(oracle::binary32, oracle::from(integer), oracle::mode::nearest_even,
                        oracle::policy::infinity);
}

// Numbers from 2^-11 to 2^5, of both signs.
template <class U>
LOWP_HOST_FN U of_few_bits(U const& a) {
  return (a & 0x87ffffffU) + 0x3a000000U;
}
// A format so far up that no float has an ulp as large as its steps.
using far_e2m1fn = lowp::basic_float<lowp::format{2, 1, -120, lowp::specials::none}>;
// Numbers from far below its smallest one to beyond its largest one.
template <lowp::narrow T, class U>
LOWP_HOST_FN U numbers_for(U const& a) {
  return of_few_bits(a) + (std::same_as<T, far_e2m1fn> ? 118U << 23 : 0U);
}
template <lowp::narrow T>
u32 saturated(u32 a, oracle::mode mode, u32 random) {
  return oracle::encode(facts<T>, oracle::from_float_bits(numbers_for<T>(a)), mode,
                        oracle::policy::saturate, random & 0xffffU);
}

// clang-format off
#define REAL_OPERATION(name, expression, reference)                                              \
  struct name {                                                                                  \
    static constexpr bool is_real = true;                                                        \
    template <class F>                                                                           \
    LOWP_HOST_FN static word<F> on(const word<F>& a, [[maybe_unused]] const word<F>& b,          \
                                   [[maybe_unused]] const word<F>& c) {                          \
      return lanes::bits(expression);                                                            \
    }                                                                                            \
    static u32 expected(u32 a, [[maybe_unused]] u32 b, [[maybe_unused]] u32 c) {                 \
      return reference;                                                                          \
    }                                                                                            \
  }
REAL_OPERATION(add, lanes::add(real<F>(a), real<F>(b)), oracle::f32_add(a, b));
REAL_OPERATION(sub, lanes::sub(real<F>(a), real<F>(b)), oracle::f32_sub(a, b));
REAL_OPERATION(mul, lanes::mul(real<F>(a), real<F>(b)), oracle::f32_mul(a, b));
REAL_OPERATION(div, lanes::div(real<F>(a), real<F>(b)), oracle::f32_div(a, b));
REAL_OPERATION(sqrt, lanes::sqrt(real<F>(a)), oracle::f32_sqrt(a));
REAL_OPERATION(fma, lanes::fma(real<F>(a), real<F>(b), real<F>(c)), oracle::f32_fma(a, b, c));
// Expressions that a compiler might contract, cancel or turn into something nearly equal.
REAL_OPERATION(mul_add, lanes::add(lanes::mul(real<F>(a), real<F>(b)), real<F>(c)),
               oracle::f32_add(oracle::f32_mul(a, b), c));
REAL_OPERATION(add_sub, lanes::sub(lanes::add(real<F>(a), real<F>(b)), real<F>(a)),
               oracle::f32_sub(oracle::f32_add(a, b), a));
REAL_OPERATION(div_root, lanes::div(real<F>(a), lanes::sqrt(real<F>(b))),
               oracle::f32_div(a, oracle::f32_sqrt(b)));
// Either zero may be the larger; adding zero to both makes them one.
REAL_OPERATION(maximum_number, lanes::add(lanes::maximum_number(real<F>(a), number_of<F>(b)), lanes::broadcast<F>(0)),
               positive_zero(is_larger(a, number(b)) ? a : number(b)));
REAL_OPERATION(smaller_or_nan,
               lanes::add(lanes::smaller_or_nan(real<F>(a), number_of<F>(b)), lanes::broadcast<F>(0)),
               is_any_nan(a) ? any_nan(a) : positive_zero(is_larger(a, number(b)) ? number(b) : a));
#undef REAL_OPERATION

#define WORD_OPERATION(name, expression, reference)                                              \
  struct name {                                                                                  \
    static constexpr bool is_real = false;                                                       \
    template <class F>                                                                           \
    LOWP_HOST_FN static word<F> on(const word<F>& a, [[maybe_unused]] const word<F>& b,          \
                                   [[maybe_unused]] const word<F>& c) {                          \
      using U [[maybe_unused]] = word<F>;                                                        \
      return expression;                                                                         \
    }                                                                                            \
    static u32 expected(u32 a, [[maybe_unused]] u32 b, [[maybe_unused]] u32 c) {                 \
      return reference;                                                                          \
    }                                                                                            \
  }
WORD_OPERATION(plus, a + b + 0x9e3779b9U, a + b + 0x9e3779b9U);
WORD_OPERATION(minus, a - b - 77U, a - b - 77U);
WORD_OPERATION(bit_and, (a & b) ^ (c & 0xff00ffU), (a & b) ^ (c & 0xff00ffU));
WORD_OPERATION(bit_or, (a | b) ^ (c | 0xff00ffU), (a | b) ^ (c | 0xff00ffU));
WORD_OPERATION(bit_xor, a ^ b ^ 0x80000001U, a ^ b ^ 0x80000001U);
WORD_OPERATION(shifts, (a << 5) ^ (b >> 11), (a << 5) ^ (b >> 11));
WORD_OPERATION(shifts_by_lane, (a << (b & 31U)) ^ (a >> (c & 31U)),
               (a << (b & 31U)) ^ (a >> (c & 31U)));
WORD_OPERATION(equal, one_or_zero<F>(lanes::equal(a, b)), a == b ? 1 : 0);
WORD_OPERATION(greater, one_or_zero<F>(lanes::greater(a, b)), above(a, b) ? 1 : 0);
WORD_OPERATION(max, lanes::max(a, b), above(a, b) ? a : b);
WORD_OPERATION(min, lanes::min(a, b), above(a, b) ? b : a);
WORD_OPERATION(select_words, lanes::select(lanes::greater(a, b), c, a), above(a, b) ? c : a);
WORD_OPERATION(select_reals,
               lanes::bits(lanes::select(lanes::equal(a, b), real<F>(c), real<F>(a))),
               a == b ? c : a);
WORD_OPERATION(masks,
               one_or_zero<F>(lanes::mask_and(lanes::mask_or(lanes::equal(a, b), lanes::greater(a, c)),
                                          lanes::mask_not(lanes::greater(b, c)))),
               (a == b || above(a, c)) && !above(b, c) ? 1 : 0);
WORD_OPERATION(broadcast, lanes::broadcast<U>(0xdeadbeefU) ^ a, 0xdeadbeefU ^ a);
WORD_OPERATION(spread_real, lanes::bits(lanes::broadcast<F>(-0x1.2p-140f)) ^ a, 0x80000240U ^ a);
WORD_OPERATION(to_real, lanes::bits(lanes::to_real(a & 0xffffffU)), float_from(a & 0xffffffU));
WORD_OPERATION(bits, lanes::bits(real<F>(a)), a);
WORD_OPERATION(negative, lanes::bits(lanes::negative(real<F>(a))), a ^ 0x80000000U);
WORD_OPERATION(absolute, lanes::bits(lanes::absolute(real<F>(a))), a & 0x7fffffffU);
WORD_OPERATION(copysign, lanes::bits(lanes::copysign(real<F>(a), real<F>(b))),
               (a & 0x7fffffffU) | (b & 0x80000000U));
WORD_OPERATION(magnitude, lanes::magnitude(real<F>(a)), a & 0x7fffffffU);
WORD_OPERATION(is_nan, one_or_zero<F>(lanes::is_nan(real<F>(a))),
               (a & 0x7fffffffU) > 0x7f800000U ? 1 : 0);
WORD_OPERATION(is_finite, one_or_zero<F>(lanes::is_finite(real<F>(a))),
               (a & 0x7f800000U) != 0x7f800000U ? 1 : 0);
WORD_OPERATION(is_zero, one_or_zero<F>(lanes::is_zero(real<F>(a))), a << 1 == 0 ? 1 : 0);
#define SATURATED(name, T, rounding, expected_mode)                                                       \
  WORD_OPERATION(name, lowp::detail::encode_saturated<T::descriptor>(numbers_for<T>(a), b & 0xffffU, rounding), \
                 saturated<T>(a, oracle::mode::expected_mode, b))
SATURATED(nearest_e2m1, lowp::float4_e2m1fn, lowp::nearest_even{}, nearest_even);
SATURATED(nearest_e2m3, lowp::float6_e2m3fn, lowp::nearest_even{}, nearest_even);
SATURATED(drawn_e2m1, lowp::float4_e2m1fn, lowp::stochastic_fast{0}, stochastic);
SATURATED(drawn_e2m3, lowp::float6_e2m3fn, lowp::stochastic_fast{0}, stochastic);
SATURATED(drawn_e3m2, lowp::float6_e3m2fn, lowp::stochastic_fast{0}, stochastic);
SATURATED(drawn_e3m4, lowp::float8_e3m4, lowp::stochastic_fast{0}, stochastic);
SATURATED(nearest_far, far_e2m1fn, lowp::nearest_even{}, nearest_even);
SATURATED(drawn_far, far_e2m1fn, lowp::stochastic_fast{0}, stochastic);
#undef SATURATED
WORD_OPERATION(canonical, lanes::bits(lanes::canonical(real<F>(a))), any_nan(a));
#undef WORD_OPERATION
// clang-format on

template <class... Op>
struct list {
  template <class Fn>
  static void for_each(Fn&& fn) {
    (fn(std::type_identity<Op>{}, Op::is_real), ...);
  }
};
using operations =
    list<add, sub, mul, div, sqrt, fma, mul_add, add_sub, div_root, maximum_number, smaller_or_nan,
         plus, minus, bit_and, bit_or, bit_xor, shifts, shifts_by_lane, equal, greater, max, min,
         select_words, select_reals, masks, broadcast, spread_real, to_real, bits, negative,
         absolute, copysign, magnitude, is_nan, is_finite, is_zero, nearest_e2m1, nearest_e2m3,
         drawn_e2m1, drawn_e2m3, drawn_e3m2, drawn_e3m4, nearest_far, drawn_far, canonical>;

// Every pair of special values, then random ones that reach the corners.
operands const& inputs() {
  static operands const in = [] {
    constexpr std::array<u32, 16> special{0,          1,          0x007fffff, 0x00800000,
                                          0x00800001, 0x33800000, 0x3f7fffff, 0x3f800000,
                                          0x3f800001, 0x40490fdb, 0x7f000000, 0x7f7fffff,
                                          0x7f800000, 0x7f800001, 0x7fc00000, 0x7fffffff};
    operands x;
    for (u32 const a : special)
      for (u32 const b : special)
        for (u32 const c : special)
          for (u32 signs = 0; signs < 8; ++signs)
            x.add(a | signs << 31, b | (signs >> 1) << 31, c | (signs >> 2) << 31);
    oracle_test::float_patterns patterns(81);
    for (int i = 0; i < 1 << 16; ++i) {
      u32 const a = patterns.next();
      u32 const b = i % 16 == 0 ? a : patterns.next();
      x.add(a, b, i % 16 == 1 ? b : patterns.next());
    }
    return x;
  }();
  return in;
}

template <class Isa>
class pack : public on_backend<Isa> {};
TYPED_TEST_SUITE(pack, backends, by_backend);

TYPED_TEST(pack, does_what_the_vocabulary_says) {
  operands const& in = inputs();
  operations::for_each([&]<class Op>(std::type_identity<Op>, bool is_real) {
    auto const out = on_packs<TypeParam, Op>(in);
    for (std::size_t i = 0; i < in.size(); ++i) {
      u32 const want = Op::expected(in.a[i], in.b[i], in.c[i]);
      u32 const packed = is_real ? any_nan(out[i]) : out[i];
      u32 const single = Op::template on<float>(in.a[i], in.b[i], in.c[i]);
      ASSERT_EQ(packed, want) << typeid(Op).name() << std::hex << ' ' << in.a[i] << ' ' << in.b[i]
                              << ' ' << in.c[i];
      ASSERT_EQ(is_real ? any_nan(single) : single, want)
          << "scalar " << typeid(Op).name() << std::hex << ' ' << in.a[i] << ' ' << in.b[i] << ' '
          << in.c[i];
    }
  });
}

}  // namespace
