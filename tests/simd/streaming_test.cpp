// SPDX-License-Identifier: Apache-2.0
// Spans large enough to be written around the caches have the bits of small ones, at every
// alignment.
#include <gtest/gtest.h>
#include <lowp/lowp.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support.hpp"

#if defined(__x86_64__)
// Read by __builtin_cpu_is; see libgcc's and compiler-rt's cpuinfo.c, the vendor first.
extern "C" unsigned __cpu_model[4];
#endif

namespace {

constexpr std::size_t bytes = std::size_t{17} << 20;

// Within its life the processor is one of AMD's, which stream at any multiple of 16 bytes.
class as_of_amd {
 public:
#if defined(__x86_64__)
  as_of_amd() : vendor_(__cpu_model[0]) { __cpu_model[0] = 2; }
  as_of_amd(as_of_amd const&) = delete;
  as_of_amd& operator=(as_of_amd const&) = delete;
  ~as_of_amd() { __cpu_model[0] = vendor_; }

 private:
  unsigned vendor_;
#else
  as_of_amd() {}
#endif
};

template <class Isa>
class streaming_on : public lowp_test::on_backend<Isa> {};
TYPED_TEST_SUITE(streaming_on, lowp_test::backends, lowp_test::by_backend);

struct streaming_kernel {
  unsigned char* to;
  unsigned char const* from;
  std::size_t size;
  template <class Isa>
  LOWP_HOST_FN void body() const {
    lowp::simd::stream<typename Isa::registers>(to, from, size);
    lowp::simd::finish_streaming();
  }
};

// In wide stores and in narrow ones.
TYPED_TEST(streaming_on, copies_bytes) {
  std::vector<unsigned char> from(4096);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i * 7 + 3);
  for (std::size_t const size :
       {std::size_t{4096}, std::size_t{4080}, std::size_t{96}, std::size_t{16}})
    for (std::size_t const lead : {16U, 32U, 48U, 64U}) {
      alignas(64) unsigned char to[64 + 4096 + 16];
      std::memset(to, 0xee, sizeof to);
      TypeParam::enter(streaming_kernel{to + lead, from.data(), size});
      for (std::size_t i = 0; i < sizeof to; ++i)
        ASSERT_EQ(to[i], i < lead || i >= lead + size ? 0xee : from[i - lead])
            << size << ' ' << lead;
    }
}

TEST(streaming, is_for_aligned_spans_that_no_cache_holds) {
  alignas(64) static unsigned char place[32];
  EXPECT_FALSE(lowp::simd::is_streamed(place, 4096));
  EXPECT_FALSE(lowp::simd::is_streamed(place + 1, bytes));
#if defined(__x86_64__)
  bool const is_amd = __builtin_cpu_is("amd") != 0;
  EXPECT_EQ(lowp::simd::is_streamed(place + 16, bytes), is_amd);
  EXPECT_EQ(lowp::simd::is_streamed(place, bytes),
            is_amd || __builtin_cpu_supports("avx512bf16") != 0)
      << "whole lines";
  as_of_amd const here;
  EXPECT_TRUE(lowp::simd::is_streamed(place + 16, bytes));
  EXPECT_FALSE(lowp::simd::is_streamed(place, 4096));
  EXPECT_FALSE(lowp::simd::is_streamed(place + 1, bytes));
#endif
}

// Odd elements more than whole stores stream: the last ones go to part of a pack, or to whole packs
// that are no multiple of 16 bytes.
template <class From, class To, class R = lowp::nearest_even>
void check(R rounding = {}) {
  constexpr std::size_t odds[] = {0, 1, 3, 4, 8, 12, 24, 77};
  constexpr std::size_t most = bytes / sizeof(To) + 77;
  std::vector<From> all_in(most);
  for (std::size_t i = 0; i < most; ++i)
    all_in[i] =
        From(static_cast<float>(static_cast<int>(i * 2654435761U % 100003) - 50000) * 1e-3f);
  std::vector<To> small(most);
  constexpr std::size_t piece = 4096;
  for (std::size_t i = 0; i < most; i += piece) {
    std::size_t const n = std::min(piece, most - i);
    R of_piece = rounding;
    if constexpr (requires { of_piece.offset; }) of_piece.offset += i;
    lowp::cast(std::span(all_in).subspan(i, n), std::span(small).subspan(i, n), of_piece);
  }
  constexpr std::size_t beyond = 64;
  To const untouched(-1.0f);
  constexpr std::size_t extra = 16 / sizeof(To);
  for (std::size_t const odd : odds) {
    SCOPED_TRACE(std::to_string(odd) + " more");
    std::size_t const size = bytes / sizeof(To) + odd;
    auto const in = std::span(all_in).first(size);
    for (std::size_t const lead : {std::size_t{0}, std::size_t{1}, extra})
      for (bool const in_parts : {false, true}) {  // as a team's threads would
        std::vector<To> large(size + extra + beyond, untouched);
        auto const out = std::span(large).subspan(lead, size);
        {
          as_of_amd const here;
          if (in_parts)
            lowp::detail::cast_operation<lowp::detail::blocks_on_this_thread>{}(in, out, rounding);
          else
            lowp::cast(in, out, rounding);
        }
        EXPECT_EQ(std::memcmp(small.data(), out.data(), size * sizeof(To)), 0) << "lead " << lead;
        EXPECT_TRUE(std::all_of(large.begin(), large.begin() + static_cast<std::ptrdiff_t>(lead),
                                [&](To x) { return x == untouched; }));
        EXPECT_TRUE(std::all_of(large.begin() + static_cast<std::ptrdiff_t>(lead + size),
                                large.end(), [&](To x) { return x == untouched; }))
            << "lead " << lead;
      }
  }
}

// A part of a range streams if the range does.
struct part_kernel {
  lowp::bfloat16* to;
  lowp::simd::loop_size size;
  bool* streams;
  template <class Isa>
  LOWP_HOST_FN void body() const {
    using operand = lowp::simd::operand<lowp::bfloat16, lowp::simd::access::write>;
    lowp::simd::staging<Isa, operand> staged;
    *streams = lowp::simd::accessor<Isa, operand, lowp::simd::nans::kept>(operand{to}, size,
                                                                          std::move(staged))
                   .is_staged(false);
  }
};

TYPED_TEST(streaming_on, is_decided_by_the_whole_range) {
#if defined(__x86_64__)
  alignas(64) lowp::bfloat16 to[64];
  for (std::size_t const whole : {std::size_t{64}, bytes}) {
    bool streams = whole == 64;
    as_of_amd const here;
    TypeParam::enter(part_kernel{to, {64, whole}, &streams});
    EXPECT_EQ(streams, whole == bytes && !lowp::simd::is_lean<TypeParam>);
  }
#endif
}

TEST(streaming, casts_have_the_bits_of_small_ones) {
  check<float, lowp::bfloat16>();
  check<lowp::bfloat16, float>();
  check<float, lowp::float8_e4m3fn>();
  check<float, lowp::bfloat16>(lowp::stochastic{.seed = 3, .offset = 5});
}

// Offsets that differ in bits 15 and 20, 16 and 21: each pair is in one sum.
constexpr std::size_t met[] = {0, 0x108000, 0x210000, 0x318000};

TEST(arrays_at_once, meet_if_all_sums_are_equal) {
  auto const meet = [](std::uintptr_t a, std::uintptr_t b, std::size_t size = 2) {
    lowp::simd::arrays_at_once arrays;
    EXPECT_FALSE(arrays.meets(reinterpret_cast<void*>(a), 2));
    return arrays.meets(reinterpret_cast<void*>(b), size);
  };
  constexpr std::uintptr_t place = 0x7f0123456780;
#if defined(__x86_64__)
  {
    as_of_amd const here;
    for (int const low : {12, 13, 14, 15, 16, 17, 18, 19}) {
      int const high = low < 15 ? 39 - low : low + 5;
      EXPECT_TRUE(meet(place, place ^ (std::uintptr_t{1} << low | std::uintptr_t{1} << high)));
    }
    for (int bit = 6; bit < 28; ++bit) EXPECT_FALSE(meet(place, place ^ std::uintptr_t{1} << bit));
    EXPECT_TRUE(meet(place, place ^ std::uintptr_t{1} << 28));
    EXPECT_FALSE(meet(place, place ^ std::uintptr_t{1} << 28, 4)) << "another pace";
    EXPECT_FALSE(meet(place, place)) << "in place";
  }
  unsigned const vendor = __cpu_model[0];
  __cpu_model[0] = 1;
  EXPECT_FALSE(meet(place, place ^ met[1])) << "another vendor";
  __cpu_model[0] = vendor;
#else
  EXPECT_FALSE(meet(place, place ^ met[1]));
#endif
}

// A step over arrays that meet, or do not, in whole batches and beyond.
template <class R>
void check_met(R rounding) {
  using lowp::bfloat16;
  constexpr std::size_t size = 3000, all = std::size_t{1} << 22;
  std::vector<unsigned char> memory(2 * all);
  auto const begin = reinterpret_cast<std::uintptr_t>(memory.data());
  unsigned char* const base = memory.data() + (all - begin % all) % all;
  auto const step = [&](std::size_t apart, lowp::update_report& report) {
    std::span<bfloat16> array[4];
    for (std::size_t k = 0; k < 4; ++k) {
      array[k] = {reinterpret_cast<bfloat16*>(base + met[k] + k * apart), size};
      for (std::size_t i = 0; i < size; ++i)
        array[k][i] = bfloat16(static_cast<float>((i * 7 + k * 5) % 251) * 0x1p-8f);
    }
    lowp::update(array[0], array[1], array[2], array[3], lowp::adamw{}, 3, rounding);
    lowp::update(array[0], array[1], array[2], array[3], lowp::adamw{}, 4, rounding, report);
    std::vector<bfloat16> found;
    for (auto const& each : array) found.insert(found.end(), each.begin(), each.end());
    return found;
  };
  as_of_amd const here;
  lowp::update_report apart, together;
  EXPECT_EQ(step(256, apart), step(0, together));
  EXPECT_EQ(std::memcmp(&apart, &together, sizeof(apart)), 0);
}

TEST(arrays_at_once, have_the_bits_of_others) {
  check_met(lowp::nearest_even{});
  check_met(lowp::stochastic_fast{.seed = 3, .offset = 5});
}

}  // namespace
