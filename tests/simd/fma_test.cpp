// SPDX-License-Identifier: Apache-2.0
// fma on the packs of every backend against the exact result rounded once. Millions of operands are
// chosen to make a second rounding show. Only some backends have an instruction for it.
#include <gtest/gtest.h>
#include <lowp/simd/dispatch.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include "support.hpp"

namespace {

using namespace lowp_test;
using u32 = std::uint32_t;

constexpr std::size_t groups = 16;
constexpr std::size_t per_group = 1 << 19;

struct fused {
  template <class F>
  LOWP_HOST_FN static lowp::lanes::word<F> on(lowp::lanes::word<F> const& a,
                                              lowp::lanes::word<F> const& b,
                                              lowp::lanes::word<F> const& c) {
    using lowp::lanes::from_bits;
    return lowp::lanes::bits(lowp::lanes::fma(from_bits<F>(a), from_bits<F>(b), from_bits<F>(c)));
  }
};

class triples {
 public:
  explicit triples(std::uint64_t seed) : random_(seed), patterns_(seed + 1) {}

  void add_to(operands& in) {
    switch (random_() % 8) {
      case 0:
        return in.add(patterns_.next(), patterns_.next(), patterns_.next());
      case 1: {  // nothing but the product's last bits is left
        u32 const a = normal(-20, 20);
        u32 const b = normal(-20, 20);
        return in.add(a, b, near(oracle::f32_mul(a, b) ^ sign));
      }
      case 2: {  // the product is half an ulp of c, or nearly
        int const e = within(-60, 60);
        int const k = within(-30, 30);
        return in.add(near(power(k)), near(power(e - 24 - k)), random_sign(power(e) | fraction()));
      }
      case 3: {  // the product is halfway between two floats, and c far below decides
        int const e = within(-60, 60);
        u32 const a = bits(static_cast<float>(within(2048, 4095) * 2 + 1));
        u32 const b = bits(std::ldexp(static_cast<float>(within(1024, 2047) * 2 + 1), e));
        return in.add(random_sign(a), random_sign(b), random_sign(power(e - within(0, 80))));
      }
      case 4: {  // the same with a long product
        u32 const a = normal(-10, 10);
        u32 const b = normal(-10, 10);
        return in.add(a, b, random_sign(power(within(-80, 0)) | (random_() % 2 ? 0 : fraction())));
      }
      case 5: {  // the result is subnormal, or nearly
        int const k = within(-100, -40);
        u32 const a = power(k) | fraction();
        u32 const b = power(within(-152, -120) - k) | fraction();
        bool const zero = random_() % 4 == 0;
        return in.add(random_sign(a), random_sign(b), zero ? 0 : random32() & 0x80ffffffU);
      }
      case 6: {  // the result is near the largest float
        int const k = within(20, 100);
        u32 const a = power(k) | fraction();
        u32 const b =
            power(127 - k) | (random_() % 2 ? 0x7fffffU & ~(random32() % 16) : fraction());
        return in.add(random_sign(a), random_sign(b), random_sign(0x7f7fffffU - random32() % 4));
      }
      default: {  // a tie of c and the product, disturbed by the product's last bit alone
        int const e = within(-40, 40);
        u32 const c = power(e) | fraction();
        u32 const a = power(-12) | (random32() % 4);
        u32 const b = power(e - 12) | (random32() % 4);
        return in.add(random_sign(a), random_sign(b), random_sign(c));
      }
    }
  }

 private:
  static constexpr u32 sign = 0x80000000U;
  static u32 bits(float x) { return std::bit_cast<u32>(x); }
  // The power of two of a normal number; beyond, the nearest.
  static u32 power(int e) { return static_cast<u32>(e < -126 ? 1 : e > 127 ? 254 : e + 127) << 23; }
  u32 random32() { return static_cast<u32>(random_()); }
  u32 fraction() { return random32() & 0x7fffffU; }
  int within(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<unsigned>(high - low + 1));
  }
  u32 random_sign(u32 x) { return x ^ (random32() & sign); }
  u32 normal(int low, int high) { return random_sign(power(within(low, high)) | fraction()); }
  u32 near(u32 x) { return x + static_cast<u32>(within(-2, 2)); }

  std::mt19937_64 random_;
  oracle_test::float_patterns patterns_;
};

// The exact results take longest, so all backends share them.
struct expectation {
  operands in;
  std::vector<u32> out;
};
std::vector<expectation> const& expectations() {
  static std::vector<expectation> const all = [] {
    std::vector<expectation> x(groups);
    auto const fill = [&x](std::size_t first) {
      for (std::size_t group = first; group < groups; group += 2) {
        triples source(100 + group);
        for (std::size_t i = 0; i < per_group; ++i) source.add_to(x[group].in);
        for (std::size_t i = 0; i < per_group; ++i)
          x[group].out.push_back(
              oracle::f32_fma(x[group].in.a[i], x[group].in.b[i], x[group].in.c[i]));
      }
    };
    std::thread other(fill, 1);
    fill(0);
    other.join();
    return x;
  }();
  return all;
}

template <class Isa>
class fma : public on_backend<Isa> {};
TYPED_TEST_SUITE(fma, backends, by_backend);

TYPED_TEST(fma, is_rounded_once) {
  for (expectation const& x : expectations()) {
    auto const out = on_packs<TypeParam, fused>(x.in);
    for (std::size_t i = 0; i < per_group; ++i)
      ASSERT_EQ(any_nan(out[i]), x.out[i])
          << std::hex << x.in.a[i] << ' ' << x.in.b[i] << ' ' << x.in.c[i];
  }
}

}  // namespace
