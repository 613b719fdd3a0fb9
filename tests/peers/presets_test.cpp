// SPDX-License-Identifier: Apache-2.0
// The overflow presets against what the packages they are named after gave: presets/README.md says
// which versions were asked, and how.
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <utility>

#include "support/support.hpp"

namespace {

using namespace lowp_test;

struct preset {
  lowp::overflow policy;
  bool reproduces_signalling_float16;
};
// numpy leaves a signalling NaN signalling, which A4 rules out: ml_dtypes and onnx use numpy for
// float16.
std::map<std::string, preset> const presets{
    {"cuda", {lowp::overflow::cuda, true}},
    {"cuda_nosat", {lowp::overflow::cuda_nosat, true}},
    {"ml_dtypes", {lowp::overflow::ml_dtypes, false}},
    {"ml_dtypes_saturate", {lowp::overflow::ml_dtypes_saturate, false}},
    {"onnx", {lowp::overflow::onnx, false}},
    {"onnx_nosat", {lowp::overflow::onnx_nosat, false}},
    {"torch", {lowp::overflow::torch, true}},
    {"torch_2_11", {lowp::overflow::torch_2_11, true}}};

struct vector_line {
  std::string preset_name;
  float x;
  std::uint32_t code;
};

std::vector<vector_line> vectors_of(std::string const& format) {
  std::ifstream file(LOWP_TESTS "/peers/presets/vectors.txt");
  EXPECT_TRUE(file) << "no presets/vectors.txt";
  std::vector<vector_line> found;
  std::string name;
  std::vector<std::string> preset_names;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    if (line.find(':') == std::string::npos) {
      words >> name;
      preset_names.assign(std::istream_iterator<std::string>(words), {});
      EXPECT_FALSE(preset_names.empty()) << line;
      continue;
    }
    for (std::string word; words >> word;) {
      std::uint32_t bits = 0;
      std::uint32_t code = 0;
      EXPECT_EQ(std::sscanf(word.c_str(), "%8" SCNx32 ":%4" SCNx32, &bits, &code), 2) << line;
      if (name != format) continue;
      for (std::string const& each : preset_names) found.push_back({each, float_of(bits), code});
    }
  }
  return found;
}

bool is_signalling(float x) {
  std::uint32_t const bits = float_bits(x) & 0x7fffffffU;
  return bits > 0x7f800000U && bits < 0x7fc00000U;
}

template <class T>
class presets_of : public testing::Test {};
TYPED_TEST_SUITE(presets_of, all_formats, by_format);

TYPED_TEST(presets_of, agree_with_the_packages) {
  using T = TypeParam;
  // No package rounds to a power of two as A4b does, so a preset means the default there.
  if (std::same_as<T, lowp::float8_e8m0fnu>) return;
  std::map<std::string, int> compared;
  for (vector_line const& v : vectors_of(facts<T>.name)) {
    preset const& p = presets.at(v.preset_name);
    bool const is_float16 = std::same_as<T, lowp::float16>;
    if (is_float16 && is_signalling(v.x) && !p.reproduces_signalling_float16) continue;
    ++compared[v.preset_name];
    EXPECT_TRUE(has_bits(lowp::convert<T>(v.x, lowp::nearest_even{}, p.policy), v.code, v.x,
                         v.preset_name));
    std::vector<T> in_span(1);
    lowp::cast(std::vector{v.x}, in_span, lowp::nearest_even{}, p.policy);
    EXPECT_TRUE(has_bits(in_span[0], v.code, v.x, v.preset_name, "in a span"));
  }
  if (compared.empty()) return;  // a format that no package has
  EXPECT_GE(compared["ml_dtypes"], 50);
  for (auto const& [name, count] : compared) EXPECT_GE(count, 40) << name;
}

// The package does not convert to a format that has no line for a preset.
TYPED_TEST(presets_of, mean_the_default_where_the_package_has_no_answer) {
  using T = TypeParam;
  std::map<std::string, int> lines;
  for (vector_line const& v : vectors_of(facts<T>.name)) ++lines[v.preset_name];
  std::vector<float> floats{0.0f, 1.0f, 3e38f};
  for (std::uint32_t bits = 0; bits < 0xff000000U; bits += 0x00fedcbaU) {
    floats.push_back(float_of(bits));
  }
  for (std::uint32_t const nan : {0x7f800000U, 0x7f800001U, 0x7fc00000U, 0x7fffffffU}) {
    floats.push_back(float_of(nan));
    floats.push_back(float_of(nan | 0x80000000U));
  }
  for (auto const& [name, p] : presets) {
    if (lines[name] > 0 && !std::same_as<T, lowp::float8_e8m0fnu>) continue;
    for (float const x : floats) {
      T const got = lowp::convert<T>(x, lowp::nearest_even{}, p.policy);
      ASSERT_TRUE(has_bits(got, lowp::convert<T>(x).bits(), x, name));
    }
  }
}

// Widening has nothing to overflow, and no NaN to lose.
TYPED_TEST(presets_of, change_nothing_on_the_way_to_float) {
  using T = TypeParam;
  for (auto const& [name, p] : presets) {
    for (std::uint32_t code = 0; code < code_count<T>; ++code) {
      float const got = lowp::convert<float>(of_code<T>(code), lowp::nearest_even{}, p.policy);
      ASSERT_TRUE(has_bits(got, oracle::decode_to_float_bits(facts<T>, code), name));
    }
  }
}

}  // namespace
