// SPDX-License-Identifier: Apache-2.0
// split and join: halves against the oracle, and floats that come back.
#include <gtest/gtest.h>
#include <lowp/lowp.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "oracle/storage.hpp"
#include "train/update/support.hpp"

namespace {

using namespace lowp_test;

// Every high half with low halves around each border, and what random patterns reach.
std::vector<float> floats() {
  std::vector<float> all;
  for (std::uint32_t high = 0; high < 65536; ++high)
    for (std::uint32_t const low : {0x0000U, 0x0001U, 0x1000U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU})
      all.push_back(float_of(high << 16 | low));
  oracle_test::float_patterns patterns(1);
  for (int i = 0; i < 100000; ++i) all.push_back(float_of(patterns.next()));
  return all;
}

template <class H, class L>
void expect_halves() {
  oracle::split const model{facts<H>, 8 * static_cast<int>(sizeof(L))};
  std::vector<float> const in = floats();
  std::vector<H> high(in.size());
  std::vector<L> low(in.size());
  std::vector<float> out(in.size());
  lowp::split(in, high, low);
  lowp::join(high, low, out);
  for (std::size_t i = 0; i < in.size(); ++i) {
    std::uint32_t const x = float_bits(in[i]);
    auto const want = model.convert(x);
    ASSERT_TRUE(has_bits(high[i], want.codes[0], in[i]));
    ASSERT_EQ(low[i], want.codes[1]) << shown(in[i]);
    ASSERT_TRUE(has_bits(out[i], model.value(want.codes), in[i]));
    bool const is_nan = (x & 0x7fffffffU) > 0x7f800000U;
    if (is_nan && sizeof(H) + sizeof(L) == 4) {
      ASSERT_TRUE(has_bits(out[i], x | 0x00400000U, in[i]));
    }
  }
}
TEST(split, bfloat16_and_16_bits) { expect_halves<lowp::bfloat16, std::uint16_t>(); }
TEST(split, bfloat16_and_8_bits) { expect_halves<lowp::bfloat16, std::uint8_t>(); }
TEST(split, float16_and_16_bits) { expect_halves<lowp::float16, std::uint16_t>(); }
TEST(split, float8_e5m2_and_8_bits) { expect_halves<lowp::float8_e5m2, std::uint8_t>(); }

// 256 is the distance between masters that are 24 bits wide.
TEST(split, eight_bits_are_within_half_of_the_rest) {
  std::vector<float> const in = floats();
  std::vector<lowp::bfloat16> high(in.size());
  std::vector<std::uint8_t> low(in.size());
  std::vector<float> out(in.size());
  lowp::split(in, high, low);
  lowp::join(high, low, out);
  for (std::size_t i = 0; i < in.size(); ++i) {
    std::uint32_t const x = float_bits(in[i]);
    if ((x & 0x7fffffffU) >= 0x7f800000U) continue;
    std::uint32_t const y = float_bits(out[i]);
    ASSERT_LE(x > y ? x - y : y - x, 128U) << shown(in[i]);
  }
}

// A weight just below a tie of the high half still moves, one random bit at a time.
TEST(split, a_master_crosses_from_one_high_half_to_the_next) {
  std::vector<float> in(4096, float_of(0x3f807f00));
  std::vector<lowp::bfloat16> high(in.size());
  std::vector<std::uint8_t> low(in.size());
  lowp::split(in, high, low);
  std::vector<float> const u(in.size(), 0x1p-19f);
  for (std::uint64_t step = 0; step < 64; ++step)
    lowp::fused_add(lowp::split_master{high, low}, 1, u, lowp::stochastic{1, step});
  std::vector<float> out(in.size());
  lowp::join(high, low, out);
  double sum = 0;
  for (std::size_t i = 0; i < in.size(); ++i) sum += double{out[i]} - double{in[i]};
  EXPECT_NEAR(sum / static_cast<double>(in.size()), 64 * 0x1p-19, 64 * 0x1p-19 / 20);
}

template <class Fn>
std::string refusal_of(Fn&& fn) {
  try {
    fn();
  } catch (std::invalid_argument const& error) {
    return error.what();
  }
  return "not refused";
}

// A policy that saturates ends the range of the master where the high half's ends.
TEST(split, saturates_both_halves) {
  std::vector<float> const in{std::numeric_limits<float>::max(), HUGE_VALF, -HUGE_VALF};
  std::vector<lowp::bfloat16> high(3);
  std::vector<std::uint16_t> low(3);
  std::vector<float> out(3);
  lowp::split(in, high, low);
  lowp::join(high, low, out);
  EXPECT_EQ(out, in);
  lowp::split(in, high, low, lowp::nearest_even{}, lowp::overflow::saturate);
  lowp::join(high, low, out);
  float const most = lowp::lanes::from_bits<float>(0x7f7f7fff);
  EXPECT_EQ(out, (std::vector<float>{most, most, -most}));
  EXPECT_EQ(high[1].bits(), 0x7f7f);
}

TEST(split, refuses_what_does_not_fit) {
  std::vector<float> in(4);
  std::vector<lowp::bfloat16> high(4);
  std::vector<std::uint16_t> low(3);
  EXPECT_EQ(refusal_of([&] { lowp::split(in, high, low); }),
            "lowp::split: sizes differ: in has 4, high has 4, low has 3");
  EXPECT_EQ(refusal_of([&] { lowp::join(high, low, in); }),
            "lowp::join: sizes differ: high has 4, low has 3, out has 4");
  std::span const halves(reinterpret_cast<std::uint16_t*>(in.data()), 4);
  EXPECT_NE(refusal_of([&] { lowp::split(in, high, halves); }).find("overlap"), std::string::npos);
  EXPECT_NE(refusal_of([&] { lowp::join(high, halves, in); }).find("overlap"), std::string::npos);
}

TEST(resync, keeps_a_nan) {
  std::vector<lowp::bfloat16> p{lowp::bfloat16::from_bits(0xff81)};
  std::vector<float> w{1};
  lowp::resync(lowp::master{w, p});
  EXPECT_TRUE(isnan(p[0]) && std::isnan(w[0]));
  std::vector<lowp::bfloat16> c{lowp::bfloat16(2)};
  lowp::resync(lowp::kahan{p, c});
  EXPECT_TRUE(isnan(p[0]) && c[0].bits() == 0);
}

TEST(storage_refusals, name_the_array) {
  std::vector<lowp::bfloat16> p(4);
  std::vector<lowp::bfloat16> c(5);
  std::vector<float> g(4);
  std::vector<float> m(4);
  std::vector<float> v(4);
  lowp::adamw const a;
  EXPECT_EQ(refusal_of([&] { lowp::update(lowp::kahan{p, c}, g, m, v, a, 1); }),
            "lowp::update: sizes differ: p has 4, p.compensation has 5, g has 4, m has 4, v has 4");
  EXPECT_NE(refusal_of([&] {
              lowp::update(lowp::kahan{p, p}, g, m, v, a, 1);
            }).find("p (8 bytes) and p.compensation (8 bytes) overlap"),
            std::string::npos);
  EXPECT_EQ(refusal_of([&] { lowp::resync(lowp::kahan{p, c}); }),
            "lowp::resync: sizes differ: p has 4, p.compensation has 5");
  EXPECT_NE(refusal_of([&] {
              lowp::resync(lowp::kahan{p, p});
            }).find("lowp::resync: p (8 bytes) and p.compensation (8 bytes) overlap"),
            std::string::npos);
  std::span const halves(reinterpret_cast<std::uint16_t*>(p.data()), 4);
  EXPECT_NE(refusal_of([&] {
              lowp::fused_add(lowp::split_master{p, halves}, 1, g);
            }).find("p (8 bytes) and p.low (8 bytes) overlap"),
            std::string::npos);
  EXPECT_EQ(refusal_of([&] { lowp::update(lowp::scaled{p, 3.0f}, g, m, v, a, 1); }),
            "lowp::update: p: scale is 3, not a power of two from 2^-126 to 2^126");
  for (float const scale :
       {0.0f, -2.0f, 0x1p127f, 0x1p-127f, float_of(0x7f800000), float_of(0x7fc00000)})
    EXPECT_NE(
        refusal_of([&] { lowp::fused_add(p, 1, lowp::scaled{c, scale}); }).find("u: scale is"),
        std::string::npos);
}

}  // namespace
