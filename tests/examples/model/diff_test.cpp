// SPDX-License-Identifier: Apache-2.0
// Distances in ulps against counting codes, and diff's words and status.
#include <difference.hpp>
#include <targets/distance.hpp>

#include <bit>
#include <cmath>
#include <limits>

#include "tool.hpp"

namespace {

using namespace lowp_test;

format_facts const& facts(std::string const& name) { return target_named(name)->facts; }

// A code's number on the line of all values, zero being 0.
double rank(oracle::facts const& f, std::uint32_t code) {
  auto const magnitude = static_cast<double>(code & f.magnitude_mask());
  return (code & f.sign_mask()) != 0 ? -magnitude : magnitude;
}

TEST(model_distance, counts_the_steps_between_codes) {
  for (oracle::facts const& f : oracle::all) {
    if (!f.is_signed) continue;  // scales, not weights
    SCOPED_TRACE(f.name);
    std::mt19937_64 random(1);
    auto const codes = static_cast<std::uint32_t>(2 * f.sign_mask());
    for (int i = 0; i < 20000; ++i) {
      auto const a = static_cast<std::uint32_t>(random() % codes);
      auto const b = i % 2 == 0 ? static_cast<std::uint32_t>(random() % codes)
                                : (a + static_cast<std::uint32_t>(i % 7)) % codes;
      oracle::number const x = oracle::decode(f, a), y = oracle::decode(f, b);
      if (x.what != oracle::kind::finite || y.what != oracle::kind::finite) continue;
      double const steps = std::fabs(rank(f, a) - rank(f, b));
      EXPECT_EQ(distance(oracle_test::to_double(x), oracle_test::to_double(y), facts(f.name)),
                steps)
          << a << " and " << b;
    }
  }
}

TEST(model_distance, is_straight_between_codes) {
  format_facts const& half = facts("float16");
  EXPECT_EQ(distance(1, 1 + 0x1p-10, half), 1);
  EXPECT_EQ(distance(1, 1 + 0x1p-12, half), 0.25);
  EXPECT_EQ(distance(1, 1 - 0x1p-12, half), 0.5);
  EXPECT_EQ(distance(1 - 0x1p-12, 1 + 0x1p-12, half), 0.75);
  EXPECT_EQ(distance(0x1p-24, -0x1p-26, half), 1.25);
  EXPECT_EQ(distance(0x1p-14, 0x1p-14 - 0x1p-25, half), 0.5);
  EXPECT_EQ(distance(65504, 65520, half), 0.5);
  EXPECT_EQ(distance(65504, 65536, half), 1);
  EXPECT_EQ(distance(0, 1e-300, half), 1e-300 * 0x1p24);
  EXPECT_EQ(distance(0.0, -0.0, half), 0);
  format_facts const& wide = *facts_of(st::dtype::f64);
  double const most = std::numeric_limits<double>::max();
  EXPECT_EQ(distance(1, std::nextafter(1, 2), wide), 1);
  EXPECT_EQ(distance(0, 5e-324, wide), 1);
  EXPECT_EQ(distance(5e-324, -5e-324, wide), 2);
  EXPECT_EQ(distance(most, 0, wide), static_cast<double>(0x7fefffffffffffff));
  EXPECT_EQ(distance(most, -most, wide), 2 * static_cast<double>(0x7fefffffffffffff));
}

TEST(model_distance, names_the_place) {
  EXPECT_EQ(place_in({}, 0), "[]");
  EXPECT_EQ(place_in({7}, 5), "[5]");
  EXPECT_EQ(place_in({2, 3, 4}, 23), "[1, 2, 3]");
  EXPECT_EQ(place_in({2, 3, 4}, 13), "[1, 0, 1]");
}

class diff : public model_tool {
 protected:
  said differ(std::vector<named_bytes> const& a, std::vector<named_bytes> const& b,
              std::vector<std::string> more = {},
              std::map<std::string, std::string> const& text_a = {},
              std::map<std::string, std::string> const& text_b = {}) {
    write(model, a, text_a);
    write(out, b, text_b);
    more.insert(more.begin(), {"diff", model, out});
    said const s = tool(more);
    EXPECT_EQ(s.err, "");
    return s;
  }
  std::vector<float> const w{1, 2, 3, 4, 5, 6};
};

TEST_F(diff, of_equal_files_is_empty) {
  auto const some = patterns(300'000, 8);  // NaN included: bits are compared
  said const s = differ({of("b", some), of("a", w)}, {of("a", w), of("b", some)});
  EXPECT_EQ(s.status, 0);
  EXPECT_EQ(s.out, "2 of 2 tensors have equal bits\n");
  EXPECT_EQ(differ({}, {}).out, "0 of 0 tensors have equal bits\n");
}

TEST_F(diff, says_how_far_and_where) {
  std::vector<float> x = w;
  x[4] = std::nextafter(std::nextafter(5.0f, 6.0f), 6.0f);
  x[0] = std::nextafter(1.0f, 0.0f);
  said const s = differ({of("w", w, {2, 3})}, {of("w", x, {2, 3})});
  EXPECT_EQ(s.status, 1);
  EXPECT_EQ(
      s.out,
      "'w': F32: 2 of 6 differ, by at most 2 ulps of F32 at [1, 1] (5 and 5.00000095), by 0.5 "
      "in the mean\n0 of 1 tensor has equal bits; the others differ by at most 2 ulps\n");
  EXPECT_EQ(differ({of("w", w)}, {of("w", x)}, {"--within", "2"}).status, 0);
  EXPECT_EQ(differ({of("w", w)}, {of("w", x)}, {"--within", "1.999"}).status, 1);
}

TEST_F(diff, measures_in_the_narrower_type) {
  std::vector<lowp::bfloat16> const narrow{lowp::bfloat16(1.0f), lowp::bfloat16(2.0f)};
  std::vector<double> const wide{1 + 0x1p-9, 2 + 0x1p-7};
  for (said const& s :
       {differ({of("w", wide)}, {of("w", narrow)}), differ({of("w", narrow)}, {of("w", wide)})}) {
    EXPECT_EQ(s.status, 1);
    EXPECT_TRUE(has(s.out, "2 of 2 differ, by at most 0.5 ulps of BF16 at [1]"));
    EXPECT_TRUE(has(s.out, "by 0.375 in the mean"));
  }
  // The same numbers in another type are equal numbers, not equal files.
  said const s = differ({of("w", std::vector<float>{1, 2})}, {of("w", narrow)});
  EXPECT_EQ(s.status, 1);
  EXPECT_TRUE(has(s.out, "'w': F32 and BF16: equal numbers"));
  EXPECT_EQ(
      differ({of("w", std::vector<float>{1, 2})}, {of("w", narrow)}, {"--within", "0"}).status, 0);
}

TEST_F(diff, counts_scales_as_part_of_the_values) {
  std::vector<lowp::float16> const codes{lowp::float16(4.0f), lowp::float16(6.0f)};
  std::vector<float> const values{0.5f, 0.75f + 0x1p-13f};
  said const s = differ({of("w", values)}, {of("w", codes)}, {}, {}, {{"scalar.w.scale", "8"}});
  EXPECT_TRUE(has(s.out, "1 of 2 differ, by at most 0.25 ulps of F16 at [1]")) << s.out;
  // The same bits with another scale are other values.
  EXPECT_EQ(differ({of("w", codes)}, {of("w", codes)}, {}, {}, {{"scalar.w.scale", "8"}}).status,
            1);
  EXPECT_EQ(differ({of("w", codes)}, {of("w", codes)}, {}, {{"scalar.w.scale", "8"}},
                   {{"scalar.w.scale", "8"}})
                .status,
            0);
  // Scaled values may leave the range of float, and then are no infinities.
  std::vector<float> const most{std::numeric_limits<float>::max()};
  std::vector<lowp::bfloat16> const half{lowp::bfloat16(0x1p127f)};
  said const large = differ({of("w", most)}, {of("w", half)}, {}, {}, {{"scalar.w.scale", "0.5"}});
  EXPECT_TRUE(has(large.out, "1 of 1 differ, by at most")) << large.out;
}

// A scale of integers, or of no tensor, is a text like others.
TEST_F(diff, knows_whose_scale_is_none) {
  std::vector<std::int8_t> const codes{4, 6};
  for (auto const& [name, key] :
       {std::pair{"w", "scalar.w.scale"}, std::pair{"w", "scalar.v.scale"}, std::pair{"", "a"}}) {
    said const s =
        differ({of(name, codes)}, {of(name, codes)}, {}, {{key, "0.5"}}, {{key, "0.25"}});
    EXPECT_EQ(s.status, 1);
    EXPECT_TRUE(has(s.out, std::string("metadata '") + key + "' differ"));
  }
}

TEST_F(diff, names_what_cannot_be_compared) {
  said const s = differ({of("a", w), of("b", w), of("d", std::vector<std::int32_t>{1, 2}),
                         of("e", w), of("f", std::vector<std::int32_t>{1, 2, 300})},
                        {of("a", w, {3, 2}), of("c", w), of("d", std::vector<std::int64_t>{1, 2}),
                         of("e", w), of("f", std::vector<std::int32_t>{1, 3, 7})});
  EXPECT_EQ(s.status, 1);
  for (char const* line : {"'a': F32 [6] and F32 [3, 2]\n", "'b': only in the first: F32 [6]\n",
                           "'c': only in the second: F32 [6]\n", "'d': I32 [2] and I64 [2]\n",
                           "'f': I32 [3]: 3 bytes differ\n", "1 of 6 tensors have equal bits\n"})
    EXPECT_TRUE(has(s.out, line));
  EXPECT_EQ(differ({of("b", w)}, {}, {"--within", "1e9"}).status, 1);
  EXPECT_EQ(differ({of("b", w)}, {of("b", w, {2, 3})}, {"--within", "1e9"}).status, 1);
}

TEST_F(diff, finds_what_is_not_finite) {
  float const infinity = std::numeric_limits<float>::infinity();
  said const s = differ({of("w", std::vector<float>{NAN, infinity, NAN, 1, infinity})},
                        {of("w", std::vector<float>{NAN, infinity, 1, infinity, -infinity})});
  EXPECT_TRUE(has(s.out, "3 of 5 differ")) << s.out;
  EXPECT_TRUE(has(
      s.out,
      "3 of 5 differ; 2 not finite in one file only; 1 not finite in both, and not the same\n"));
  EXPECT_EQ(differ({of("w", std::vector<float>{NAN})}, {of("w", std::vector<float>{1})},
                   {"--within", "1e300"})
                .status,
            1);
}

// 1e300 is infinite there; 1e-300 times the scale is not even a double, and there the finite ones
// differ.
TEST_F(diff, names_a_place_where_finite_numbers_differ) {
  std::vector<double> const wide{1e300, 1e-300};
  std::vector<lowp::float16> const codes{lowp::float16(INFINITY), lowp::float16(0.0f)};
  std::string const scale = "9.62964972193618e-35";  // 2^-113
  std::string const path = folder.file("json");
  said const s =
      differ({of("w", wide)}, {of("w", codes)}, {"--json", path}, {}, {{"scalar.w.scale", scale}});
  EXPECT_TRUE(has(s.out,
                  "2 of 2 differ, by at most 0 ulps of F16 at [1] (1e-300 and 0), by 0 in "
                  "the mean; 1 not finite in one file only\n"));
  auto const j = nlohmann::json::parse(contents(path));
  EXPECT_EQ(j["tensors"][0]["at"], 1);
  EXPECT_EQ(j["tensors"][0]["values"], (std::vector<double>{1e-300, 0}));
  said const none = differ({of("w", std::vector<double>{1e300, 1})},
                           {of("w", std::vector<double>{INFINITY, 1})}, {"--json", path});
  EXPECT_TRUE(has(none.out, "'w': F64: 1 of 2 differ; 1 not finite in one file only\n"));
  EXPECT_EQ(nlohmann::json::parse(contents(path))["tensors"][0]["at"], nullptr);
}

TEST_F(diff, tells_of_metadata) {
  said const s = differ({of("w", w)}, {of("w", w)}, {}, {{"format", "pt"}, {"a", "1"}},
                        {{"format", "np"}, {"a", "1"}, {"b", "2"}});
  EXPECT_EQ(s.status, 1);
  EXPECT_TRUE(has(s.out, "metadata 'format' differ\nmetadata 'b' differ\n"));
  EXPECT_EQ(differ({of("w", w)}, {of("w", w)}, {"--within", "0"}, {{"a", "1"}}).status, 0);
}

TEST_F(diff, writes_all_of_it_for_programs) {
  std::string const path = folder.file("json");
  differ({of("a", w), of("b", w), of("f", std::vector<std::int32_t>{1, 2})},
         {of("a", std::vector<lowp::float16>{1, 2, 3, 4, 5, 7}), of("c", w),
          of("f", std::vector<std::int32_t>{1, 3})},
         {"--json", path}, {{"format", "pt"}});
  auto const j = nlohmann::json::parse(contents(path));
  EXPECT_EQ(j, nlohmann::json::parse(R"({"equal": 0, "metadata": ["format"], "tensors": [
    {"name": "b", "differs_in": "only in the first"},
    {"name": "f", "differs_in": "bytes", "bytes": 1},
    {"name": "c", "differs_in": "only in the second"},
    {"name": "a", "differs_in": "values", "count": 6, "unequal": 1, "ulps_of": "F16",
     "largest": 256, "mean": 42.666666666666664, "at": 5, "values": [6, 7], "not_finite": 0}]})"));
  EXPECT_EQ(tool({"diff", model, out, "--json", "-"}).out, contents(path));
  EXPECT_TRUE(has(refusal({"diff", model, out, "--json", folder.file("no/j")}), "No such file"));
}

TEST_F(diff, spares_what_it_reads) {
  write(model, {of("w", w)});
  write(out, {of("w", w)});
  std::string const before = contents(model), index = folder.file("m.index.json");
  set_contents(index, R"({"weight_map": {"w": "out.safetensors"}})");
  for (std::string const& path : {model, out})
    EXPECT_TRUE(has(refusal({"diff", model, out, "--json", path}), "is the model '"));
  for (std::string const& path : {index, out})
    EXPECT_TRUE(has(refusal({"diff", model, index, "--json", path}), "is a part of '"));
  EXPECT_TRUE(contents(model) == before && contents(out) == before);
}

TEST_F(diff, shows_the_worst_first) {
  auto const at = [](float x) { return std::vector<float>{x}; };
  said const s = differ({of("a", at(1)), of("b", at(1)), of("c", at(1))},
                        {of("a", at(1.001f)), of("b", at(2)), of("c", at(1.01f))}, {"--top", "2"});
  EXPECT_LT(s.out.find("'b'"), s.out.find("'c'"));
  EXPECT_FALSE(has(s.out, "'a'"));
  EXPECT_TRUE(has(s.out, "... and 1 more (--top 0)"));
  EXPECT_TRUE(has(refusal({"diff", model}), "B"));
  EXPECT_TRUE(has(refusal({"diff", model, out, "--within", "nan"}), "'nan'"));
  EXPECT_TRUE(has(refusal({"diff", model, folder.file("none")}), "none"));
}

}  // namespace
