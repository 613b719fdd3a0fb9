// SPDX-License-Identifier: Apache-2.0
// Spans large enough to be written around the caches have the bits of small ones, at every alignment.
#include <gtest/gtest.h>
#include <lowp/lowp.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace {

constexpr std::size_t bytes = std::size_t{17} << 20;

TEST(streaming, copies_bytes) {
  std::vector<unsigned char> from(4096);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i * 7 + 3);
  alignas(16) unsigned char to[4096 + 32];
  std::memset(to, 0xee, sizeof to);
  lowp::simd::stream(to + 16, from.data(), from.size());
  lowp::simd::finish_streaming();
  EXPECT_TRUE(std::equal(from.begin(), from.end(), to + 16));
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(to[i], 0xee);
    EXPECT_EQ(to[4096 + 16 + i], 0xee);
  }
}

TEST(streaming, is_for_aligned_spans_that_no_cache_holds) {
  alignas(16) static unsigned char place[32];
  EXPECT_FALSE(lowp::simd::is_streamed(place, 4096));
  EXPECT_FALSE(lowp::simd::is_streamed(place + 1, bytes));
#if defined(__x86_64__)
  EXPECT_EQ(lowp::simd::is_streamed(place, bytes), __builtin_cpu_is("amd") != 0);
#endif
}

template <class From, class To>
void check() {
  constexpr std::size_t size = bytes / sizeof(To);
  constexpr std::size_t extra = 16 / sizeof(To);
  std::vector<From> in(size);
  for (std::size_t i = 0; i < size; ++i)
    in[i] = From(static_cast<float>(static_cast<int>(i * 2654435761U % 100003) - 50000) * 1e-3F);
  std::vector<To> small(size);
  constexpr std::size_t piece = 4096;
  for (std::size_t i = 0; i < size; i += piece) {
    const std::size_t n = std::min(piece, size - i);
    lowp::cast(std::span(in).subspan(i, n), std::span(small).subspan(i, n));
  }
  std::vector<To> large(size + extra);
  for (const std::size_t lead : {std::size_t{0}, std::size_t{1}, extra}) {
    const auto out = std::span(large).subspan(lead, size);
    lowp::cast(in, out);
    EXPECT_EQ(std::memcmp(small.data(), out.data(), size * sizeof(To)), 0) << "lead " << lead;
  }
}

TEST(streaming, casts_have_the_bits_of_small_ones) {
  check<float, lowp::bfloat16>();
  check<lowp::bfloat16, float>();
  check<float, lowp::float8_e4m3fn>();
}

}  // namespace
