// SPDX-License-Identifier: Apache-2.0
// With GNU's extensions __int128 is an integer like any other, and __float128 is a floating type.
// Both are rounded once.
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <random>

#include "support/support.hpp"

static_assert(std::integral<__int128>);

#if defined(__SIZEOF_FLOAT128__)
static_assert(std::floating_point<__float128>);
constexpr __float128 above_tie =
    static_cast<__float128>(0x1.01p0) + static_cast<__float128>(0x1p-100);
static_assert(lowp::bfloat16(above_tie).bits() == 0x3f81 && lowp::bfloat16(-above_tie) < -1);
static_assert(lowp::convert<float>(above_tie, lowp::upward{}) > 0x1.01p0f);
static_assert(above_tie - lowp::bfloat16(1) > lowp::bfloat16(0x1p-8));
static_assert(lowp::bfloat16(1) / (above_tie - above_tie) > lowp::bfloat16(1));
static_assert(std::same_as<decltype(lowp::bfloat16(1) * above_tie), __float128>);
#endif

namespace {

using namespace lowp_test;
using oracle::i128, oracle::u128;

int wrong = 0;

template <class T, class R, class I>
void check(I x, named_mode<R> const& m) {
  T const got = lowp::convert<T>(x, m.rounding);
  std::uint32_t const want =
      oracle::encode(facts<T>, oracle::from(x), m.mode,
                     facts<T>.has_infinity ? oracle::policy::infinity : oracle::policy::saturate);
  if (got.bits() == want) return;
  ++wrong;
  std::printf("%s, %s: 0x%016llx%016llx became %x, not %x\n", facts<T>.name, m.name,
              static_cast<unsigned long long>(static_cast<u128>(x) >> 64),
              static_cast<unsigned long long>(x), unsigned{got.bits()}, want);
}
template <class T>
void check_all(u128 x) {
  for_each_mode([&](auto const& m) {
    check<T>(x, m);
    check<T>(static_cast<i128>(x), m);
    check<T>(-static_cast<i128>(x >> 1), m);
  });
}

}  // namespace

int main() {
  std::mt19937_64 random(128);
  for (int bits = 1; bits <= 128; ++bits) {
    u128 const one = u128{1} << (bits - 1);
    for (int i = 0; i < 40; ++i) {
      // Ties of every format, and one unit to either side, which lies a hundred bits below.
      u128 const leading = one | (bits > 16 ? u128{random() >> 48} << (bits - 16) : 0);
      u128 const all = (u128{random()} << 64 | random()) & (one - 1);
      for (u128 const x : {leading - 1, leading, leading + 1, one | all}) {
        check_all<lowp::bfloat16>(x);
        check_all<lowp::float16>(x);
        check_all<lowp::float8_e4m3fn>(x);
        check_all<lowp::float8_e8m0fnu>(x);
      }
    }
  }
  return wrong == 0 ? 0 : 1;
}
