// SPDX-License-Identifier: Apache-2.0
// gelu_tanh and gated_gelu_tanh: a sample of all floats, all codes of the 16-bit formats, and
// arguments at which other forms overflow.
#include "support/activations.hpp"

#include <limits>
#include <random>
#include <span>
#include <stdexcept>

#include "support/refusals.hpp"
#include "train/update/support.hpp"

namespace {

using namespace lowp_test;

// A different one in every stretch, and the ends. exhaustive/ has all of them.
TEST(activation, gelu_of_floats) {
  std::mt19937 random(5);
  constexpr std::uint32_t stretch = 1U << 16;
  std::vector<float> floats;
  for (std::uint32_t i = 0; i < 65536; ++i) {
    auto const anywhere = static_cast<std::uint32_t>(random() % stretch);
    for (std::uint32_t const at : {0U, anywhere, stretch - 1 - anywhere / 2, stretch - 1})
      floats.push_back(float_of(i * stretch + at));
  }
  EXPECT_TRUE(are_gelus(floats));
  floats.clear();
  for (int i = 0; i < 200000; ++i)  // where the result is not just x or 0
    floats.push_back(std::ldexp(static_cast<float>(random() % 0x1000000) - 0x1p23f, -19));
  EXPECT_TRUE(are_gelus(floats));
}

// For all codes of In, the result in Out is the float result, rounded once.
template <lowp::narrow In, lowp::element Out>
void expect_all_codes() {
  tensor in{facts<In>, std::vector<std::uint32_t>(code_count<In>)};
  tensor want{slot_facts<Out>(), std::vector<std::uint32_t>(code_count<In>)};
  for (std::uint32_t code = 0; code < code_count<In>; ++code) {
    in.codes[code] = code;
    float const x = float_of(in.value(code));
    float const y = lowp::detail::gelu_of_tanh{}(x);
    store(want, code, std::isnan(x) ? 0x7fc00000U : float_bits(y), {}, 0, {});
    if (std::isfinite(x)) {
      ASSERT_TRUE(is_gelu(x, y));
    }
  }
  guarded<In> from(in, 1);
  guarded<Out> to(want, 3);
  for (Out& each : to.span()) each = Out(7);
  lowp::gelu_tanh(from.span(), to.span());
  EXPECT_TRUE(to.holds(want, "out"));
  EXPECT_TRUE(from.holds(in, "in"));
}

TEST(activation, gelu_of_all_codes) {
  expect_all_codes<lowp::float16, lowp::float16>();
  expect_all_codes<lowp::bfloat16, lowp::bfloat16>();
  expect_all_codes<lowp::float16, float>();
  expect_all_codes<lowp::bfloat16, lowp::float8_e4m3fn>();
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

// gelu in float, one product, one rounding.
template <lowp::element T, lowp::element Out, class R>
void expect_gated(R const& rounding, slot_mode const& mode) {
  for (std::size_t const size : {0U, 1U, 5U, 300U, 5001U}) {
    tensor const gate = random_tensor<T>(size, size, values::corners);
    tensor const up = random_tensor<T>(size, size + 7, values::corners);
    tensor want{slot_facts<Out>(), std::vector<std::uint32_t>(size)};
    for (std::size_t i = 0; i < size; ++i) {
      float const g = lowp::detail::gelu_of_tanh{}(float_of(gate.value(i)));
      store(want, i, oracle::f32_mul(float_bits(g), up.value(i)), mode, 0, {});
    }
    guarded<T> a(gate, 0);
    guarded<T> b(up, 3);
    guarded<Out> out(want, 1);
    for (Out& each : out.span()) each = Out(7);
    lowp::gated_gelu_tanh(a.span(), b.span(), out.span(), rounding);
    ASSERT_TRUE(out.holds(want, "out"));
  }
}

TEST(activation, gated) {
  for_each_rounding<modes::two>(
      [&](auto const& rounding, slot_modes const& mode, char const* name) {
        SCOPED_TRACE(name);
        expect_gated<lowp::float16, lowp::float16>(rounding, mode.param);
        expect_gated<lowp::bfloat16, lowp::bfloat16>(rounding, mode.param);
      });
  expect_gated<float, float>(lowp::nearest_even{}, {});
}

TEST(activation, in_place) {
  std::vector<lowp::bfloat16> x(1000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = lowp::bfloat16(static_cast<float>(i) / 50 - 10);
  std::vector<lowp::bfloat16> gated = x;
  std::vector<lowp::bfloat16> apart(1000);
  lowp::gated_gelu_tanh(gated, x, apart);
  lowp::gated_gelu_tanh(gated, x, gated);
  EXPECT_EQ(gated, apart);
  lowp::gelu_tanh(x, apart);
  lowp::gelu_tanh(x, x);
  EXPECT_EQ(x, apart);
}

TEST(activation, refuses) {
  std::vector<float> x(8);
  std::vector<lowp::bfloat16> y(7);
  expect_refusal([&] { lowp::gelu_tanh(x, y); },
                 "lowp::gelu_tanh: sizes differ: in has 8, out has 7");
  expect_refusal([&] { lowp::gated_gelu_tanh(x, y, x); },
                 "lowp::gated_gelu_tanh: sizes differ: gate has 8, up has 7, out has 8");
  std::span const all(x);
  expect_refusal(
      [&] { lowp::gelu_tanh(all.first(4), all.subspan(1, 4)); },
      "lowp::gelu_tanh: in (16 bytes) and out (16 bytes) overlap: out starts 4 bytes into in");
}

}  // namespace
