// SPDX-License-Identifier: Apache-2.0
// On a GPU: the bits of the processor, for every operation, format and kind of rounding. Without
// one every test here is skipped; the same kernel's text runs in kernel_test.cpp.
#include <gtest/gtest.h>
#include <lowp/cuda/lowp.cuh>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <memory>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "checksums.hpp"
#include "device_memory.hpp"
#include "device_training.hpp"
#include "support/parts.hpp"

namespace {

using namespace lowp_test;

template <class T>
class device : public on_a_gpu {};
TYPED_TEST_SUITE(device, formats_of_this_part, by_format);

// The operations of lowp:: over vectors, by a GPU: on the default stream, at a given alignment.
struct on_the_gpu {
  std::size_t lead = 0;

  template <class In, class Out, class... Rest>
  void cast(std::vector<In> const& in, std::vector<Out>& out, Rest const&... rest) const {
    device_range<In> const from(in, lead);
    device_range<Out> const to(out, lead);
    lowp::cuda::cast(nullptr, from, to, rest...);
    out = to.read();
  }
  template <class P, class U, class... Rest>
  void fused_add(std::vector<P>& p, float alpha, std::vector<U> const& u,
                 Rest const&... rest) const {
    device_range<P> const to(p, lead);
    device_range<U> const from(u, lead);
    lowp::cuda::fused_add(nullptr, to, alpha, from, rest...);
    p = to.read();
  }
  template <class P, class G, class M, class R>
  void update(std::vector<P>& p, std::vector<G> const& g, std::vector<M>& momentum,
              lowp::sgd const& optimizer, std::uint64_t step, R const& rounding) const {
    device_range<P> const to(p, lead);
    device_range<G> const gradient(g, lead);
    device_range<M> const buffer(momentum, lead);
    lowp::cuda::update(nullptr, to, gradient, buffer, optimizer, step, rounding);
    p = to.read();
    momentum = buffer.read();
  }
  template <class P, class G, class M, class V, class R>
  lowp::update_report update(std::vector<P>& p, std::vector<G> const& g, std::vector<M>& m,
                             std::vector<V>& v, lowp::adamw const& optimizer, std::uint64_t step,
                             R const& rounding) const {
    device_range<P> const to(p, lead);
    device_range<G> const gradient(g, lead);
    device_range<M> const first(m, lead);
    device_range<V> const second(v, lead);
    device_object<lowp::update_report> const report;
    lowp::cuda::update(nullptr, to, gradient, first, second, optimizer, step, rounding,
                       report.data());
    p = to.read();
    m = first.read();
    v = second.read();
    return report.get();
  }
};

TYPED_TEST(device, has_the_checksums_of_the_processor) {
  on_the_gpu backend;
  auto const found = checksums_of<TypeParam>(backend);
  for (auto const& [name, crc] : found)
    std::cout << name << ' ' << std::hex << crc << std::dec << '\n';
  expect_known(found);
}

// Every float whose low half is one of these, in every lane: its subnormals and NaN too.
TYPED_TEST(device, casts_in_every_lane) {
  using T = TypeParam;
  std::vector<float> x;
  for (std::uint32_t high = 0; high < 0x10000; ++high)
    for (std::uint32_t const low :
         {0U, 1U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU, high * 40503U % 0x10000U})
      x.push_back(float_of(high << 16 | low));  // seven, so that each comes to every lane
  for (lowp::overflow const policy : {lowp::overflow::infinity, lowp::overflow::saturate}) {
    std::vector<T> want(x.size());
    std::vector<T> got(x.size());
    lowp::cast(x, want, lowp::nearest_even{}, policy);
    on_the_gpu{}.cast(x, got, lowp::nearest_even{}, policy);
    EXPECT_TRUE(same_bits(got, want));
  }
  std::vector<T> codes;
  for (std::uint32_t lane = 0; lane < 8; ++lane)
    for (std::uint32_t code = 0; code < code_count<T> + 1; ++code)
      codes.push_back(of_code<T>(code % code_count<T>));
  std::vector<float> want(codes.size());
  std::vector<float> got(codes.size());
  lowp::cast(codes, want);
  on_the_gpu{}.cast(codes, got);
  EXPECT_TRUE(same_bits(got, want));
}

// Lengths around a group and a tile, at alignments that ask for each width of access.
TYPED_TEST(device, tails_and_misaligned_ranges) {
  using T = TypeParam;
  lowp::stochastic const rounding{.seed = 1, .stream = 2, .offset = 5};
  auto const all = fixed_inputs<float>(1);
  std::vector<float> many;
  while (many.size() < 10000) many.insert(many.end(), all.begin(), all.end());
  for (std::size_t const size : {1U, 7U, 8U, 9U, 2047U, 2048U, 2049U, 4095U, 8191U, 8193U}) {
    for (std::size_t const lead : {0U, 1U, 2U, 4U, 8U}) {
      std::vector<float> const x(many.begin(), many.begin() + static_cast<std::ptrdiff_t>(size));
      std::vector<T> want(size, of_code<T>(1));
      std::vector<T> got = want;
      lowp::fused_add(want, 0.5f, x, rounding);
      on_the_gpu{lead}.fused_add(got, 0.5f, x, rounding);
      ASSERT_TRUE(same_bits(got, want)) << size << " elements, lead " << lead;
    }
  }
}

TYPED_TEST(device, scaled_cast_and_amax) {
  using T = TypeParam;
  std::vector<lowp::bfloat16> x = fixed_inputs<lowp::bfloat16>(1);
  for (bool const has_nan : {true, false}) {
    if (!has_nan)
      for (lowp::bfloat16& each : x)
        if (isnan(each)) each = lowp::bfloat16(-2.0f);
    std::vector<T> want(x.size());
    lowp::amax largest;
    lowp::scaled_cast(x, want, 1.7f, largest);
    device_range<lowp::bfloat16> const from(x, 1);
    device_range<T> const to(want, 1);
    device_object<lowp::amax> const seen;
    lowp::cuda::scaled_cast(nullptr, from, to, 1.7f, seen.data());
    EXPECT_TRUE(same_bits(to.read(), want));
    EXPECT_EQ(seen.get().bits, largest.bits);
  }
}

#if PART == 1

using gpu = on_a_gpu;

TEST_F(gpu, converts_all_floats_to_bfloat16_and_back) {
  constexpr std::size_t chunk = std::size_t{1} << 26;
  std::vector<float> x(chunk);
  std::vector<lowp::bfloat16> want(chunk);
  std::vector<lowp::bfloat16> got(chunk);
  for (std::uint64_t first = 0; first < std::uint64_t{1} << 32; first += chunk) {
    for (std::size_t i = 0; i < chunk; ++i) x[i] = float_of(static_cast<std::uint32_t>(first + i));
    lowp::cast(x, want);
    on_the_gpu{}.cast(x, got);
    ASSERT_TRUE(same_bits(got, want)) << first;
  }
}

TEST_F(gpu, indices_beyond_31_bits) {
  constexpr std::size_t size = (std::size_t{1} << 31) + 5;
  std::vector<lowp::float8_e5m2> x(size);
  for (std::size_t i = 0; i < size; ++i)
    x[i] = of_code<lowp::float8_e5m2>(static_cast<std::uint32_t>(i * 40503 >> 7 & 0xff));
  std::vector<lowp::float8_e4m3fn> want(size);
  std::vector<lowp::float8_e4m3fn> got(size);
  lowp::stochastic const rounding{.seed = 3};
  lowp::cast(x, want, rounding);
  on_the_gpu{}.cast(x, got, rounding);
  EXPECT_TRUE(same_bits(got, want));
}

TEST_F(gpu, reports_on_more_tiles_than_blocks) {
  trained want(10'000'001);
  trained_on_device const got(want);
  lowp::update_report expected;
  want.step(1, lowp::stochastic{4}, expected);
  std::array<lowp::update_report, 2> seen;
  for (lowp::update_report& report : seen) {
    trained_on_device const again(trained(10'000'001));
    device_object<lowp::update_report> const on_device;
    lowp::cuda::update(nullptr, again.p, again.g, again.m, again.v, lowp::adamw{}, 1,
                       lowp::stochastic{4}, on_device.data());
    EXPECT_TRUE(again.equals(want));
    report = on_device.get();
    expect_same(report, expected);
  }
  EXPECT_EQ(std::memcmp(&seen[0], &seen[1], sizeof seen[0]), 0);
}

#endif

}  // namespace
