// SPDX-License-Identifier: Apache-2.0
// Faulty converters, each with a fault of a real library, are told apart. They are made of integers
// and the exact arithmetic of oracle/, not of the library.
#include <lowp/value.hpp>

#include <set>

#include "support/formats.hpp"
#include "tool.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

using namespace lowp_test;
using oracle::mode;
using oracle::policy;

std::uint32_t to(oracle::facts const& f, std::uint32_t x, mode m = mode::nearest_even,
                 policy p = policy::infinity) {
  return oracle::encode(f, oracle::from_float_bits(x), m, p);
}
bool is_nan(std::uint32_t x) { return (x & 0x7fffffff) > 0x7f800000; }
bool is_beyond(std::uint32_t x, float most) {
  return (x & 0x7fffffff) > std::bit_cast<std::uint32_t>(most) && !is_nan(x);
}

struct converter {
  std::string format, phrase;
  conversion convert;
};

std::vector<converter> faulty_converters() {
  using namespace oracle;
  auto const sign16 = [](std::uint32_t x) { return x >> 16 & 0x8000; };
  return {
      {"float8_e4m3fn", "rounded twice: through float16",
       [](std::uint32_t x) {
         return to(float8_e4m3fn, decode_to_float_bits(float16, to(float16, x)));
       }},
      {"float8_e5m2", "rounded twice: through bfloat16",
       [](std::uint32_t x) { return to(float8_e5m2, to(bfloat16, x) << 16); }},
      {"float16", "NaN: one code, sign and payload lost",
       [](std::uint32_t x) { return is_nan(x) ? 0x7e00 : to(float16, x); }},
      {"float16", "subnormal results flushed to zero",
       [=](std::uint32_t x) {
         std::uint32_t const y = to(float16, x);
         return (y & 0x7c00) == 0 ? sign16(x) : y;
       }},
      {"float8_e5m2", "flushed to zero before rounding",
       [](std::uint32_t x) {
         bool const is_small = (x & 0x7fffffff) < std::bit_cast<std::uint32_t>(0x1p-14f);
         return to(float8_e5m2, is_small ? x & 0x80000000 : x);
       }},
      {"bfloat16", "subnormal inputs flushed to zero",
       [](std::uint32_t x) { return to(bfloat16, (x & 0x7f800000) == 0 ? x & 0x80000000 : x); }},
      {"bfloat16", "nearest, ties upward",
       [](std::uint32_t x) {
         std::uint32_t const more = x >> 31 != 0 ? 0x7fff : 0x8000;
         return is_nan(x) ? to(bfloat16, x) : (x + more) >> 16;
       }},
      {"bfloat16", "nearest, ties toward zero",
       [](std::uint32_t x) { return is_nan(x) ? to(bfloat16, x) : (x + 0x7fff) >> 16; }},
      {"float8_e4m3fn", "overflow decided before rounding",
       [](std::uint32_t x) {
         return is_beyond(x, 448) ? 0x7f | (x >> 24 & 0x80) : to(float8_e4m3fn, x);
       }},
      {"bfloat16", "truncated, not made quiet", [](std::uint32_t x) { return x >> 16; }},
      {"bfloat16", "NaN: not looked for",
       [](std::uint32_t x) { return (x + 0x7fff + (x >> 16 & 1)) >> 16 & 0xffff; }},
      {"float8_e4m3fn", "sign of zero lost",
       [](std::uint32_t x) {
         std::uint32_t const y = to(float8_e4m3fn, x);
         return y == 0x80 ? 0 : y;
       }},
      {"float8_e4m3fn", "NaN: becomes the largest value, sign kept", [](std::uint32_t x) {
         return is_nan(x) ? 0x7e | (x >> 24 & 0x80)
                          : to(float8_e4m3fn, x, mode::nearest_even, policy::saturate);
       }}};
}

TEST(judge_name, tells_faulty_converters_apart) {
  std::set<std::string> texts;
  for (converter const& c : faulty_converters()) {
    SCOPED_TRACE(c.phrase);
    said const s = named(c.format, c.convert);
    EXPECT_EQ(s.status, 0) << s.out << s.err;
    EXPECT_TRUE(has(s.out, "each result is that of")) << s.out;
    EXPECT_TRUE(has(s.out, c.phrase)) << s.out;
    EXPECT_TRUE(has(s.out, "; right is ")) << s.out;
    texts.insert(s.out);
  }
  EXPECT_EQ(texts.size(), faulty_converters().size());
}

TEST(judge_name, names_every_mode) {
  constexpr std::pair<mode, char const*> names[]{
      {mode::nearest_even, "\n  nearest_even\n"},
      {mode::nearest_away, "\n  nearest_away\n"},
      {mode::toward_zero, "\n  toward_zero (truncation)\n"},
      {mode::upward, "\n  upward\n"},
      {mode::downward, "\n  downward\n"},
      {mode::to_odd, "\n  to_odd\n"}};
  for (oracle::facts const* const f : {&oracle::float8_e4m3fn, &oracle::float6_e3m2fn})
    for (auto const& [m, name] : names)
      for (policy const p : {policy::infinity, policy::saturate}) {
        said const s = named(f->name, [f, p, m = m](std::uint32_t x) { return to(*f, x, m, p); });
        EXPECT_EQ(s.status, 0);
        EXPECT_TRUE(has(s.out, name)) << s.out;
        bool const saturates = p == policy::saturate || !f->has_nan();
        EXPECT_TRUE(has(s.out, saturates ? "overflow::saturate" : "overflow::infinity")) << s.out;
        EXPECT_FALSE(has(s.out, "differs")) << s.out;
      }
}

#if defined(__x86_64__)
__attribute__((target("f16c"))) std::uint64_t by_f16c(std::uint32_t x) {
  return static_cast<std::uint16_t>(
      _mm_extract_epi16(_mm_cvtps_ph(_mm_castsi128_ps(_mm_set1_epi32(static_cast<int>(x))), 0), 0));
}
TEST(judge_name, names_f16c) {
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "SKIPPED: lowp: no AVX2, so perhaps no F16C";
  said const s = named("float16", by_f16c);
  EXPECT_EQ(s.status, 0) << s.out;
  EXPECT_TRUE(has(s.out, "nearest_even\n  overflow::infinity (IEEE 754; F16C")) << s.out;
}
#endif

TEST(judge_name, counts_what_no_rule_gives) {
  said const s = named("float8_e4m3fn", [](std::uint32_t x) {
    std::uint32_t const y = to(oracle::float8_e4m3fn, x);
    bool const is_tie = x == std::bit_cast<std::uint32_t>(1.0625f);  // 1 and 1.125 are neighbours
    return is_tie || x == std::bit_cast<std::uint32_t>(300.0f) ? y + 1 : y;
  });
  EXPECT_EQ(s.status, 1);
  EXPECT_TRUE(has(s.out, "The nearest one differs in 1:\n  nearest_even\n")) << s.out;
  EXPECT_TRUE(has(s.out, "  by class: tie 1\n")) << s.out;
  EXPECT_TRUE(has(s.out, "0x3f880000 (1.0625) became 0x39 (1.125); right is 0x38 (1)\n")) << s.out;
}

// The tool's own rounding beside exact arithmetic: every format, mode and policy.
TEST(judge_rounding, is_that_of_exact_arithmetic) {
  judge::number_type const& from = judge::type_named("float32");
  for (oracle::facts const& f : oracle::all) {
    judge::number_type const& t = judge::type_named(f.name);
    std::uint64_t differ = 0;
    for (std::uint64_t const x : judge::inputs_for(from, t))
      for (int m = 0; m < judge::modes_of_library; ++m)
        for (policy const p : {policy::infinity, policy::saturate}) {
          auto const mine = judge::converted(
              t, judge::decode(from, x), static_cast<judge::mode>(m),
              p == policy::infinity ? lowp::overflow::infinity : lowp::overflow::saturate);
          differ += mine != to(f, static_cast<std::uint32_t>(x), static_cast<mode>(m), p) ? 1 : 0;
        }
    EXPECT_EQ(differ, 0U) << f.name;
  }
}
TEST(judge_rounding, has_the_presets_of_the_library) {
  judge::number_type const& from = judge::type_named("float32");
  types_of<all_formats>::for_each([&](auto type) {
    using T = typename decltype(type)::type;
    judge::number_type const& t = judge::type_named(facts<T>.name);
    std::uint64_t differ = 0;
    auto const inputs = judge::inputs_for(from, t);
    for (std::size_t i = 0; i < inputs.size(); i += t.bits() > 8 ? 101 : 1)
      for (judge::named_policy const& p : judge::policies()) {
        auto const x = std::bit_cast<float>(static_cast<std::uint32_t>(inputs[i]));
        auto const mine = judge::converted(t, judge::decode(from, inputs[i]),
                                           judge::mode::nearest_even, p.policy);
        differ += mine != lowp::convert<T>(x, lowp::nearest_even{}, p.policy).bits() ? 1 : 0;
      }
    EXPECT_EQ(differ, 0U) << t.name;
  });
}

// A mutation of one boundary must show: each code's neighbours above and below each boundary occur.
TEST(judge_inputs, meet_every_boundary_from_both_sides) {
  for (oracle::facts const* const f : {&oracle::float8_e5m2, &oracle::float8_ue5m3}) {
    std::set<std::uint64_t> const inputs = [&] {
      auto const all = judge::inputs_for(judge::type_named("float32"), judge::type_named(f->name));
      return std::set<std::uint64_t>(all.begin(), all.end());
    }();
    for (std::uint32_t x = 1; x < 0x7f800000; x += 1 << 12)  // ends of results lie on such floats
      for (mode const m : {mode::nearest_even, mode::toward_zero})
        if (to(*f, x - 1, m) != to(*f, x, m) || to(*f, x, m) != to(*f, x + 1, m)) {
          EXPECT_TRUE(inputs.contains(x) && inputs.contains(x + 1)) << f->name << ' ' << x;
        }
    EXPECT_TRUE(inputs.contains(0x7f800001) && inputs.contains(0xffc00000));
  }
  EXPECT_EQ(
      judge::inputs_for(judge::type_named("float16"), judge::type_named("float8_e5m2")).size(),
      65536U);
}

}  // namespace
