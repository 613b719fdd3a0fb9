// SPDX-License-Identifier: Apache-2.0
// On a GPU: storages, moments in blocks and halves have the bits of the processor. Without a GPU
// every test here is skipped; the same kernel's text runs in storage_test.cpp.
#include <gtest/gtest.h>
#include <lowp/cuda/lowp.cuh>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <type_traits>
#include <vector>

#include "device_memory.hpp"
#include "support/support.hpp"

namespace {

using namespace lowp_test;

using device_storage = on_a_gpu;

std::vector<float> normal(std::size_t size, unsigned seed, float scale) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution(0, scale);
  std::vector<float> x(size);
  for (float& each : x) each = distribution(random);
  return x;
}

constexpr std::size_t sizes[] = {1, 7, 129, 2048, 100003};
constexpr lowp::adamw settings{.lr = 1e-4};
constexpr lowp::stochastic random_bits{.seed = 1, .stream = 2, .offset = 3};

// `view(first, second)` of two arrays, there and here, after the same steps with the same report.
template <class First, class Second, class View, class Rounding>
void expect_same_steps(std::vector<First> const& first, std::vector<Second> const& second,
                       View const& view, Rounding const& rounding) {
  std::vector<First> a = first;
  std::vector<Second> b = second;
  std::size_t const size = first.size();
  std::vector<float> m(size);
  std::vector<float> v(size);
  device_range<First> const there_a(a, size % 3);
  device_range<Second> const there_b(b, size % 3);
  device_range<float> const there_m(m);
  device_range<float> const there_v(v);
  device_object<lowp::update_report> const report;
  lowp::update_report expected;
  for (std::uint64_t step = 1; step <= 3; ++step) {
    std::vector<float> const g = normal(size, static_cast<unsigned>(step), 1);
    device_range<float> const there_g(g);
    lowp::update(view(std::span(a), std::span(b)), g, m, v, settings, step, rounding, expected);
    lowp::cuda::update(
        nullptr,
        view(std::span<First>(there_a.data(), size), std::span<Second>(there_b.data(), size)),
        there_g, there_m, there_v, settings, step, rounding, report.data());
  }
  EXPECT_TRUE(same_bits(there_a.read(), a));
  EXPECT_TRUE(same_bits(there_b.read(), b));
  EXPECT_TRUE(same_bits(there_m.read(), m));
  EXPECT_TRUE(same_bits(there_v.read(), v));
  lowp::update_report const got = report.get();
  EXPECT_EQ(got.count, expected.count);
  EXPECT_EQ(got.stalled, expected.stalled);
  EXPECT_EQ(got.overflowed, expected.overflowed);
  EXPECT_EQ(got.nonfinite, expected.nonfinite);
  EXPECT_NEAR(got.applied_ratio(), expected.applied_ratio(), 1e-6);
}

template <class T>
std::vector<T> converted(std::vector<float> const& x) {
  std::vector<T> y(x.size());
  lowp::cast(x, y);
  return y;
}

TEST_F(device_storage, kahan) {
  for (std::size_t const size : sizes)
    expect_same_steps(
        converted<lowp::bfloat16>(normal(size, 9, 1)), std::vector<lowp::bfloat16>(size),
        [](auto p, auto c) { return lowp::kahan{p, c}; }, random_bits);
}
TEST_F(device_storage, master) {
  for (std::size_t const size : sizes)
    expect_same_steps(
        normal(size, 9, 1), std::vector<lowp::bfloat16>(size),
        [](auto w, auto c) { return lowp::master{w, c}; }, lowp::nearest_even{});
}
template <class H, class L>
void expect_same_split(std::vector<float> const& x) {
  std::vector<H> high(x.size());
  std::vector<L> low(x.size());
  lowp::split(x, high, low);
  expect_same_steps(
      high, low, [](auto h, auto l) { return lowp::split_master{h, l}; }, random_bits);
}
TEST_F(device_storage, split_master) {
  for (std::size_t const size : sizes) {
    expect_same_split<lowp::bfloat16, std::uint16_t>(normal(size, 9, 1));
    expect_same_split<lowp::bfloat16, std::uint8_t>(normal(size, 9, 1));
    expect_same_split<lowp::float16, std::uint16_t>(normal(size, 9, 1));
  }
}
TEST_F(device_storage, scaled) {
  for (std::size_t const size : sizes)
    expect_same_steps(
        converted<lowp::float16>(normal(size, 9, 1)), std::vector<float>(size),
        [](auto p, auto) { return lowp::scaled{p, 4.0f, 8.0f}; }, random_bits);
}

TEST_F(device_storage, average_of_weights) {
  for (std::size_t const size : sizes) {
    std::vector<float> const weights = normal(size, 5, 1);
    std::vector<lowp::bfloat16> average = converted<lowp::bfloat16>(normal(size, 9, 1));
    device_range<float> const there_weights(weights);
    device_range<lowp::bfloat16> const there(average, size % 3);
    lowp::update_report expected;
    device_object<lowp::update_report> const report;
    for (std::uint64_t step = 1; step <= 3; ++step) {
      lowp::update(average, weights, lowp::ema{}, step, random_bits, expected);
      lowp::cuda::update(nullptr, there, there_weights, lowp::ema{}, step, random_bits,
                         report.data());
    }
    EXPECT_TRUE(same_bits(there.read(), average));
    EXPECT_EQ(report.get().stalled, expected.stalled);
    EXPECT_NEAR(report.get().applied_ratio(), expected.applied_ratio(), 1e-6);
  }
}

TEST_F(device_storage, moments_in_blocks) {
  for (std::size_t const size : sizes) {
    std::size_t const blocks = (size + 127) / 128, of_256 = (size + 255) / 256;
    std::vector<lowp::bfloat16> p = converted<lowp::bfloat16>(normal(size, 9, 1));
    std::vector<lowp::float8_e4m3fn> m(size, lowp::float8_e4m3fn(0));
    std::vector<std::uint8_t> v(size);
    std::vector<lowp::float8_e8m0fnu> ms(blocks, lowp::float8_e8m0fnu(1));
    std::vector<float> vs(of_256);
    device_range<lowp::bfloat16> const there_p(p);
    device_range<lowp::float8_e4m3fn> const there_m(m);
    device_range<std::uint8_t> const there_v(v);
    device_range<lowp::float8_e8m0fnu> const there_ms(ms);
    device_range<float> const there_vs(vs);
    for (std::uint64_t step = 1; step <= 3; ++step) {
      std::vector<float> const g = normal(size, static_cast<unsigned>(step), 1);
      device_range<float> const there_g(g);
      lowp::update(p, g, lowp::blocks_of<128>(m, ms), lowp::unsigned_dynamic_blocks{v, vs},
                   settings, step, random_bits);
      lowp::cuda::update(
          nullptr, there_p, there_g,
          lowp::blocks_of<128>(std::span(there_m.data(), size), std::span(there_ms.data(), blocks)),
          lowp::unsigned_dynamic_blocks{{there_v.data(), size}, {there_vs.data(), of_256}},
          settings, step, random_bits);
    }
    EXPECT_TRUE(same_bits(there_p.read(), p));
    EXPECT_TRUE(same_bits(there_m.read(), m));
    EXPECT_TRUE(same_bits(there_v.read(), v));
    EXPECT_TRUE(same_bits(there_ms.read(), ms));
    EXPECT_TRUE(same_bits(there_vs.read(), vs));
  }
}

TEST_F(device_storage, states_of_flashoptim) {
  for (std::size_t const size : sizes) {
    std::size_t const blocks = (size + 31) / 32;
    std::vector<lowp::bfloat16> p = converted<lowp::bfloat16>(normal(size, 9, 1));
    std::vector<std::int8_t> error(size), m(size);
    std::vector<std::uint8_t> v(size);
    std::vector<lowp::float16> ms(blocks), vs(blocks);
    device_range<lowp::bfloat16> const there_p(p);
    device_range<std::int8_t> const there_error(error), there_m(m);
    device_range<std::uint8_t> const there_v(v);
    device_range<lowp::float16> const there_ms(ms), there_vs(vs);
    for (std::uint64_t step = 1; step <= 3; ++step) {
      std::vector<float> const g = normal(size, static_cast<unsigned>(step), 1);
      device_range<float> const there_g(g);
      lowp::update(lowp::corrected_master{p, error}, g, lowp::signed_companded_blocks{m, ms},
                   lowp::unsigned_companded_blocks{v, vs}, settings, step, random_bits);
      lowp::cuda::update(
          nullptr,
          lowp::corrected_master{std::span(there_p.data(), size),
                                 std::span(there_error.data(), size)},
          there_g, lowp::signed_companded_blocks{{there_m.data(), size}, {there_ms.data(), blocks}},
          lowp::unsigned_companded_blocks{{there_v.data(), size}, {there_vs.data(), blocks}},
          settings, step, random_bits);
    }
    EXPECT_TRUE(same_bits(there_p.read(), p));
    EXPECT_TRUE(same_bits(there_error.read(), error));
    EXPECT_TRUE(same_bits(there_m.read(), m));
    EXPECT_TRUE(same_bits(there_v.read(), v));
    EXPECT_TRUE(same_bits(there_ms.read(), ms));
    EXPECT_TRUE(same_bits(there_vs.read(), vs));
  }
}

// All high halves, with low halves around their borders.
TEST_F(device_storage, halves) {
  std::vector<float> x;
  for (std::uint32_t high = 0; high < 0x10000; ++high)
    for (std::uint32_t const low : {0U, 1U, 0x7fffU, 0x8000U, 0xffffU})
      x.push_back(float_of(high << 16 | low));
  std::vector<lowp::bfloat16> high(x.size());
  std::vector<std::uint16_t> low(x.size());
  std::vector<float> joined(x.size());
  device_range<float> const there(x);
  device_range<lowp::bfloat16> const there_high(high);
  device_range<std::uint16_t> const there_low(low);
  std::span const low_halves(there_low.data(), x.size());
  lowp::cuda::split(nullptr, there, there_high, low_halves);
  lowp::cuda::join(nullptr, there_high, low_halves, there);
  lowp::split(x, high, low);
  lowp::join(high, low, joined);
  EXPECT_TRUE(same_bits(there_high.read(), high));
  EXPECT_TRUE(same_bits(there_low.read(), low));
  EXPECT_TRUE(same_bits(there.read(), joined));
}

// Codes with their scales, and what is read back. A second time the kernel reads the largest
// magnitude, writes the tensor's scale and counts.
template <class T>
struct codes_of {
  using type = T;
  static std::span<T> of(T* data, std::size_t size) { return {data, size}; }
};
template <>
struct codes_of<lowp::float4_e2m1fn> {
  using type = lowp::packed<lowp::float4_e2m1fn>;
  static type of(lowp::float4_e2m1fn* data, std::size_t size) {
    return {lowp::cuda::view(reinterpret_cast<std::uint8_t*>(data), size / 2), size};
  }
};
template <class In, class Recipe, class Rounding>
void expect_same_blocks(In const& here, In const& there, std::size_t size, Recipe const& recipe,
                        Rounding const& rounding, lowp::quantize_options options) {
  using T = typename Recipe::element;
  using codes = codes_of<T>;
  constexpr bool is_packed = !std::is_same_v<typename codes::type, T>;
  using tensor = lowp::quantized<typename codes::type, Recipe::block, typename Recipe::scale>;
  std::vector<T> bytes(is_packed ? size / 2 : size);
  std::vector<typename Recipe::scale> scales(size / Recipe::block);
  std::vector<float> back(size);
  device_range<T> const there_bytes(bytes, size % 3);
  device_range<typename Recipe::scale> const there_scales(scales);
  device_range<float> const there_back(back);
  device_object<lowp::amax> const largest(*options.largest);
  device_object<lowp::quantization_report> const report;
  device_object<float> const scale;
  lowp::quantization_report counts;
  tensor q{codes::of(bytes.data(), size), scales};
  tensor there_q{codes::of(there_bytes.data(), size),
                 lowp::cuda::view(there_scales.data(), scales.size())};
  options.report = &counts;
  lowp::quantize(here, q, recipe, rounding, options);
  lowp::dequantize(q, back);
  for (bool const is_stored : {false, true}) {
    options.report = is_stored ? report.data() : nullptr;
    if (is_stored) {
      options.largest.reset();
      options.largest_at = largest.data();
      there_q.tensor_scale = 0;
      there_q.tensor_scale_at = scale.data();
    }
    lowp::cuda::quantize(nullptr, there, there_q, recipe, rounding, options);
    lowp::cuda::dequantize(nullptr, there_q, there_back);
    EXPECT_EQ(is_stored ? scale.get() : there_q.tensor_scale, q.tensor_scale);
    EXPECT_TRUE(same_bits(there_bytes.read(), bytes)) << recipe.name;
    EXPECT_TRUE(same_bits(there_scales.read(), scales)) << recipe.name;
    EXPECT_TRUE(same_bits(there_back.read(), back)) << recipe.name;
  }
  EXPECT_EQ(report.get(), counts) << recipe.name;
}
TEST_F(device_storage, recipes_of_blocks) {
  using lowp::bfloat16, lowp::float16;
  lowp::stochastic_fast const draws{.seed = 1, .stream = 2, .offset = 3};
  for (std::size_t const size : {32U, 4128U, 70016U}) {
    std::vector<float> const x = normal(size, 9, 1);
    std::vector<bfloat16> const narrow = converted<bfloat16>(x);
    device_range<float> const there_x(x);
    device_range<bfloat16> const there_narrow(narrow);
    std::span<float const> const there(there_x.data(), size);
    lowp::quantize_options const options{.largest = lowp::measure(x).largest};
    expect_same_blocks(std::span<float const>(x), there, size, lowp::recipes::nvfp4_unbiased, draws,
                       options);
    // Floored scales leave elements beyond the largest code.
    auto const& floored = lowp::recipes::torchao_0_18_floor<lowp::float4_e2m1fn>;
    expect_same_blocks(std::span<float const>(x), there, size, floored, draws, options);
    expect_same_blocks(std::span<float const>(x), there, size, floored, lowp::nearest_even{},
                       options);
    auto const& signs = lowp::te_2_20_signs;
    std::span<bfloat16 const> const of_bfloat16(there_narrow.data(), size);
    expect_same_blocks(lowp::rotated(narrow, signs), lowp::rotated(of_bfloat16, signs), size,
                       lowp::recipes::te_2_20_nvfp4, lowp::nearest_even{}, options);
    if (size % 128 == 0)
      expect_same_blocks(std::span<bfloat16 const>(narrow), of_bfloat16, size,
                         lowp::recipes::compressed_tensors_0_20_int8, lowp::nearest_even{},
                         options);
    // Threads share the scales of several blocks, and compare codes.
    expect_same_blocks(std::span<bfloat16 const>(narrow), of_bfloat16, size,
                       lowp::recipes::te_2_20_nvfp4, lowp::nearest_even{}, options);
    std::vector<float16> halves = converted<float16>(x);
    for (std::size_t i = 0; i < size; i += 97)  // subnormals, infinities, NaN
      halves[i] = float16::from_bits(static_cast<std::uint16_t>(i * 0x9e37));
    device_range<float16> const there_halves(halves);
    expect_same_blocks(std::span<float16 const>(halves),
                       std::span<float16 const>(there_halves.data(), size), size,
                       lowp::recipes::te_2_20_mxfp4, lowp::nearest_even{}, options);
    std::vector<float> turned(size);
    device_range<float> const there_turned(turned);
    lowp::hadamard_signs<32> const other{0x9e3779b9, 0x7f4a7c15};
    lowp::hadamard(x, turned, other);
    lowp::cuda::hadamard(nullptr, there, there_turned, other);
    EXPECT_TRUE(same_bits(there_turned.read(), turned));
  }
}
TEST_F(device_storage, recipes_of_tiles) {
  using namespace lowp::recipes;
  constexpr std::size_t rows = 256, columns = 384, size = rows * columns;
  std::vector<float> x = normal(size, 9, 1);
  for (std::size_t i = 0; i < 128; ++i) x[i] = i < 64 ? 0.0f : 1e-9f;
  x[2 * columns + 99] = std::numeric_limits<float>::infinity();
  std::vector<lowp::bfloat16> const narrow = converted<lowp::bfloat16>(x);
  device_range<float> const there_x(x);
  device_range<lowp::bfloat16> const there_narrow(narrow);
  lowp::quantize_options const options{.columns = columns, .largest = lowp::amax{0x40400000}};
  auto const& signs = lowp::te_2_20_signs;
  auto const turned = lowp::rotated(narrow, signs);
  auto const there_turned =
      lowp::rotated(std::span<lowp::bfloat16 const>(there_narrow.data(), size), signs);
  for (auto const& recipe :
       {te_2_20_nvfp4_16x16, te_2_20_nvfp4_4over6_mae_448, te_2_20_nvfp4_16x16_4over6_mse_256})
    expect_same_blocks(turned, there_turned, size, recipe, lowp::nearest_even{}, options);
  for (auto const& recipe : {te_2_20_nvfp4_16x16, te_2_20_nvfp4_16x16_4over6_mse_256})
    expect_same_blocks(std::span<lowp::bfloat16 const>(narrow),
                       std::span<lowp::bfloat16 const>(there_narrow.data(), size), size, recipe,
                       lowp::nearest_even{}, options);
  expect_same_blocks(std::span<float const>(x), std::span<float const>(there_x.data(), size), size,
                     torchao_0_18_float8_128x128, lowp::nearest_even{}, options);
  // A square of which a block's threads take a chunk or two each.
  lowp::quantization_recipe<lowp::float8_e4m3fn, 64, float> const of_64 = {
      .name = "64 x 64", .of_scale = {lowp::block_rule::reciprocal, 0}, .rows = 64};
  expect_same_blocks(std::span<lowp::bfloat16 const>(narrow),
                     std::span<lowp::bfloat16 const>(there_narrow.data(), size), size, of_64,
                     lowp::nearest_even{}, options);
}
TEST_F(device_storage, halves_of_bytes_sixteen_apart) {
  using split = lowp::packed<lowp::float4_e2m1fn, lowp::split_order>;
  for (std::size_t const size : {32U, 2080U, 70016U})
    for (std::size_t const lead : {0U, 1U}) {
      std::vector<float> const x = normal(size, 9, 2);
      std::vector<float> back(size);
      std::vector<std::uint8_t> bytes(size / 2);
      device_range<float> const there_x(x);
      device_range<float> const there_back(back);
      device_range<std::uint8_t> const there_bytes(bytes, lead);
      split const here(bytes, size);
      split const there(lowp::cuda::view(there_bytes.data(), size / 2), size);
      lowp::cast(x, here);
      lowp::cast(here, back);
      lowp::cuda::cast(nullptr, there_x, there);
      lowp::cuda::cast(nullptr, there, there_back);
      EXPECT_EQ(there_bytes.read(), bytes);
      EXPECT_TRUE(same_bits(there_back.read(), back));
    }
}

}  // namespace
