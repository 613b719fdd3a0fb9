// SPDX-License-Identifier: Apache-2.0
// All 2^32 floats to float16 in four modes, against the processor's F16C, NaN payloads included.
#include "oracle/support.hpp"
#include "support/all_floats.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

namespace {

using namespace lowp_test;

constexpr std::size_t chunk = std::size_t{1} << 16;

template <int Direction>
__attribute__((target("avx,f16c"))) void convert(std::vector<float> const& in,
                                                 std::vector<std::uint16_t>& out) {
  for (std::size_t i = 0; i < chunk; i += 8) {
    __m128i const halves = _mm256_cvtps_ph(_mm256_loadu_ps(in.data() + i), Direction);
    __builtin_memcpy(out.data() + i, &halves, sizeof halves);
  }
}

template <int Direction, class R>
void compare_all(R mode) {
  if (!oracle_test::has_f16c()) GTEST_SKIP() << "this processor has no F16C";
  in_parallel((std::size_t{1} << 32) / chunk, [&](std::size_t number) {
    std::vector<float> in(chunk);
    std::vector<std::uint16_t> want(chunk);
    auto const first = static_cast<std::uint32_t>(number * chunk);
    for (std::size_t i = 0; i < chunk; ++i) in[i] = float_of(first + static_cast<std::uint32_t>(i));
    convert<Direction>(in, want);
    for (std::size_t i = 0; i < chunk; ++i) {
      auto const got = lowp::convert<lowp::float16>(in[i], mode);
      if (got.bits() == want[i]) continue;
      ADD_FAILURE() << has_bits(got, want[i], in[i]).message();
      return false;
    }
    return true;
  });
}

TEST(float16_beside_f16c, nearest_even) {
  compare_all<_MM_FROUND_TO_NEAREST_INT>(lowp::nearest_even{});
}
TEST(float16_beside_f16c, toward_zero) { compare_all<_MM_FROUND_TO_ZERO>(lowp::toward_zero{}); }
TEST(float16_beside_f16c, upward) { compare_all<_MM_FROUND_TO_POS_INF>(lowp::upward{}); }
TEST(float16_beside_f16c, downward) { compare_all<_MM_FROUND_TO_NEG_INF>(lowp::downward{}); }

}  // namespace
#else
TEST(float16_beside_f16c, needs_it) { GTEST_SKIP() << "this processor has no F16C"; }
#endif
