// SPDX-License-Identifier: Apache-2.0
// Recipes beside the recorded answers of the packages that they are named after.
#include <gtest/gtest.h>
#include <lowp/cuda/rotated.hpp>
#include <lowp/openmp.hpp>
#include <lowp/quantize.hpp>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <limits>
#include <span>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cuda/simulated_grid.hpp"
#include "quantization/vectors/inputs.hpp"
#include "support/formats.hpp"
#include "support/refusals.hpp"
#include "support/support.hpp"

namespace {

using namespace lowp_test;
using lowp::float4_e2m1fn;
using lowp::float8_e4m3fn;
using lowp::float8_e8m0fnu;
namespace recipes = lowp::recipes;

// A tensor of a file: the package's answer.
struct recorded {
  std::vector<float> x;
  lowp::amax largest;
  std::vector<unsigned> scales, codes;
  std::vector<std::uint64_t> checksums;  // in place of the codes of a large block
  std::uint64_t number = 0, size = 0;

  // The largest magnitude of a block; NaN if it has one.
  [[nodiscard]] float of_block(std::size_t block) const {
    std::uint32_t bits = 0;
    for (std::size_t i = block * size; i < (block + 1) * size; ++i)
      bits = std::max(bits, std::bit_cast<std::uint32_t>(x[i]) & 0x7fffffffU);
    return std::bit_cast<float>(bits);
  }
};

// A package's tensor may be of 16 bits: the end of the recipe's name tells.
float as_given(std::uint32_t word, std::string const& recipe) {
  auto const x = std::bit_cast<float>(word);
  return recipe.ends_with("_bfloat16")  ? float(lowp::bfloat16(x))
         : recipe.ends_with("_float16") ? float(lowp::float16(x))
                                        : x;
}

std::vector<recorded> read(std::string const& recipe, unsigned bits) {
  std::ifstream in(LOWP_TESTS "/quantization/vectors/" + recipe + ".txt");
  EXPECT_TRUE(in) << recipe;
  std::vector<recorded> tensors;
  std::uint64_t size = 0, check = 0, wanted_check = 1;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string first, second;
    words >> first >> second;
    if (second == "size:") words >> size;
    if (second == "inputs:") words >> std::hex >> wanted_check;
    if (first == "#") continue;
    if (first == "tensor") {
      recorded t;
      t.number = std::stoull(second);
      t.size = size;
      words >> first >> second;
      auto const largest = static_cast<std::uint32_t>(std::stoull(second, nullptr, 16));
      t.largest.bits = std::bit_cast<std::uint32_t>(as_given(largest, recipe));
      auto const inputs = quantization_inputs::words(t.number, size);
      check = quantization_inputs::mix(check ^ quantization_inputs::checksum(inputs));
      for (std::uint32_t const word : inputs) t.x.push_back(as_given(word, recipe));
      tensors.push_back(t);
      continue;
    }
    recorded& t = tensors.back();
    t.scales.push_back(static_cast<unsigned>(std::stoul(first, nullptr, 16)));
    if (size == 128 * 128) {
      t.checksums.push_back(std::stoull(second, nullptr, 16));
      continue;
    }
    for (std::size_t i = 0; i < second.size(); i += 2) {
      auto const byte = static_cast<unsigned>(std::stoul(second.substr(i, 2), nullptr, 16));
      if (bits == 4) t.codes.push_back(byte & 15);
      t.codes.push_back(bits == 4 ? byte >> 4 : byte);
    }
  }
  EXPECT_EQ(check, wanted_check) << recipe;
  EXPECT_FALSE(tensors.empty()) << recipe;
  return tensors;
}

// False for NaN, which is recorded and not promised: blocks with a NaN, elements under a scale that
// is NaN, infinity over infinity, and zero times an infinite reciprocal.
bool is_promised(recorded const& t, std::size_t i, float scale, std::string const& name) {
  float const of_block = t.of_block(i / t.size);
  if (std::isnan(of_block) || std::isnan(scale)) return false;
  bool const is_finite_only =
      name.find("mxfp4") != std::string::npos || name.find("x128") != std::string::npos;
  if (std::isinf(t.x[i]) && is_finite_only) return false;
  bool const is_two_level = name.find("two_level") != std::string::npos;
  float const reciprocal = 1 / (t.largest.value() / 2688) / scale;
  return !is_two_level || t.x[i] != 0 || !std::isinf(reciprocal);
}

template <class T, bool IsPacked>
struct codes_of : std::type_identity<T> {};
template <class T>
struct codes_of<T, true> : std::type_identity<lowp::packed<T>> {};

template <class T>
constexpr unsigned bits_of_code = 8;
template <lowp::narrow T>
constexpr unsigned bits_of_code<T> = T::descriptor.bits();
unsigned code_of(std::int8_t x) { return static_cast<std::uint8_t>(x); }
unsigned code_of(float x) { return std::bit_cast<std::uint32_t>(x); }
unsigned code_of(lowp::narrow auto x) { return x.bits(); }
template <class Scale>
float value_of(unsigned code) {
  if constexpr (std::is_same_v<Scale, float>)
    return std::bit_cast<float>(code);
  else
    return float(Scale::from_bits(static_cast<std::uint8_t>(code)));
}

template <class T, int Block, class Scale>
struct made {
  static constexpr bool is_packed = bits_of_code<T> < 8;
  using codes_type = typename codes_of<T, is_packed>::type;
  using tensor_type = lowp::quantized<codes_type, Block, Scale>;

  std::vector<T> bytes;
  std::vector<Scale> scales;
  tensor_type tensor;

  explicit made(std::size_t size)
      : bytes(size), scales((size + Block - 1) / Block), tensor{codes(bytes), scales} {}

  static auto codes(std::vector<T>& bytes) {
    if constexpr (is_packed) {
      std::size_t const size = (bytes.size() * bits_of_code<T> + 7) / 8;
      std::span<std::uint8_t> const packed{reinterpret_cast<std::uint8_t*>(bytes.data()), size};
      return lowp::packed<T>(packed, bytes.size());
    } else {
      return std::span(bytes);
    }
  }
};

using quick_grid = grid_with<documented_conversions, one_text>;

// The text of a GPU's kernel on simulated threads has the processor's bits and counts. It knows the
// largest magnitude, or reads it; it then writes the tensor's scale and counts.
template <class T, int Block, class Scale>
void expect_on_a_grid(unsigned threads, auto const& x, made<T, Block, Scale> const& want,
                      auto const& recipe, auto const& mode, lowp::quantize_options options,
                      lowp::quantization_report const& counts) {
  lowp::amax const largest = *options.largest;
  for (bool const is_stored : {false, true}) {
    made<T, Block, Scale> there(want.bytes.size());
    lowp::quantization_report report;
    float scale = -1;
    options.report = is_stored ? &report : nullptr;
    if (is_stored) {
      options.largest.reset();
      options.largest_at = &largest;
      there.tensor.tensor_scale_at = &scale;
    }
    quick_grid grid(threads, 3);
    lowp::cuda::on_grid<quick_grid> const executor{grid};
    ASSERT_EQ(refusal_of<lowp::detail::quantize_operation>(executor, x, there.tensor, recipe, mode,
                                                           options),
              "");
    ASSERT_EQ(std::memcmp(there.bytes.data(), want.bytes.data(), want.bytes.size() * sizeof(T)), 0);
    ASSERT_EQ(
        std::memcmp(there.scales.data(), want.scales.data(), want.scales.size() * sizeof(Scale)),
        0);
    ASSERT_EQ(is_stored ? scale : there.tensor.tensor_scale, want.tensor.tensor_scale);
    if (is_stored) {
      ASSERT_EQ(report, counts);
    }
  }
}

unsigned without_sign_of_nan(unsigned scale, std::type_identity<float8_e4m3fn>) {
  return (scale & 0x7f) == 0x7f ? 0x7f : scale;
}
template <class Scale>
unsigned without_sign_of_nan(unsigned scale, std::type_identity<Scale>) {
  return scale;
}
template <class T, int Block, class Scale>
void expect_package(lowp::quantization_recipe<T, Block, Scale> const& recipe,
                    std::string const& file) {
  SCOPED_TRACE(file);
  for (recorded const& t : read(file, bits_of_code<T>)) {
    std::size_t const rows = t.size / Block, columns = t.x.size() / rows;
    // A block of 256 elements is a tile of a matrix of 16 rows.
    auto const place = [&](std::size_t i) {
      return i % t.size / Block * columns + i / t.size * Block + i % Block;
    };
    std::vector<float> x(t.x.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[place(i)] = t.x[i];
    lowp::amax const largest = t.largest;
    made<T, Block, Scale> mine(x.size()), found(x.size());
    lowp::nearest_even const even;
    lowp::quantize(x, mine.tensor, recipe, even, {.columns = columns, .largest = largest});
    lowp::quantization_report counts;
    lowp::quantize(x, found.tensor, recipe, even, {.columns = columns, .report = &counts});
    ASSERT_EQ(std::memcmp(mine.bytes.data(), found.bytes.data(), mine.bytes.size()), 0);
    expect_on_a_grid(t.number % 2 == 0 ? 256 : 32, x, mine, recipe, even,
                     {.columns = recipe.rows == 1 ? 0 : columns, .largest = largest}, counts);
    for (std::size_t b = 0; b < t.scales.size(); ++b) {
      unsigned const want = without_sign_of_nan(t.scales[b], std::type_identity<Scale>{});
      float const of_block = t.of_block(b);
      if (file == "ggml_mxfp4" && (std::isinf(of_block) || (of_block != 0 && of_block < 0x1p-125f)))
        continue;  // C leaves ggml's conversion undefined
      for (std::size_t row = 0; row < rows && !std::isnan(of_block); ++row)
        ASSERT_EQ(code_of(mine.scales[place(b * t.size + row * Block) / Block]), want)
            << "block " << b << " of tensor " << t.number;
      // microxcaling returns values: of one that rounds to 2^128 no code is left.
      if (file.starts_with("microxcaling") && of_block == std::numeric_limits<float>::max())
        continue;
      if (!t.checksums.empty()) {
        std::vector<std::uint32_t> codes;
        for (std::size_t i = b * t.size; i < (b + 1) * t.size; ++i)
          codes.push_back(code_of(mine.tensor.codes[place(i)]));
        ASSERT_EQ(quantization_inputs::checksum(codes), t.checksums[b]) << b;
        continue;
      }
      float const value = value_of<Scale>(want);
      for (std::size_t i = b * t.size; i < (b + 1) * t.size; ++i) {
        if (!is_promised(t, i, value, file)) continue;
        unsigned const code = code_of(mine.tensor.codes[place(i)]);
        ASSERT_EQ(code, t.codes[i]) << "element " << i << " of tensor " << t.number;
      }
    }
  }
}

TEST(nvfp4, is_that_of_the_packages) {
  expect_package(recipes::te_2_20_nvfp4, "te_2_20_nvfp4_1x16");
  expect_package(recipes::te_2_20_nvfp4_16x16, "te_2_20_nvfp4_16x16");
  expect_package(recipes::torchao_main_nvfp4_training, "torchao_main_nvfp4_training");
  expect_package(recipes::torchao_0_18_nvfp4_two_level, "torchao_0_18_nvfp4_two_level");
  expect_package(recipes::torchao_0_18_nvfp4_one_level, "torchao_0_18_nvfp4_one_level");
  expect_package(recipes::compressed_tensors_0_20_nvfp4, "compressed_tensors_0_20_nvfp4");
  expect_package(recipes::compressed_tensors_0_20_nvfp4_bfloat16,
                 "compressed_tensors_0_20_nvfp4_bfloat16");
  expect_package(recipes::compressed_tensors_0_20_nvfp4_float16,
                 "compressed_tensors_0_20_nvfp4_float16");
  expect_package(recipes::modelopt_0_47_nvfp4, "modelopt_0_47_nvfp4");
  expect_package(recipes::ggml_nvfp4, "ggml_nvfp4");
}

TEST(nvfp4, by_four_over_six_is_that_of_transformer_engine) {
  using namespace recipes;
  for (auto const& recipe :
       {te_2_20_nvfp4_4over6_mae_448, te_2_20_nvfp4_4over6_mae_256, te_2_20_nvfp4_4over6_mse_448,
        te_2_20_nvfp4_4over6_mse_256, te_2_20_nvfp4_16x16_4over6_mae_448,
        te_2_20_nvfp4_16x16_4over6_mae_256, te_2_20_nvfp4_16x16_4over6_mse_448,
        te_2_20_nvfp4_16x16_4over6_mse_256})
    expect_package(recipe, recipe.name);
}

TEST(nvfp4, plain_errors_are_those_of_codes) {
  lowp::detail::tile_rule<float4_e2m1fn, float8_e4m3fn> rule{};
  rule.most = 448, rule.divisor = lowp::detail::block_divisor(6 * rule.most);
  lowp::detail::element_error<float4_e2m1fn, decltype(rule)> error{rule, 2688, 1, 1};
  error.find_plain(6);
  EXPECT_TRUE(error.is_plain);
  for (std::uint32_t border = 1; border < 56; ++border)  // of codes and of ties, in steps of 1/8
    for (std::uint32_t near = 0; near < 65; ++near) {
      float const x = std::bit_cast<float>(
          std::bit_cast<std::uint32_t>(static_cast<float>(border) / 8) + near - 32);
      if (x >= 7) break;
      EXPECT_EQ(std::abs(error.plain(x)), error(x)) << x;
      EXPECT_EQ(std::abs(error.plain(-x)), error(-x)) << x;
    }
  error.find_plain(7);
  EXPECT_FALSE(error.is_plain);
}

TEST(mxfp4, is_that_of_the_packages) {
  expect_package(recipes::te_2_20_mxfp4, "te_2_20_mxfp4");
  expect_package(recipes::compressed_tensors_0_20_mxfp4, "compressed_tensors_0_20_mxfp4");
  expect_package(recipes::compressed_tensors_0_20_mxfp4_bfloat16,
                 "compressed_tensors_0_20_mxfp4_bfloat16");
  expect_package(recipes::modelopt_0_47_mxfp4, "modelopt_0_47_mxfp4");
  expect_package(recipes::ggml_mxfp4, "ggml_mxfp4");
}

template <class T>
class mx : public testing::Test {
 public:
  static std::string file(std::string const& package, std::string const& rule) {
    std::string const type = T::descriptor.bits() == 4   ? "mxfp4"
                             : T::descriptor.bits() == 8 ? "mxfp8"
                                                         : "mxfp6";
    std::string const name = facts<T>.name;  // float8_e4m3fn
    std::string const element = type == "mxfp4" ? "" : "_" + name.substr(7, 4);
    return package + "_" + type + element + (rule.empty() ? "" : "_" + rule);
  }
};
using mx_types = first_or_all<2, testing::Types<float4_e2m1fn, float8_e4m3fn, lowp::float6_e2m3fn,
                                                lowp::float6_e3m2fn, lowp::float8_e5m2>>;
template <class T>
constexpr bool mx_types_of_tiles =
    std::is_same_v<T, float4_e2m1fn> || std::is_same_v<T, float8_e4m3fn>;
TYPED_TEST_SUITE(mx, mx_types, by_format);

TYPED_TEST(mx, is_that_of_the_packages) {
  using T = TypeParam;
  if constexpr (T::descriptor.bits() == 8)
    expect_package(recipes::te_2_20_mx<T>, this->file("te_2_20", ""));
  expect_package(recipes::torchao_0_18_floor<T>, this->file("torchao_0_18", "floor"));
  expect_package(recipes::torchao_0_18_ceil<T>, this->file("torchao_0_18", "ceil"));
  expect_package(recipes::torchao_0_18_even<T>, this->file("torchao_0_18", "even"));
  expect_package(recipes::torchao_0_18_rceil<T>, this->file("torchao_0_18", "rceil"));
  if constexpr (mx_types_of_tiles<T>)
    expect_package(recipes::torchao_0_18_rceil_32x32<T>, this->file("torchao_0_18", "rceil_32x32"));
  expect_package(recipes::torchao_main_floor<T>, this->file("torchao_main", "floor"));
  expect_package(recipes::torchao_main_ceil<T>, this->file("torchao_main", "ceil"));
  expect_package(recipes::torchao_main_even<T>, this->file("torchao_main", "even"));
  expect_package(recipes::torchao_main_rceil<T>, this->file("torchao_main", "rceil"));
  expect_package(recipes::microxcaling_nearest<T>, this->file("microxcaling", "nearest"));
  expect_package(recipes::microxcaling_even<T>, this->file("microxcaling", "even"));
}

TEST(float_scaled, is_that_of_the_packages) {
  expect_package(recipes::torchao_0_18_float8_1x128, "torchao_0_18_float8_1x128");
  expect_package(recipes::torchao_0_18_float8_128x128, "torchao_0_18_float8_128x128");
  using namespace recipes;
  for (auto const& recipe :
       {compressed_tensors_0_20_fp8_1x128, compressed_tensors_0_20_fp8_1x128_bfloat16,
        compressed_tensors_0_20_fp8_1x128_float16, compressed_tensors_0_20_fp8_128x128,
        compressed_tensors_0_20_fp8_128x128_bfloat16, compressed_tensors_0_20_fp8_128x128_float16})
    expect_package(recipe, recipe.name);
  for (auto const& recipe : {compressed_tensors_0_20_int8, compressed_tensors_0_20_int8_bfloat16,
                             compressed_tensors_0_20_int8_float16})
    expect_package(recipe, recipe.name);
}

// ggml-impl.h, ggml_fp32_to_ue4m3: around each place where its code may change.
unsigned code_by_ggml(float x) {
  if (x >= 0x1p8f) return 0x7e;
  if (x < 0x1p-6f) return static_cast<unsigned>(std::min(x * 512.0f + 0.5f, 7.0f));
  int exponent = 0;
  double const eighths = std::floor(std::frexp(double{x}, &exponent) * 16 + 0.5);  // from 8 to 16
  auto const code = static_cast<unsigned>((exponent + 6) * 8 + static_cast<int>(eighths) - 8);
  return code >= 0x78 ? 0x7e : code;
}
TEST(ggml_nvfp4, has_the_scales_of_its_function) {
  for (std::uint32_t i = 0; i < 255U << 5; ++i)
    for (std::uint32_t const beside : {0U, 1U, (1U << 18) - 1}) {
      auto const x = std::bit_cast<float>((i << 18) + beside);
      ASSERT_EQ(lowp::detail::ggml_code(x), code_by_ggml(x)) << std::hexfloat << x;
    }
  EXPECT_EQ(lowp::detail::ggml_code(INFINITY), 0x7eU);
  EXPECT_EQ(lowp::detail::ggml_code(std::nanf("")), 0x7fU);
}

std::vector<float> normal_numbers(std::size_t size) {
  std::vector<float> x(size);
  std::mt19937_64 random(5);
  std::normal_distribution<float> normal(0, 1);
  for (float& each : x) each = normal(random);
  return x;
}

// A tensor of squares and its transpose have the same values: one can be made of the other.
TEST(mx, of_squares_commutes_with_transposition) {
  constexpr std::size_t rows = 64, columns = 96;
  std::vector<float> const x = normal_numbers(rows * columns);
  std::vector<float> across(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) across[i % columns * rows + i / columns] = x[i];
  made<float8_e4m3fn, 32, float8_e8m0fnu> q(x.size()), turned(x.size());
  auto const& recipe = recipes::torchao_0_18_rceil_32x32<float8_e4m3fn>;
  lowp::nearest_even const even;
  lowp::quantize(x, q.tensor, recipe, even, {.columns = columns});
  lowp::quantize(across, turned.tensor, recipe, even, {.columns = rows});
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(q.bytes[i].bits(), turned.bytes[i % columns * rows + i / columns].bits()) << i;
}

// The mean of draws between two integers is the element.
TEST(float_scaled, draws_integers_by_their_distance) {
  constexpr std::size_t size = 128 * 512;
  std::vector<float> x(size, 3.28125f), back(size);
  for (std::size_t i = 0; i < size; i += 128) x[i] = 127.5f, x[i + 1] = -127.5f;
  made<std::int8_t, 128, float> q(size);
  lowp::quantization_report report;
  lowp::quantize(x, q.tensor, recipes::compressed_tensors_0_20_int8, lowp::stochastic{.seed = 7},
                 {.report = &report});
  EXPECT_EQ(report, lowp::quantization_report{});
  lowp::dequantize(q.tensor, back);
  double ups = 0;
  for (std::size_t i = 0; i < size; ++i) {
    EXPECT_EQ(q.scales[i / 128], 1.0f);
    EXPECT_EQ(back[i], static_cast<float>(q.bytes[i]));
    if (i % 128 > 1) ups += back[i] - 3.0;
    bool const is_right = i % 128 == 0   ? back[i] == 127.0f
                          : i % 128 == 1 ? back[i] == -127.0f || back[i] == -128.0f
                                         : back[i] == 3.0f || back[i] == 4.0f;
    ASSERT_TRUE(is_right) << i << ": " << back[i];
  }
  EXPECT_NEAR(ups / (size / 128 * 126), 0.28125, 0.01);
}

// It stands in include/lowp/quantization/README.md.
void read_ggml(std::span<std::uint8_t const> blocks, std::span<std::uint8_t> codes,
               std::span<lowp::float8_e8m0fnu> scales) {
  using code = lowp::float4_e2m1fn;
  for (std::size_t b = 0; b < scales.size(); ++b) {
    scales[b] = lowp::float8_e8m0fnu::from_bits(blocks[17 * b]);
    lowp::packed<code const, lowp::split_order> from(blocks.subspan(17 * b + 1, 16), 32);
    lowp::cast(from, lowp::packed<code>(codes.subspan(16 * b, 16), 32));
  }
}

TEST(ggml, blocks_are_read) {
  for (recorded const& t : read("ggml_mxfp4", 4)) {
    std::size_t const count = t.scales.size();
    std::vector<std::uint8_t> blocks, codes(16 * count);
    std::vector<float8_e8m0fnu> scales(count);
    for (std::size_t b = 0; b < count; ++b) {
      blocks.push_back(static_cast<std::uint8_t>(t.scales[b]));
      for (std::size_t j = 32 * b; j < 32 * b + 16; ++j)
        blocks.push_back(static_cast<std::uint8_t>(t.codes[j] | t.codes[j + 16] << 4));
    }
    read_ggml(blocks, codes, scales);
    for (std::size_t i = 0; i < 32 * count; ++i)
      ASSERT_EQ(codes[i / 2] >> i % 2 * 4 & 15, static_cast<int>(t.codes[i])) << t.number;
    for (std::size_t b = 0; b < count; ++b) ASSERT_EQ(scales[b].bits(), t.scales[b]);
  }
}

// A search finds the nearest code alone. In another mode each element goes to its own neighbour,
// and a NaN is the scale's, as in every recipe.
TEST(ggml, takes_every_mode_and_keeps_a_nan) {
  std::vector<float> x(32, 1.125f), up(32), down(32);
  x[0] = x[16] = 6;
  auto const check = [&](auto q, auto const& recipe) {
    lowp::quantize(x, q.tensor, recipe, lowp::upward{});
    lowp::dequantize(q.tensor, up);
    lowp::quantize(x, q.tensor, recipe, lowp::downward{});
    lowp::dequantize(q.tensor, down);
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(up[i], i % 16 == 0 ? 6 : 1.5f) << recipe.name << i;
      EXPECT_EQ(down[i], i % 16 == 0 ? 6 : 1.0f) << recipe.name << i;
    }
    std::vector<float> y(x);
    y[1] = NAN;
    lowp::quantize(y, q.tensor, recipe);
    lowp::dequantize(q.tensor, up);
    EXPECT_TRUE(std::isnan(up[1])) << recipe.name;
  };
  check(made<float4_e2m1fn, 16, float8_e4m3fn>(x.size()), recipes::ggml_nvfp4);
  check(made<float4_e2m1fn, 32, float8_e8m0fnu>(x.size()), recipes::ggml_mxfp4);
}

// Two ranges that differ where the packages do: no recipe is another's double.
TEST(recipes, differ) {
  std::vector<std::string> seen;
  for (std::string const file :
       {"te_2_20_nvfp4_1x16", "torchao_0_18_nvfp4_two_level", "torchao_0_18_nvfp4_one_level",
        "compressed_tensors_0_20_nvfp4", "modelopt_0_47_nvfp4", "ggml_nvfp4"}) {
    std::string all;
    for (recorded const& t : read(file, 4))
      for (std::size_t b = 0; b < t.scales.size(); ++b)
        if (!std::isnan(t.of_block(b))) all += std::to_string(t.scales[b]) + ' ';
    for (std::string const& other : seen) EXPECT_NE(all, other) << file;
    seen.push_back(all);
  }
}

TEST(nvfp4, is_read_back_with_one_rounding) {
  std::vector<float> const x = normal_numbers(1000);
  made<float4_e2m1fn, 16, float8_e4m3fn> q(1000);
  lowp::quantize(x, q.tensor, recipes::te_2_20_nvfp4);
  std::vector<float> out(1000);
  lowp::dequantize(q.tensor, out);
  for (std::size_t i = 0; i < 1000; ++i) {
    double const product = double(float(q.tensor.codes[i])) * double(float(q.scales[i / 16]));
    ASSERT_EQ(out[i], static_cast<float>(product * double(q.tensor.tensor_scale))) << i;
    ASSERT_NEAR(out[i], x[i], 0.9);
  }
}

TEST(nvfp4, has_the_same_bits_on_teams_of_threads) {
  std::vector<float> const x = normal_numbers(100016);
  made<float4_e2m1fn, 16, float8_e4m3fn> alone(x.size()), shared(x.size());
  lowp::stochastic_fast const draws{.seed = 1, .stream = 2, .offset = 3};
  lowp::quantization_report report, shared_report;
  lowp::quantize(x, alone.tensor, recipes::nvfp4_unbiased, draws, {.report = &report});
  lowp::openmp::quantize(x, shared.tensor, recipes::nvfp4_unbiased, draws,
                         {.report = &shared_report});
  EXPECT_EQ(std::memcmp(alone.bytes.data(), shared.bytes.data(), x.size() / 2), 0);
  EXPECT_EQ(std::memcmp(alone.scales.data(), shared.scales.data(), alone.scales.size()), 0);
  EXPECT_EQ(report, shared_report);
  EXPECT_EQ(report.clipped, 0U);
  std::vector<float> back(x.size()), shared_back(x.size());
  lowp::dequantize(alone.tensor, back);
  lowp::openmp::dequantize(shared.tensor, shared_back);
  EXPECT_EQ(back, shared_back);
  lowp::hadamard(x, back, lowp::te_2_20_signs);
  lowp::openmp::hadamard(x, shared_back, lowp::te_2_20_signs);
  EXPECT_EQ(back, shared_back);
  lowp::quantize(back, alone.tensor, recipes::te_2_20_nvfp4);
  lowp::openmp::quantize(lowp::rotated(x, lowp::te_2_20_signs), shared.tensor,
                         recipes::te_2_20_nvfp4);
  EXPECT_EQ(std::memcmp(alone.bytes.data(), shared.bytes.data(), x.size() / 2), 0);
  EXPECT_EQ(std::memcmp(alone.scales.data(), shared.scales.data(), alone.scales.size()), 0);
}

TEST(nvfp4, has_the_same_bits_on_a_grid) {
  std::vector<float> const x = normal_numbers(10016);
  lowp::amax const largest = lowp::measure(x).largest;
  made<float4_e2m1fn, 16, float8_e4m3fn> q(x.size());
  lowp::stochastic_fast const draws{.seed = 1, .stream = 2, .offset = 3};
  lowp::quantization_report counts;
  lowp::quantize(x, q.tensor, recipes::nvfp4_unbiased, draws, {.report = &counts});
  expect_on_a_grid(32, x, q, recipes::nvfp4_unbiased, draws, {.largest = largest}, counts);
  quick_grid grid(32, 3);
  lowp::cuda::on_grid<quick_grid> const executor{grid};
  std::vector<float4_e2m1fn> bytes(x.size());  // a code each
  std::vector<float8_e4m3fn> scales(q.scales.size());
  lowp::quantized<float4_e2m1fn, 16, float8_e4m3fn> apart{bytes, scales};
  ASSERT_EQ(refusal_of<lowp::detail::quantize_operation>(
                executor, x, apart, recipes::nvfp4_unbiased, draws,
                lowp::quantize_options{.largest = largest}),
            "");
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(bytes[i].bits(), code_of(q.tensor.codes[i])) << i;
  std::vector<float> want(x.size()), got(x.size());
  lowp::dequantize(q.tensor, want);
  float scale = std::exchange(q.tensor.tensor_scale, 0.0f);
  q.tensor.tensor_scale_at = &scale;
  ASSERT_EQ(refusal_of<lowp::detail::dequantize_operation>(executor, q.tensor, got), "");
  EXPECT_EQ(got, want);
  lowp::dequantize(q.tensor, got);
  EXPECT_EQ(got, want);
  lowp::hadamard(x, want, lowp::te_2_20_signs);
  ASSERT_EQ(refusal_of<lowp::detail::hadamard_operation>(executor, x, got, lowp::te_2_20_signs),
            "");
  EXPECT_EQ(got, want);
  lowp::hadamard_signs<32> const signs{0x9e3779b9, 0x7f4a7c15};
  lowp::hadamard(x, want, signs);
  ASSERT_EQ(refusal_of<lowp::detail::hadamard_operation>(executor, x, got, signs), "");
  EXPECT_EQ(got, want);
  // Tiles of a matrix of 48 rows, each with the draws of its own elements.
  auto const turned = lowp::rotated(std::span(x).first(48 * 208), lowp::te_2_20_signs);
  made<float4_e2m1fn, 16, float8_e4m3fn> tiles(turned.elements.size());
  auto const& recipe = recipes::te_2_20_nvfp4_16x16_4over6_mse_256;
  lowp::quantize_options options{.columns = 208, .largest = largest, .report = &(counts = {})};
  lowp::quantize(turned, tiles.tensor, recipe, draws, options);
  expect_on_a_grid(32, turned, tiles, recipe, draws, options, counts);
}

std::vector<lowp::nvfp4_recipe> const all_nvfp4{recipes::te_2_20_nvfp4,
                                                recipes::te_2_20_nvfp4_16x16,
                                                recipes::te_2_20_nvfp4_4over6_mae_448,
                                                recipes::te_2_20_nvfp4_16x16_4over6_mse_256,
                                                recipes::torchao_0_18_nvfp4_two_level,
                                                recipes::torchao_0_18_nvfp4_one_level,
                                                recipes::compressed_tensors_0_20_nvfp4,
                                                recipes::compressed_tensors_0_20_nvfp4_bfloat16,
                                                recipes::compressed_tensors_0_20_nvfp4_float16,
                                                recipes::modelopt_0_47_nvfp4,
                                                recipes::ggml_nvfp4,
                                                recipes::nvfp4_unbiased};

// All ways to the largest magnitude skip NaN: blocks without one are as if it were a number.
template <class T, int Block, class Scale>
void expect_nan_to_stay_in_its_block(lowp::quantization_recipe<T, Block, Scale> const& recipe,
                                     float special) {
  SCOPED_TRACE(recipe.name);
  std::size_t const rows = static_cast<std::size_t>(recipe.rows), columns = 2 * 128;
  std::vector<float> x = normal_numbers(rows * columns);
  x[Block + 1] = special;
  std::vector<float> without = x;
  x[5] = std::bit_cast<float>(0xffc12345);
  without[5] = 0;
  unsigned const nan = code_of(std::numeric_limits<Scale>::quiet_NaN());
  made<T, Block, Scale> want(x.size()), got(x.size());
  lowp::nearest_even const even;
  std::size_t const given_columns = rows == 1 ? 0 : columns;
  lowp::quantize(without, want.tensor, recipe, even, {.columns = given_columns});
  lowp::quantization_report counts;
  std::vector<float> copy(x.size());
  lowp::amax of_cast;
  lowp::scaled_cast(x, copy, 2.0f, of_cast);
  lowp::amax const measured = lowp::measure(x).largest,
                   ranged = lowp::abs_range_of<float>(x).max_abs;
  for (lowp::quantize_options options :
       {lowp::quantize_options{}, lowp::quantize_options{.largest = measured},
        lowp::quantize_options{.largest = ranged}, lowp::quantize_options{.largest = of_cast},
        lowp::quantize_options{.largest_at = &measured}}) {
    options.columns = given_columns;
    lowp::quantize(x, got.tensor, recipe, even, options);
    ASSERT_EQ(code_of(got.tensor.tensor_scale), code_of(want.tensor.tensor_scale));
    ASSERT_EQ(code_of(got.scales[0]), nan);
    for (std::size_t i = 0; i < x.size(); ++i) {
      bool const is_beside = i % columns / Block == 0;  // in the block or tile of the NaN
      if (is_beside) continue;
      ASSERT_EQ(code_of(got.tensor.codes[i]), code_of(want.tensor.codes[i])) << i;
      ASSERT_EQ(code_of(got.scales[i / Block]), code_of(want.scales[i / Block])) << i;
    }
  }
  lowp::quantize(x, got.tensor, recipe, even, {.columns = given_columns, .report = &counts});
  EXPECT_EQ(counts.nonfinite_blocks, std::isinf(special) ? 2U : 1U);
  expect_on_a_grid(32, x, got, recipe, even, {.columns = given_columns, .largest = measured},
                   counts);
}

// Gives a NaN as the largest magnitude: a name on the host; on a grid, in memory, NaN everywhere.
template <class T, int Block, class Scale>
void expect_no_scale_of_nan(lowp::quantization_recipe<T, Block, Scale> const& recipe) {
  SCOPED_TRACE(recipe.name);
  std::size_t const rows = static_cast<std::size_t>(recipe.rows), columns = 2 * 128;
  std::vector<float> x = normal_numbers(rows * columns);
  for (std::size_t i = 0; i < Block; ++i) x[i] = 0;
  made<T, Block, Scale> q(x.size());
  lowp::amax const nan{0x7f800001};
  float scale = 1;
  quick_grid grid(32, 3);
  lowp::cuda::on_grid<quick_grid> const executor{grid};
  auto const on_grid = [&](lowp::quantize_options const& options) {
    return refusal_of<lowp::detail::quantize_operation>(executor, x, q.tensor, recipe,
                                                        lowp::nearest_even{}, options);
  };
  lowp::quantize_options options{.columns = rows == 1 ? 0 : columns, .largest = nan};
  std::string const text = "quantize: the tensor's largest magnitude is NaN";
  expect_refusal([&] { lowp::quantize(x, q.tensor, recipe, lowp::nearest_even{}, options); },
                 "lowp::" + text);
  EXPECT_EQ(on_grid(options), text);
  options.largest.reset();
  options.largest_at = &nan;
  expect_refusal([&] { lowp::quantize(x, q.tensor, recipe, lowp::nearest_even{}, options); },
                 "lowp::" + text);
  for (auto const& each : q.bytes) ASSERT_EQ(code_of(each), 0U);
  q.tensor.tensor_scale_at = &scale;
  ASSERT_EQ(on_grid(options), "");
  for (auto const& each : q.scales) ASSERT_EQ(std::isnan(float(each)), recipe.needs_tensor());
  if (!recipe.needs_tensor()) return;
  EXPECT_TRUE(std::isnan(scale));
  std::vector<float> back(x.size());
  lowp::dequantize(q.tensor, back);
  for (float const each : back) ASSERT_TRUE(std::isnan(each));
}

TEST(quantize, keeps_a_nan_in_its_block) {
  for (float const special : {-1.0f, INFINITY}) {
    for (auto const& recipe : all_nvfp4) expect_nan_to_stay_in_its_block(recipe, special);
    expect_nan_to_stay_in_its_block(recipes::torchao_main_rceil<float8_e4m3fn>, special);
    expect_nan_to_stay_in_its_block(recipes::torchao_0_18_float8_1x128, special);
  }
}
TEST(quantize, makes_no_scale_of_nan) {
  for (auto const& recipe : all_nvfp4) expect_no_scale_of_nan(recipe);
  expect_no_scale_of_nan(recipes::torchao_main_rceil<float8_e4m3fn>);
}

TEST(quantize, refuses_on_a_grid_what_kernels_cannot_do) {
  std::vector<float> const x(512);
  made<float4_e2m1fn, 16, float8_e4m3fn> q(x.size());
  quick_grid grid(32, 3);
  lowp::cuda::on_grid<quick_grid> const executor{grid};
  auto const refusal = [&](auto const& in, auto const& recipe,
                           lowp::quantize_options const& options) {
    return refusal_of<lowp::detail::quantize_operation>(executor, in, q.tensor, recipe,
                                                        lowp::nearest_even{}, options);
  };
  lowp::quantization_report report;
  lowp::amax const largest{1};
  float scale = 0;
  auto high = recipes::te_2_20_nvfp4_16x16;
  high.rows = 8;
  EXPECT_EQ(refusal(x, recipes::te_2_20_nvfp4, {}),
            "quantize: te_2_20_nvfp4_1x16 needs options.largest or options.largest_at");
  EXPECT_EQ(refusal(x, recipes::te_2_20_nvfp4, {.largest_at = &largest}),
            "quantize: te_2_20_nvfp4_1x16 with options.largest_at needs out.tensor_scale_at");
  EXPECT_EQ(refusal(x, high, {.columns = 32, .largest = largest}),
            "quantize: te_2_20_nvfp4_16x16 has tiles of 8 x 16; a GPU takes tiles as wide as high");
  EXPECT_EQ(refusal(lowp::rotated(x, lowp::hadamard_signs<32>{}), recipes::te_2_20_nvfp4_16x16,
                    {.columns = 32, .largest = largest}),
            "quantize: te_2_20_nvfp4_16x16 has tiles of 16 x 16; a GPU takes tiles as wide as high "
            "that part no 32 elements");
  EXPECT_EQ(refusal(x, recipes::te_2_20_nvfp4_16x16,
                    {.columns = 33, .largest = largest, .report = &report}),
            "quantize: 512 elements in rows of 33 are no whole blocks of 16 x 16, which "
            "te_2_20_nvfp4_16x16 needs");
  auto const codes = std::exchange(
      q.tensor.codes, {std::span<std::uint8_t>(static_cast<std::uint8_t*>(nullptr), 256), 512});
  EXPECT_EQ(refusal(x, recipes::te_2_20_nvfp4, {.largest = largest, .report = &report}),
            "quantize: codes is a null pointer");
  q.tensor.codes = codes;
  q.tensor.tensor_scale_at = &scale;
  lowp::quantize_options const stored{.report = &report, .largest_at = &largest};
  auto const refusal_far = [&](void const* address) {
    grid.out_of_reach = address;
    grid.refused = "";
    std::string const why = refusal(x, recipes::te_2_20_nvfp4, stored);
    return why + grid.refused;
  };
  EXPECT_EQ(refusal_far(&scale), "quantize: tensor_scale_at is far away");
  EXPECT_EQ(refusal_far(&report), "quantize: report is far away");
  EXPECT_EQ(refusal_far(&largest), "an argument in device memory is far away");
  grid.out_of_reach = &report;
  EXPECT_NE(refusal(x, recipes::te_2_20_nvfp4, {.largest = largest, .report = &report}), "");
  EXPECT_EQ(q.tensor.tensor_scale, 1);
  std::vector<float> out(x.size());
  grid.out_of_reach = &scale;
  EXPECT_EQ(refusal_of<lowp::detail::dequantize_operation>(executor, q.tensor, out),
            "dequantize: tensor_scale_at is far away");
  EXPECT_EQ(grid.launches, 0);
}

TEST(quantization_report, counts) {
  std::vector<float> x = normal_numbers(1024);
  for (std::size_t i = 16; i < 32; ++i) x[i] = 0;
  for (std::size_t i = 32; i < 48; ++i) x[i] = 1e-7f;
  for (std::size_t i = 48; i < 64; ++i) x[i] = 0.99f;  // has the largest scale, and needs no more
  x[70] = INFINITY;
  made<float4_e2m1fn, 16, float8_e4m3fn> q(x.size());
  lowp::quantization_report report;
  lowp::amax const largest{std::bit_cast<std::uint32_t>(1.0f)};  // smaller than the largest
  lowp::quantize(x, q.tensor, recipes::te_2_20_nvfp4, lowp::nearest_even{},
                 {.largest = largest, .report = &report});
  lowp::quantization_report want;
  for (std::size_t b = 0; b < 64; ++b) {
    double most = 0;
    for (std::size_t i = 16 * b; i < 16 * b + 16; ++i)
      most = std::max(most, std::fabs(double{x[i]}));
    double const reach = double(float(q.scales[b])) * 6 * double(q.tensor.tensor_scale);
    want.zero_blocks += most == 0 ? 1 : 0;
    want.nonfinite_blocks += std::isinf(most) ? 1 : 0;
    want.underflowed_scales += most != 0 && q.scales[b].bits() == 0 ? 1 : 0;
    bool const is_at_most = q.scales[b].bits() == 0x7e && !std::isinf(most);
    want.saturated_scales += is_at_most && most > reach * (1 + 1e-6) ? 1 : 0;
    for (std::size_t i = 16 * b; i < 16 * b + 16; ++i)
      want.clipped += !std::isinf(x[i]) && std::fabs(double{x[i]}) > reach * (1 + 1e-6) ? 1 : 0;
  }
  EXPECT_EQ(report, want);
  EXPECT_EQ(q.scales[3].bits(), 0x7e);
  EXPECT_GT(want.clipped, 50U);
  EXPECT_GT(want.saturated_scales, 20U);
  EXPECT_EQ(want.underflowed_scales, 1U);
  EXPECT_EQ(want.zero_blocks, 1U);
}

template <class T, int Block, class Scale>
concept may_be_quantized = requires(std::vector<float> x, lowp::quantized<T, Block, Scale> q,
                                    lowp::quantization_recipe<T, Block, Scale> recipe) {
  lowp::quantize(x, q, recipe);
  lowp::dequantize(q, x);
};
static_assert(may_be_quantized<float8_e4m3fn, 64, float>);
static_assert(!may_be_quantized<float8_e4m3fn, 48, float>);
static_assert(!may_be_quantized<float8_e4m3fn, 8, float8_e4m3fn>);
static_assert(!may_be_quantized<float8_e4m3fn, 32, lowp::bfloat16>);
static_assert(!may_be_quantized<float8_e8m0fnu, 32, float8_e8m0fnu>);
static_assert(!may_be_quantized<std::int8_t, 32, float8_e8m0fnu>);

TEST(quantize, refuses_by_name_and_size) {
  std::vector<float> x(64);
  made<float4_e2m1fn, 16, float8_e4m3fn> q(48), few(64);
  few.tensor.scales = few.tensor.scales.first(3);
  EXPECT_EQ(refusal_of([&] { lowp::quantize(x, q.tensor, recipes::te_2_20_nvfp4); }),
            "lowp::quantize: sizes differ: in has 64, codes has 48");
  EXPECT_EQ(refusal_of([&] { lowp::quantize(x, few.tensor, recipes::te_2_20_nvfp4); }),
            "lowp::quantize: 64 elements in blocks of 16 need 4 scales, not 3");
  EXPECT_EQ(refusal_of([&] { lowp::quantize(x, few.tensor, recipes::te_2_20_nvfp4_16x16); }),
            "lowp::quantize: 64 elements in rows of 0 are no whole blocks of 16 x 16, which "
            "te_2_20_nvfp4_16x16 needs");
  made<float4_e2m1fn, 16, float8_e4m3fn> all(256);
  for (std::size_t const columns : {std::size_t{1} << 60, (std::size_t{1} << 60) + 16})
    EXPECT_EQ(refusal_of([&] {
                lowp::quantize(std::vector<float>(256), all.tensor, recipes::te_2_20_nvfp4_16x16,
                               lowp::nearest_even{}, {.columns = columns});
              }),
              "lowp::quantize: 256 elements in rows of " + std::to_string(columns) +
                  " are no whole blocks of 16 x 16, which te_2_20_nvfp4_16x16 needs");
  lowp::nvfp4_recipe high = recipes::te_2_20_nvfp4_16x16_4over6_mae_448;
  high.rows = 32;
  EXPECT_EQ(
      refusal_of([&] {
        lowp::quantize(std::vector<float>(256), all.tensor, high, lowp::nearest_even{},
                       {.columns = 16});
      }),
      "lowp::quantize: te_2_20_nvfp4_16x16_4over6_mae_448 chooses a scale for 32 rows, not for "
      "1 or 16");
  EXPECT_EQ(refusal_of([&] { lowp::dequantize(few.tensor, x); }),
            "lowp::dequantize: 64 elements in blocks of 16 need 4 scales, not 3");
  auto none = recipes::te_2_20_mxfp4;
  none.choice = lowp::four_over_six::squares;
  made<float4_e2m1fn, 32, float8_e8m0fnu> mx(64);
  EXPECT_EQ(refusal_of([&] { lowp::quantize(x, mx.tensor, none); }),
            "lowp::quantize: te_2_20_mxfp4 chooses between scales that are not by block_rule::te");
}

// The code of the value nearest to x >= 0 in a table of ascending values, ties to even codes.
std::uint8_t nearest_code(std::vector<double> const& values, double x) {
  std::size_t best = 0;
  for (std::size_t c = 1; c < values.size(); ++c) {
    double const d = std::fabs(values[c] - x), least = std::fabs(values[best] - x);
    if (d < least || (d == least && c % 2 == 0)) best = c;
  }
  return static_cast<std::uint8_t>(best);
}
// Takes every scale and every tie of two scales with its neighbours, and elements on ties of codes.
TEST(nvfp4_ue5m3, has_the_nearest_scales_and_codes) {
  std::vector<double> scales{0}, magnitudes{0, .5, 1, 1.5, 2, 3, 4, 6};
  for (int code = 1; code < 0xff; ++code)
    scales.push_back(std::ldexp(code < 8 ? code : 8 + code % 8, std::max(code / 8, 1) - 18));
  float const infinite = std::numeric_limits<float>::infinity();
  std::vector<float> amaxes{0, infinite, 3e38f, 1e-30f, 0x1p-149f};
  for (std::size_t c = 1; c < scales.size(); ++c)
    for (double const s : {scales[c], (scales[c] + scales[c - 1]) / 2}) {
      auto const amax = static_cast<float>(6 * s);
      for (float const next : {0.0f, infinite}) amaxes.push_back(std::nextafter(amax, next));
      amaxes.push_back(amax);
    }
  std::vector<float> x(16 * amaxes.size() + 16, 1);
  for (std::size_t b = 0; b < amaxes.size(); ++b) {
    x[16 * b] = amaxes[b];
    for (int i = 1; i < 16; ++i)
      x[16 * b + static_cast<std::size_t>(i)] =
          amaxes[b] * static_cast<float>(i % 2 == 0 ? i : -i) / 24;
  }
  x[16 * amaxes.size() + 5] = std::nanf("");
  made<float4_e2m1fn, 16, lowp::float8_ue5m3> q(x.size());
  lowp::quantization_report counts;
  lowp::quantize(x, q.tensor, recipes::nvfp4_ue5m3_sixth, lowp::nearest_even{},
                 {.report = &counts});
  EXPECT_EQ(q.tensor.tensor_scale, 1);
  EXPECT_EQ(q.scales.back().bits(), 0xff);
  for (std::size_t b = 0; b < amaxes.size(); ++b) {
    auto const code = std::max<std::uint8_t>(nearest_code(scales, double{amaxes[b] / 6}), 1);
    ASSERT_EQ(q.scales[b].bits(), std::isinf(amaxes[b]) ? 0xfe : code) << amaxes[b];
    for (std::size_t i = 16 * b; i < 16 * b + 16; ++i) {
      float const scaled = x[i] / static_cast<float>(scales[q.scales[b].bits()]);
      double const size = std::min(std::fabs(double{scaled}), 6.0);
      ASSERT_EQ(float4_e2m1fn(q.tensor.codes[i]).bits(),
                nearest_code(magnitudes, size) | (std::signbit(x[i]) ? 8 : 0))
          << x[i] << ' ' << amaxes[b];
    }
  }
  expect_on_a_grid(32, x, q, recipes::nvfp4_ue5m3_sixth, lowp::nearest_even{},
                   {.largest = lowp::measure(x).largest}, counts);
}
static_assert(
    std::is_same_v<decltype(lowp::nvfp4_ue5m3::scales)::element_type, lowp::float8_ue5m3>);

// Takes every scale, every two neighbouring codes and every j. The scaled element is exactly
// low + j / 65536 * step: nothing is rounded before the draw.
TEST(nvfp4_unbiased, scales_exactly) {
  for (unsigned scale = 1; scale <= 0x7e; ++scale)
    for (unsigned low = 0; low < 7; ++low) {
      float const from = float(float4_e2m1fn::from_bits(static_cast<std::uint8_t>(low)));
      float const to = float(float4_e2m1fn::from_bits(static_cast<std::uint8_t>(low + 1)));
      float const s = float(float8_e4m3fn::from_bits(static_cast<std::uint8_t>(scale)));
      std::uint32_t differ = 0;
      for (int j = 0; j < 65536; ++j) {
        float const y = from + (to - from) * (static_cast<float>(j) / 65536);
        differ += lowp::lanes::div(y * s, s) == y ? 0 : 1;
      }
      ASSERT_EQ(differ, 0U) << scale << ' ' << low;
    }
}
// Counts draws: of all 65536, j give the larger code. The mean is the element, in integers.
TEST(nvfp4_unbiased, has_a_mean_error_of_zero) {
  using F = float;
  auto const results = lowp::detail::special_results_of<float4_e2m1fn::descriptor, std::uint32_t>(
      lowp::stochastic{0}, lowp::overflow::saturate);
  for (unsigned sign : {0U, 8U})
    for (unsigned low = 0; low < 7; ++low) {
      float const from = float(float4_e2m1fn::from_bits(static_cast<std::uint8_t>(low)));
      float const to = float(float4_e2m1fn::from_bits(static_cast<std::uint8_t>(low + 1)));
      for (std::uint32_t j = 0; j < 65536; j += 6553) {
        float const y = from + (to - from) * (static_cast<float>(j) / 65536);
        std::uint32_t ups = 0;
        for (std::uint32_t r = 0; r < 65536; ++r) {
          std::uint32_t const code =
              lowp::detail::code_by<float4_e2m1fn>(recipes::nvfp4_unbiased, F(sign == 0 ? y : -y),
                                                   F(1), r, lowp::stochastic{0}, results)
                  .code;
          ASSERT_TRUE(code == (low | sign) || code == ((low + 1) | sign));
          ups += code == ((low + 1) | sign) ? 1 : 0;
        }
        ASSERT_EQ(ups, j) << low;
      }
    }
}
// The scale is never too small, and the smallest that is not.
TEST(nvfp4_unbiased, clips_nothing) {
  std::vector<float> x = normal_numbers(1 << 16);
  made<float4_e2m1fn, 16, float8_e4m3fn> q(x.size());
  lowp::quantization_report report, of_te;
  lowp::quantize(x, q.tensor, recipes::nvfp4_unbiased, lowp::nearest_even{}, {.report = &report});
  EXPECT_EQ(report.clipped, 0U);
  for (std::size_t b = 0; b < q.scales.size(); ++b) {
    double most = 0;
    for (std::size_t i = 16 * b; i < 16 * b + 16; ++i)
      most = std::max(most, std::fabs(double{x[i]}));
    auto const code = static_cast<std::uint8_t>(q.scales[b].bits());
    double const below = float(float8_e4m3fn::from_bits(static_cast<std::uint8_t>(code - 1)));
    ASSERT_GT(most * (1 + 1e-6), 6 * below * double(q.tensor.tensor_scale));
  }
  lowp::quantize(x, q.tensor, recipes::te_2_20_nvfp4, lowp::nearest_even{}, {.report = &of_te});
  EXPECT_GT(of_te.clipped, x.size() / 16 * 45 / 100);  // of half of all blocks the largest
  std::vector<float> back(x.size());
  lowp::dequantize(q.tensor, back);
  double shortfall = 0, worst = 0;
  for (std::size_t b = 0; b < q.scales.size(); ++b) {
    double most = 0;
    for (std::size_t i = 16 * b; i < 16 * b + 16; ++i)
      most = std::max(most, std::fabs(double{x[i]}));
    double const reach = double(float(q.scales[b])) * 6 * double(q.tensor.tensor_scale);
    double const lost = std::max(0.0, 1 - reach / most);
    shortfall += lost;
    worst = std::max(worst, lost);
  }
  shortfall /= static_cast<double>(q.scales.size());
  RecordProperty("mean_shortfall", std::to_string(shortfall));
  RecordProperty("worst_shortfall", std::to_string(worst));
  EXPECT_NEAR(shortfall, 0.0115, 0.0005);
  EXPECT_NEAR(worst, 0.0588, 0.0005);
}

}  // namespace
