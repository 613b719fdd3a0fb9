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
#include "support/parts.hpp"

namespace {

using namespace lowp_test;

class on_a_gpu : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_gpu()) GTEST_SKIP() << "SKIPPED: there is no GPU";
  }
};
template <class T>
class device : public on_a_gpu {};
TYPED_TEST_SUITE(device, formats_of_this_part, by_format);

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

// The operations of lowp:: over vectors, by a GPU: on the default stream, at a given alignment.
struct on_the_gpu {
  std::size_t lead = 0;

  template <class In, class Out, class... Rest>
  void cast(const std::vector<In>& in, std::vector<Out>& out, const Rest&... rest) const {
    const device_range<In> from(in, lead);
    const device_range<Out> to(out, lead);
    lowp::cuda::cast(nullptr, from, to, rest...);
    out = to.read();
  }
  template <class P, class U, class... Rest>
  void fused_add(std::vector<P>& p, float alpha, const std::vector<U>& u,
                 const Rest&... rest) const {
    const device_range<P> to(p, lead);
    const device_range<U> from(u, lead);
    lowp::cuda::fused_add(nullptr, to, alpha, from, rest...);
    p = to.read();
  }
  template <class P, class G, class M, class R>
  void update(std::vector<P>& p, const std::vector<G>& g, std::vector<M>& momentum,
              const lowp::sgd& optimizer, std::uint64_t step, const R& rounding) const {
    const device_range<P> to(p, lead);
    const device_range<G> gradient(g, lead);
    const device_range<M> buffer(momentum, lead);
    lowp::cuda::update(nullptr, to, gradient, buffer, optimizer, step, rounding);
    p = to.read();
    momentum = buffer.read();
  }
  template <class P, class G, class M, class V, class R>
  lowp::update_report update(std::vector<P>& p, const std::vector<G>& g, std::vector<M>& m,
                             std::vector<V>& v, const lowp::adamw& optimizer, std::uint64_t step,
                             const R& rounding) const {
    const device_range<P> to(p, lead);
    const device_range<G> gradient(g, lead);
    const device_range<M> first(m, lead);
    const device_range<V> second(v, lead);
    const device_object<lowp::update_report> report;
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
  const auto found = checksums_of<TypeParam>(backend);
  for (const auto& [name, crc] : found)
    std::cout << name << ' ' << std::hex << crc << std::dec << '\n';
  expect_known(found);
}

// Every float whose low half is one of these, in every lane: its subnormals and NaN too.
TYPED_TEST(device, casts_in_every_lane) {
  using T = TypeParam;
  std::vector<float> x;
  for (std::uint32_t high = 0; high < 0x10000; ++high)
    for (const std::uint32_t low :
         {0U, 1U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU, high * 40503U % 0x10000U})
      x.push_back(float_of(high << 16 | low));  // seven, so that each comes to every lane
  for (const lowp::overflow policy : {lowp::overflow::infinity, lowp::overflow::saturate}) {
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
  const lowp::stochastic rounding{.seed = 1, .stream = 2, .offset = 5};
  const auto all = fixed_inputs<float>(1);
  std::vector<float> many;
  while (many.size() < 10000) many.insert(many.end(), all.begin(), all.end());
  for (const std::size_t size : {1U, 7U, 8U, 9U, 2047U, 2048U, 2049U, 4095U, 8191U, 8193U}) {
    for (const std::size_t lead : {0U, 1U, 2U, 4U, 8U}) {
      const std::vector<float> x(many.begin(), many.begin() + static_cast<std::ptrdiff_t>(size));
      std::vector<T> want(size, of_code<T>(1));
      std::vector<T> got = want;
      lowp::fused_add(want, 0.5F, x, rounding);
      on_the_gpu{lead}.fused_add(got, 0.5F, x, rounding);
      ASSERT_TRUE(same_bits(got, want)) << size << " elements, lead " << lead;
    }
  }
}

TYPED_TEST(device, scaled_cast_and_amax) {
  using T = TypeParam;
  std::vector<lowp::bfloat16> x = fixed_inputs<lowp::bfloat16>(1);
  for (const bool has_nan : {true, false}) {
    if (!has_nan)
      for (lowp::bfloat16& each : x)
        if (isnan(each)) each = lowp::bfloat16(-2.0F);
    std::vector<T> want(x.size());
    lowp::amax largest;
    lowp::scaled_cast(x, want, 1.7F, largest);
    const device_range<lowp::bfloat16> from(x, 1);
    const device_range<T> to(want, 1);
    const device_object<lowp::amax> seen;
    lowp::cuda::scaled_cast(nullptr, from, to, 1.7F, seen.data());
    EXPECT_TRUE(same_bits(to.read(), want));
    EXPECT_EQ(seen.get().bits, largest.bits);
  }
}

#if PART == 0

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
  const lowp::stochastic rounding{.seed = 3};
  lowp::cast(x, want, rounding);
  on_the_gpu{}.cast(x, got, rounding);
  EXPECT_TRUE(same_bits(got, want));
}

struct trained {
  explicit trained(std::size_t size) : p(size), g(size), m(size), v(size) {
    std::mt19937_64 random(size);
    std::normal_distribution<float> normal;
    for (lowp::bfloat16& x : p) x = lowp::bfloat16(normal(random));
    for (lowp::bfloat16& x : g) x = lowp::bfloat16(normal(random) * 1e-2F);
  }
  void step(std::uint64_t number, const lowp::stochastic& rounding, lowp::update_report& report) {
    lowp::update(p, g, m, v, lowp::adamw{}, number, rounding, report);
  }
  std::vector<lowp::bfloat16> p, g;
  std::vector<float> m, v;
};
struct trained_on_device {
  explicit trained_on_device(const trained& from, std::size_t lead = 0)
      : p(from.p, lead), g(from.g, lead), m(from.m, lead), v(from.v, lead) {}
  [[nodiscard]] bool equals(const trained& other) const {
    return same_bits(p.read(), other.p) && same_bits(m.read(), other.m) &&
           same_bits(v.read(), other.v);
  }
  device_range<lowp::bfloat16> p, g;
  device_range<float> m, v;
};

void expect_same(const lowp::update_report& got, const lowp::update_report& want) {
  EXPECT_EQ(got.count, want.count);
  EXPECT_EQ(got.stalled, want.stalled);
  EXPECT_EQ(got.overflowed, want.overflowed);
  EXPECT_EQ(got.nonfinite, want.nonfinite);
  EXPECT_NEAR(got.applied.value(), want.applied.value(), 1e-12 * want.requested.value());
  EXPECT_NEAR(got.requested.value(), want.requested.value(), 1e-12 * want.requested.value());
}

TEST_F(gpu, reports_on_more_tiles_than_blocks) {
  trained want(10'000'001);
  const trained_on_device got(want);
  lowp::update_report expected;
  want.step(1, lowp::stochastic{4}, expected);
  std::array<lowp::update_report, 2> seen;
  for (lowp::update_report& report : seen) {
    const trained_on_device again(trained(10'000'001));
    const device_object<lowp::update_report> on_device;
    lowp::cuda::update(nullptr, again.p, again.g, again.m, again.v, lowp::adamw{}, 1,
                       lowp::stochastic{4}, on_device.data());
    EXPECT_TRUE(again.equals(want));
    report = on_device.get();
    expect_same(report, expected);
  }
  EXPECT_EQ(std::memcmp(&seen[0], &seen[1], sizeof seen[0]), 0);
}

TEST_F(gpu, amax_of_an_update) {
  trained want(1'000'001);
  const trained_on_device got(want);
  const device_object<lowp::update_amax> seen;
  lowp::update_amax expected;
  lowp::update(want.p, want.g, want.m, want.v, lowp::adamw{}, 1, lowp::stochastic{4}, expected);
  lowp::cuda::update(nullptr, got.p, got.g, got.m, got.v, lowp::adamw{}, 1, lowp::stochastic{4},
                     seen.data());
  EXPECT_TRUE(got.equals(want));
  const lowp::update_amax there = seen.get();
  EXPECT_EQ(std::memcmp(&there, &expected, sizeof there), 0);
}

TEST_F(gpu, list_of_tensors) {
  std::vector<trained> want;
  std::vector<std::unique_ptr<trained_on_device>> tensors;
  std::vector<lowp::cuda::adamw_tensor<lowp::bfloat16, lowp::bfloat16, float, float>> list;
  for (std::size_t i = 0; i < 700; ++i) {
    want.emplace_back(i % 9 == 4 ? 0 : 1 + i * 37 % 5000);
    tensors.push_back(std::make_unique<trained_on_device>(want.back(), i % 5));
    const trained_on_device& t = *tensors.back();
    list.push_back(
        {lowp::cuda::view(t.p.data(), t.p.size()), lowp::cuda::view(t.g.data(), t.g.size()),
         lowp::cuda::view(t.m.data(), t.m.size()), lowp::cuda::view(t.v.data(), t.v.size())});
  }
  const device_range<lowp::update_report> reports(std::vector<lowp::update_report>(list.size()));
  lowp::cuda::update(nullptr, list, lowp::adamw{}, 3, lowp::stochastic{6},
                     std::span(reports.data(), reports.size()));
  const auto seen = reports.read();
  for (std::size_t i = 0; i < want.size(); ++i) {
    lowp::update_report expected;
    want[i].step(3, lowp::stochastic{6, lowp::stream_of(static_cast<std::uint32_t>(i), 0)},
                 expected);
    ASSERT_TRUE(tensors[i]->equals(want[i])) << i;
    expect_same(seen[i], expected);
  }
}

// A captured step, replayed with another lr, step and stream each time.
TEST_F(gpu, graph_of_a_training_step) {
  trained want(100'003);
  const trained_on_device got(want);
  const device_object<lowp::cuda::step_state> state;
  const device_object<lowp::update_report> report;
  cudaStream_t stream = nullptr;
  must(cudaStreamCreate(&stream));
  cudaGraph_t graph = nullptr;
  must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  lowp::cuda::update(stream, got.p, got.g, got.m, got.v, lowp::adamw{}, state.data(),
                     lowp::stochastic{.seed = 5}, report.data());
  must(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t executable = nullptr;
  must(cudaGraphInstantiate(&executable, graph, 0));

  lowp::update_report expected;
  for (const std::uint64_t step : {1U, 2U, 3U, 100U}) {
    const double lr = 1e-2 / static_cast<double>(step);
    const std::uint64_t tensor = lowp::stream_of(7, 0);
    state.set({lr, step, tensor});
    must(cudaGraphLaunch(executable, stream));
    must(cudaStreamSynchronize(stream));
    lowp::update(want.p, want.g, want.m, want.v, lowp::adamw{.lr = lr}, step,
                 lowp::stochastic{.seed = 5, .stream = tensor}, expected);
    ASSERT_TRUE(got.equals(want)) << step;
  }
  expect_same(report.get(), expected);
  must(cudaGraphExecDestroy(executable));
  must(cudaGraphDestroy(graph));
  must(cudaStreamDestroy(stream));
}

TEST_F(gpu, reads_scale_alpha_and_rounding_from_its_memory) {
  const std::vector<float> x = fixed_inputs<float>(1);
  std::vector<lowp::float8_e4m3fn> want(x.size());
  const lowp::stochastic mode{.seed = 3, .stream = 4, .offset = 5};
  const device_range<float> from(x);
  const device_range<lowp::float8_e4m3fn> to(want);
  const device_object<float> number(1.7F);
  const device_object<lowp::stochastic> rounding(mode);
  lowp::scaled_cast(x, want, 1.7F, mode);
  lowp::cuda::scaled_cast(nullptr, from, to, number.data(), rounding.data());
  EXPECT_TRUE(same_bits(to.read(), want));
  lowp::fused_add(want, 1.7F, x, mode);
  lowp::cuda::fused_add(nullptr, to, number.data(), from, rounding.data());
  EXPECT_TRUE(same_bits(to.read(), want));
}

TEST_F(gpu, refuses_host_memory_by_name) {
  std::vector<float> host(8);
  const device_range<float> there(host);
  int reaches_all = 0;
  must(cudaDeviceGetAttribute(&reaches_all, cudaDevAttrPageableMemoryAccess, 0));
  if (reaches_all != 0) GTEST_SKIP() << "SKIPPED: this device can reach all of the host's memory";
  try {
    lowp::cuda::fused_add(nullptr, there, 1.0F, host);
    FAIL() << "it took a std::vector";
  } catch (const std::invalid_argument& refusal) {
    EXPECT_STREQ(refusal.what(),
                 "lowp::cuda::fused_add: u is in host memory that the device cannot reach");
  }
  lowp::update_report report;
  const lowp::cuda::status status =
      lowp::cuda::try_fused_add(nullptr, there, 1.0F, there, lowp::nearest_even{}, report);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("the report"), std::string::npos) << status.message();
}

#endif

}  // namespace
