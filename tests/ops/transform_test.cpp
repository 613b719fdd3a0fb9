// SPDX-License-Identifier: Apache-2.0
// An operation of the caller's own has the same bits on every backend. They are those of its steps
// done one by one in exact integer arithmetic.
#include <gtest/gtest.h>
#include <lowp/lowp.hpp>

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "oracle/philox.hpp"
#include "oracle/softfloat.hpp"

namespace {

using namespace lowp;

/// Every real operation once, in an order that contraction or regrouping would change.
struct mixed_steps {
  template <class F>
  F operator()(F const& x, F const& y) const {
    F const sum = lanes::add(x, y);
    F const back = lanes::sub(sum, x);
    F const product = lanes::add(lanes::mul(x, y), back);
    F const root = lanes::sqrt(lanes::absolute(lanes::div(product, y)));
    return lanes::fma(root, x, lanes::negative(back));
  }
};

std::uint32_t expected(std::uint32_t x, std::uint32_t y) {
  using namespace oracle;
  std::uint32_t const back = f32_sub(f32_add(x, y), x);
  std::uint32_t const product = f32_add(f32_mul(x, y), back);
  std::uint32_t const root = f32_sqrt(f32_div(product, y) & 0x7fffffff);
  return f32_fma(root, x, back ^ 0x80000000);
}

std::vector<float> numbers(std::size_t n, std::uint64_t seed) {
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i) {
    auto const draw = [&](unsigned part) { return oracle::random16(seed, part, i, 0); };
    std::uint32_t bits = draw(0) << 16 | draw(1);
    if (i % 3 != 0) bits = (bits & 0x80ffffff) | 0x3f000000;  // many that meet in size
    if (i % 97 == 0) bits = i % 2 ? 0x7f800000 : 0xff812345;
    if (i % 89 == 0) bits &= 0x807fffff;  // subnormal
    x[i] = __builtin_bit_cast(float, bits);
  }
  return x;
}

TEST(transform, is_the_named_steps_in_order) {
  std::vector<float> const x = numbers(20011, 1), y = numbers(20011, 2);
  std::vector<float> out(x.size());
  transform(mixed_steps{}, nearest_even{}, out, x, y);
  for (std::size_t i = 0; i < x.size(); ++i) {
    auto const bits = [](float v) { return __builtin_bit_cast(std::uint32_t, v); };
    ASSERT_EQ(bits(out[i]), expected(bits(x[i]), bits(y[i])))
        << "x " << x[i] << " y " << y[i] << " on " << isa();
  }
}

struct doubled {
  template <class F>
  F operator()(F const& x) const {
    return lanes::add(x, x);
  }
};

TEST(transform, rounds_to_the_format_and_works_in_place) {
  std::vector<float8_e4m3fn> x(300);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = float8_e4m3fn::from_bits(static_cast<std::uint8_t>(i));
  auto const before = x;
  transform(doubled{}, nearest_even{}, x, x);
  for (std::size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(x[i].bits(), isnan(before[i]) ? 0x7f : (before[i] + before[i]).bits()) << i;
}

TEST(transform, refuses_sizes_and_overlap_before_it_writes) {
  std::vector<float> x(10, 1), y(9, 2);
  EXPECT_THROW(transform(doubled{}, nearest_even{}, x, y), std::invalid_argument);
  EXPECT_EQ(x, std::vector<float>(10, 1));
  try {
    transform(doubled{}, nearest_even{}, std::span(x).subspan(1), std::span(x).first(9));
    FAIL() << "it took overlapping ranges";
  } catch (std::invalid_argument const& refusal) {
    EXPECT_NE(std::string(refusal.what()).find("overlap"), std::string::npos) << refusal.what();
  }
  EXPECT_EQ(x, std::vector<float>(10, 1));
}

}  // namespace
