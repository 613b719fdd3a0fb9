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

#include "support.hpp"

namespace {

constexpr std::size_t bytes = std::size_t{17} << 20;

template <class Isa>
class streaming_on : public lowp_test::on_backend<Isa> {};
TYPED_TEST_SUITE(streaming_on, lowp_test::backends, lowp_test::by_backend);

struct streaming_kernel {
  unsigned char* to;
  const unsigned char* from;
  std::size_t size;
  template <class Isa>
  LOWP_HOST_FN void run() const {
    lowp::simd::stream<typename Isa::registers>(to, from, size);
    lowp::simd::finish_streaming();
  }
};

// In wide stores and in narrow ones.
TYPED_TEST(streaming_on, copies_bytes) {
  std::vector<unsigned char> from(4096);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i * 7 + 3);
  for (const std::size_t size :
       {std::size_t{4096}, std::size_t{4080}, std::size_t{96}, std::size_t{16}})
    for (const std::size_t lead : {16U, 32U, 48U, 64U}) {
      alignas(64) unsigned char to[64 + 4096 + 16];
      std::memset(to, 0xee, sizeof to);
      TypeParam::run(streaming_kernel{to + lead, from.data(), size});
      for (std::size_t i = 0; i < sizeof to; ++i)
        ASSERT_EQ(to[i], i < lead || i >= lead + size ? 0xee : from[i - lead])
            << size << ' ' << lead;
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
