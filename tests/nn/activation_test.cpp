// SPDX-License-Identifier: Apache-2.0
// Activations, gated or not: a sample of all floats, all codes of the 16-bit formats, and arguments
// at which other forms overflow. nn/backward_test.cpp has their derivatives.
#include "support/activations.hpp"

#include <limits>
#include <random>
#include <span>
#include <stdexcept>

#include "support/refusals.hpp"
#include "train/update/support.hpp"

namespace {

using namespace lowp_test;

template <class Activation>
class activation_of : public testing::Test {};
TYPED_TEST_SUITE(activation_of, activations);

// A different one in every stretch, and the ends. exhaustive/ has all of them.
TYPED_TEST(activation_of, floats) {
  std::mt19937 random(5);
  constexpr std::uint32_t stretch = 1U << 16;
  std::vector<float> floats;
  for (std::uint32_t i = 0; i < 65536; ++i) {
    auto const anywhere = static_cast<std::uint32_t>(random() % stretch);
    for (std::uint32_t const at : {0U, anywhere, stretch - 1 - anywhere / 2, stretch - 1})
      floats.push_back(float_of(i * stretch + at));
  }
  EXPECT_TRUE(are_activated<TypeParam>(floats));
  floats.clear();
  for (int i = 0; i < 200000; ++i)  // where the result is not just x or 0
    floats.push_back(std::ldexp(static_cast<float>(random() % 0x1000000) - 0x1p23f, -19));
  for (int i = 0; i < 100000; ++i)  // ... and SiLU's, subnormal results too
    floats.push_back(std::ldexp(-static_cast<float>(random() % 0x1000000), -17));
  EXPECT_TRUE(are_activated<TypeParam>(floats));
}

// For all codes of In, the result in Out is the float result, rounded once.
template <class Activation, lowp::narrow In, lowp::element Out>
void expect_all_codes() {
  tensor in{facts<In>, std::vector<std::uint32_t>(code_count<In>)};
  tensor want{slot_facts<Out>(), std::vector<std::uint32_t>(code_count<In>)};
  for (std::uint32_t code = 0; code < code_count<In>; ++code) {
    in.codes[code] = code;
    float const x = float_of(in.value(code));
    float const y = typename Activation::function{}(x);
    store(want, code, std::isnan(x) ? 0x7fc00000U : float_bits(y), {}, 0, {});
    if (!std::isnan(x)) {
      ASSERT_TRUE(is_activated<Activation>(x, y));
    }
  }
  guarded<In> from(in, 1);
  guarded<Out> to(want, 3);
  for (Out& each : to.span()) each = Out(7);
  Activation::plain(from.span(), to.span());
  EXPECT_TRUE(to.holds(want, "out"));
  EXPECT_TRUE(from.holds(in, "in"));
}

TYPED_TEST(activation_of, all_codes) {
  expect_all_codes<TypeParam, lowp::float16, lowp::float16>();
  expect_all_codes<TypeParam, lowp::bfloat16, lowp::bfloat16>();
}
TEST(activation, of_all_codes_in_other_formats) {
  expect_all_codes<gelu_tanh, lowp::float16, float>();
  expect_all_codes<gelu_tanh, lowp::bfloat16, lowp::float8_e4m3fn>();
}

// Finite for whatever is, and the limit beside infinity; the usual form in 16 bits is infinite on
// the way.
TEST(activation, gelu_where_a_cube_overflows) {
  lowp::float16 first(0);
  for (std::uint32_t code = 0; code < 0x7c00; ++code) {
    auto const x = of_code<lowp::float16>(code);
    if (isinf(x * x * x)) {
      first = x;
      break;
    }
  }
  EXPECT_EQ(float{first}, 40.34375f);
  std::vector<lowp::float16> const x{first, -first, lowp::float16(65504), lowp::float16(-65504)};
  std::vector<lowp::float16> y(4);
  lowp::gelu_tanh(x, y);
  EXPECT_EQ(float{y[0]}, 40.34375f);
  EXPECT_EQ(y[1].bits(), 0x8000);
  EXPECT_EQ(float{y[2]}, 65504.0f);
  EXPECT_EQ(y[3].bits(), 0x8000);
  constexpr float max = std::numeric_limits<float>::max();
  std::vector<float> const large{1e13f,  -1e13f, 1e30f,
                                 -1e30f, max,    -max};  // cubes beyond any float
  std::vector<float> of_large(6);
  lowp::gelu_tanh(large, of_large);
  EXPECT_EQ(of_large, (std::vector<float>{1e13f, 0, 1e30f, 0, max, 0}));
}

// The activation in float, one product, one rounding.
template <class Activation, lowp::element T, lowp::element Out, class R>
void expect_gated(R const& rounding, slot_mode const& mode) {
  for (std::size_t const size : {0U, 1U, 5U, 300U, 5001U}) {
    tensor const gate = random_tensor<T>(size, size, values::corners);
    tensor const up = random_tensor<T>(size, size + 7, values::corners);
    tensor want{slot_facts<Out>(), std::vector<std::uint32_t>(size)};
    for (std::size_t i = 0; i < size; ++i) {
      float const g = typename Activation::function{}(float_of(gate.value(i)));
      store(want, i, oracle::f32_mul(float_bits(g), up.value(i)), mode, 0, {});
    }
    guarded<T> a(gate, 0);
    guarded<T> b(up, 3);
    guarded<Out> out(want, 1);
    for (Out& each : out.span()) each = Out(7);
    Activation::gated(a.span(), b.span(), out.span(), rounding);
    ASSERT_TRUE(out.holds(want, "out"));
  }
}

TYPED_TEST(activation_of, gates) {
  expect_gated<TypeParam, float, float>(lowp::nearest_even{}, {});
  expect_gated<TypeParam, lowp::bfloat16, lowp::bfloat16>(lowp::nearest_even{}, {});
}
TEST(activation, gated) {
  for_each_rounding<modes::two>(
      [&](auto const& rounding, slot_modes const& mode, char const* name) {
        SCOPED_TRACE(name);
        expect_gated<gelu_tanh, lowp::float16, lowp::float16>(rounding, mode.param);
        expect_gated<gelu_tanh, lowp::bfloat16, lowp::bfloat16>(rounding, mode.param);
      });
}

TYPED_TEST(activation_of, ranges_in_place) {
  std::vector<lowp::bfloat16> x(1000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = lowp::bfloat16(static_cast<float>(i) / 50 - 10);
  std::vector<lowp::bfloat16> gated = x;
  std::vector<lowp::bfloat16> apart(1000);
  TypeParam::gated(gated, x, apart);
  TypeParam::gated(gated, x, gated);
  EXPECT_EQ(gated, apart);
  TypeParam::plain(x, apart);
  TypeParam::plain(x, x);
  EXPECT_EQ(x, apart);
}

TEST(activation, refuses) {
  std::vector<float> x(8);
  std::vector<lowp::bfloat16> y(7);
  expect_refusal([&] { lowp::gelu_tanh(x, y); },
                 "lowp::gelu_tanh: sizes differ: in has 8, out has 7");
  expect_refusal([&] { lowp::gated_gelu_tanh(x, y, x); },
                 "lowp::gated_gelu_tanh: sizes differ: gate has 8, up has 7, out has 8");
  expect_refusal([&] { lowp::gated_silu(x, y, x); },
                 "lowp::gated_silu: sizes differ: gate has 8, up has 7, out has 8");
  std::span const all(x);
  expect_refusal(
      [&] { lowp::gelu_tanh(all.first(4), all.subspan(1, 4)); },
      "lowp::gelu_tanh: in (16 bytes) and out (16 bytes) overlap: out starts 4 bytes into in");
}

}  // namespace
