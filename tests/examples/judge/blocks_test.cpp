// SPDX-License-Identifier: Apache-2.0
// Recipes with scales of blocks, written again as their packages do them: each step one operation.
#include <recipes.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>

#include "tool.hpp"

namespace {

using namespace lowp_test;
using codes_type = std::vector<std::uint64_t>;

std::uint64_t nearest(oracle::facts const& f, float x) {
  return oracle::encode(f, oracle::from_float_bits(std::bit_cast<std::uint32_t>(x)),
                        oracle::mode::nearest_even, oracle::policy::saturate);
}
float value(oracle::facts const& f, std::uint64_t code) {
  return std::bit_cast<float>(oracle::decode_to_float_bits(f, code));
}

class judge_blocks : public testing::Test {
 protected:
  judge_blocks() {
    EXPECT_EQ(judged({"inputs", "--to", "nvfp4", "-o", in}).status, 0);
    for (std::uint64_t const word : words_of_npy(contents(in), 4))
      x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(word)));
    EXPECT_EQ(x.size(), 65536U);
  }
  // compressed-tensors: S = 2688 * (1 / A); s = e4m3(S * (amax / 6)), or 0.125; x / (s / S).
  void quantize() {
    float largest = 0;
    for (float const v : x) largest = std::max(largest, std::fabs(v));
    tensor = 2688.0f * (1.0f / largest);
    for (std::size_t b = 0; b < x.size() / 16; ++b) {
      float amax = 0;
      for (std::size_t i = 0; i < 16; ++i) amax = std::max(amax, std::fabs(x[16 * b + i]));
      std::uint64_t code = nearest(oracle::float8_e4m3fn, tensor * (amax / 6.0f));
      if (code == 0) code = 0x20;
      scales.push_back(code);
      float const divisor = value(oracle::float8_e4m3fn, code) / tensor;
      for (std::size_t i = 0; i < 16; ++i) {
        float const y = x[16 * b + i] / divisor;
        codes.push_back(y == 0 ? 0 : nearest(oracle::float4_e2m1fn, y));
      }
    }
  }
  [[nodiscard]] said quantized(codes_type const& c, codes_type const& s,
                               std::vector<std::string> more = {}) const {
    set_contents(folder.file("codes.bin"), bytes_of(c, 1));
    set_contents(folder.file("scales.bin"), bytes_of(s, 1));
    std::vector<std::string> all{
        "quantize", in, folder.file("codes.bin"), folder.file("scales.bin"), "--to", "nvfp4"};
    all.insert(all.end(), more.begin(), more.end());
    return judged(all);
  }

  scratch_folder folder;
  std::string in = folder.file("in.npy");
  std::vector<float> x;
  codes_type codes, scales;
  float tensor = 0;
};

void expect(said const& s, int status, std::string const& phrase) {
  EXPECT_EQ(s.status, status) << s.out << s.err;
  EXPECT_TRUE(has(s.out + s.err, phrase)) << s.out << s.err;
}

TEST_F(judge_blocks, have_the_name_of_their_package) {
  quantize();
  said const s = quantized(codes, scales, {"--tensor-scale", std::to_string(1.0)});
  expect(s, 1, "those of\n  compressed_tensors_0_20_nvfp4 (compressed-tensors 0.20)\n  codes:");
  expect(s, 1, "tensor scale: not the recipe's");
  char number[40];
  for (int const digits : {9, 4}) {
    std::snprintf(number, sizeof number, "%.*g", digits, double{tensor});
    expect(quantized(codes, scales, {"--tensor-scale", number}), 0, "reciprocal of the recipe's");
  }
  std::snprintf(number, sizeof number, "%.4g", double{tensor} * 1.001);
  expect(quantized(codes, scales, {"--tensor-scale", number}), 1, "not the recipe's");

  codes_type low, high, split, tiles(scales.size()), columns(scales.size());
  for (std::size_t i = 0; i < codes.size(); i += 2) {
    low.push_back(codes[i] | codes[i + 1] << 4);
    high.push_back(codes[i + 1] | codes[i] << 4);
    split.push_back(codes[i / 32 * 32 + i / 2 % 16] | codes[i / 32 * 32 + i / 2 % 16 + 16] << 4);
  }
  for (std::size_t row = 0; row < 128; ++row)
    for (std::size_t c = 0; c < 32; ++c) {
      tiles[c / 4 * 512 + row % 32 * 16 + row / 32 * 4 + c % 4] = scales[32 * row + c];
      columns[128 * c + row] = scales[32 * row + c];
    }
  expect(quantized(low, scales), 0, "the first in its low bits; scales: row by row");
  expect(quantized(high, tiles), 0, "the first in its high bits; scales: tiles of 128 rows");
  expect(quantized(split, columns), 0, "elements j and j + 16 of 32; scales: column by column");
}

TEST_F(judge_blocks, of_zeros_have_each_name_once) {
  set_contents(in, npy_of("<f4", "(16, 16)", std::string(1024, '\0')));
  said const s = quantized(codes_type(256), codes_type(16), {"--columns", "16"});
  expect(s, 0, "those of\n  te_2_20_nvfp4_1x16 (Transformer Engine 2.20)\n  te_2_20_nvfp4_16x16 (");
  EXPECT_EQ(s.out.find("_1x16 ("), s.out.rfind("_1x16 ("));
}

TEST_F(judge_blocks, may_be_a_tensor_of_safetensors) {
  quantize();
  std::string const header = R"({"x":{"dtype":"F4","shape":[65536],"data_offsets":[0,32768]}} )";
  codes_type packed;
  for (std::size_t i = 0; i < codes.size(); i += 2) packed.push_back(codes[i] | codes[i + 1] << 4);
  set_contents(folder.file("codes.safetensors"),
               bytes_of({header.size()}, 8) + header + bytes_of(packed, 1));
  set_contents(folder.file("scales.bin"), bytes_of(scales, 1));
  expect(judged({"quantize", in, folder.file("codes.safetensors"), folder.file("scales.bin"),
                 "--to", "nvfp4"}),
         0, "codes: a byte each");
}

TEST_F(judge_blocks, that_no_recipe_makes_are_counted) {
  quantize();
  codes_type other = codes, truncated = scales;
  other[77] ^= 1;
  truncated[5] -= 1;
  said const s = quantized(other, truncated);
  expect(s, 1,
         "The nearest one differs in 1 scales and 1 codes:\n  compressed_tensors_0_20_nvfp4 ");
  expect(s, 1, "\n  scale 5 is ");
  expect(s, 1, "\n  element 77 is ");
}

TEST_F(judge_blocks, of_a_wrong_size_or_number_are_refused) {
  quantize();
  expect(quantized({1, 2}, scales), 2, "has 2 bytes, and 65536 codes are due, or two in each byte");
  expect(quantized(codes, {1}), 2, "has 1 scales, and 4096 are due, or 4096 in tiles");
  expect(quantized(codes, scales, {"--tensor-scale", "nan"}), 2, "'nan' is no finite number");
  expect(quantized(codes, scales, {"--columns", "24"}), 2, "no whole blocks of 16");
  expect(quantized(codes, scales, {"--columns", "-16"}), 2, "-16");
  expect(quantized(codes, scales, {"--columns", "0"}), 2, "0 not in range 1 to");
  codes_type wide = codes;
  wide[9] = 16;
  expect(quantized(wide, scales), 2, "element 9 is 16, and a code of float4_e2m1fn is at most 15");
  expect(judged({"name", in, in, "--to", "nvfp4"}), 2, "see lowp-judge quantize");
  expect(judged({"quantize", in, in, in, "--to", "nvfp5"}), 2, "there is no 'nvfp5'");
  set_contents(in, npy_of("<f4", "(2,)", bytes_of({0, 0x7fc00000}, 4)));
  expect(quantized(codes, scales, {"--columns", "16"}), 2, "no rows of 16");
}

// Some recipes differ only in blocks with infinity or near the ends of the range.
TEST(judge_recipes, are_told_apart) {
  std::vector<float> x;
  for (std::uint64_t const word : judge::block_inputs())
    x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(word)));
  std::map<std::string_view, std::size_t> kinds;
  for (judge::recipe_family const& f : judge::recipe_families()) {
    std::set<std::pair<codes_type, codes_type>> seen;
    for (judge::named_recipe const& r : f.recipes) {
      judge::quantized_tensor const q = r.quantize(x, judge::input_columns);
      seen.insert({q.codes, q.scales});
    }
    kinds[f.name] = seen.size();
  }
  EXPECT_EQ(kinds["nvfp4"], 14U);  // two packages have one recipe
  EXPECT_EQ(kinds["mxfp4"], 10U);
  EXPECT_EQ(kinds["mxfp8_e4m3"], 8U);
  EXPECT_EQ(kinds["fp8_blocks"], 6U);
}

}  // namespace
