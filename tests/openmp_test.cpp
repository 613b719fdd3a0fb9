// SPDX-License-Identifier: Apache-2.0
// lowp::openmp gives the bits of the calling thread alone, for any number of threads.
#include <gtest/gtest.h>
#include <omp.h>
#include <lowp/openmp.hpp>

#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/gradient_expectations.hpp"
#include "support/refusals.hpp"
#include "support/support.hpp"

namespace {

using namespace lowp_test;

constexpr std::size_t shard = lowp::detail::openmp_team::shard;
// Teams start for the last size alone, even where its elements have a byte.
constexpr std::array<std::size_t, 7> sizes{0,     1,         1000,           shard - 1,
                                           shard, shard + 1, 17 * shard + 77};
constexpr std::array<int, 3> team_sizes{1, 3, 8};
constexpr lowp::stochastic random_bits{.seed = 7, .stream = 8, .offset = 13};

template <class T>
std::vector<T> numbers(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> x(size);
  for (T& each : x) each = T(std::ldexp(static_cast<float>(random() % 2048) - 1000.0f, -9));
  return x;
}

template <class T>
bool same_bits(std::vector<T> const& a, std::vector<T> const& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

// Everything that a report holds; the sums too, to the last bit, for teams of any size.
bool same(lowp::update_report const& a, lowp::update_report const& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

// body(size) for every size, with a team of every size.
void for_each_size_and_team(std::function<void(std::size_t)> const& body) {
  for (std::size_t const size : sizes) {
    for (int const threads : team_sizes) {
      SCOPED_TRACE(std::to_string(size) + " elements, " + std::to_string(threads) + " threads");
      omp_set_num_threads(threads);
      body(size);
    }
  }
}

TEST(openmp, cast) {
  for_each_size_and_team([](std::size_t size) {
    auto const x = numbers<float>(size, 1);
    std::vector<lowp::bfloat16> alone(size);
    std::vector<lowp::bfloat16> shared(size);
    lowp::cast(x, alone, random_bits);
    lowp::openmp::cast(x, shared, random_bits);
    EXPECT_TRUE(same_bits(alone, shared));
  });
}

TEST(openmp, packed) {
  for_each_size_and_team([](std::size_t size) {
    auto const x = numbers<float>(size, 1);
    std::vector<std::uint8_t> alone((size + 1) / 2);
    std::vector<std::uint8_t> shared((size + 1) / 2);
    lowp::cast(x, lowp::packed<lowp::float4_e2m1fn>(alone, size), random_bits);
    lowp::openmp::cast(x, lowp::packed<lowp::float4_e2m1fn>(shared, size), random_bits);
    EXPECT_EQ(alone, shared);
  });
}

TEST(openmp, cast_of_double) {
  for_each_size_and_team([](std::size_t size) {
    auto const x = numbers<double>(size, 1);
    std::vector<lowp::bfloat16> alone(size), shared(size);
    lowp::cast(x, alone, random_bits);
    lowp::openmp::cast(x, shared, random_bits);
    EXPECT_TRUE(same_bits(alone, shared));
  });
}

TEST(openmp, census) {
  for_each_size_and_team([](std::size_t size) {
    auto const x = numbers<lowp::bfloat16>(size, 1);
    lowp::range_census const alone = lowp::census<lowp::float8_e4m3fn>(x);
    lowp::range_census const shared = lowp::openmp::census<lowp::float8_e4m3fn>(x);
    EXPECT_EQ(shared.count, size);
    EXPECT_EQ(std::memcmp(&alone, &shared, sizeof alone), 0);
  });
}

// Beyond what the threads take between two meetings.
TEST(openmp, census_of_a_long_range) {
  std::vector<lowp::float8_e5m2> x((std::size_t{1} << 26) + 77);
  for (std::size_t i = 0; i < x.size(); i += 1013) x[i] = lowp::float8_e5m2(1.25f);
  x.back() = lowp::float8_e5m2(3);
  lowp::range_census const alone = lowp::census<lowp::float4_e2m1fn>(x);
  lowp::range_census const shared = lowp::openmp::census<lowp::float4_e2m1fn>(x);
  EXPECT_EQ(shared.count, x.size());
  EXPECT_EQ(shared.max_abs.value(), 3.0f);
  EXPECT_EQ(std::memcmp(&alone, &shared, sizeof alone), 0);
}

TEST(openmp, abs_range_of) {
  for_each_size_and_team([](std::size_t size) {
    auto x = numbers<lowp::bfloat16>(size, 1);
    if (size > 900) {
      x[900] = lowp::bfloat16(std::ldexp(1.0f, 17));
      x.back() = std::numeric_limits<lowp::bfloat16>::quiet_NaN();
    }
    lowp::abs_range const alone = lowp::abs_range_of<lowp::float16>(x);
    lowp::abs_range const shared = lowp::openmp::abs_range_of<lowp::float16>(x);
    EXPECT_EQ(shared.count, size);
    EXPECT_EQ(shared.nan, size > 900 ? 1U : 0U);
    EXPECT_EQ(shared.overflow, size > 900 ? 1U : 0U);
    EXPECT_EQ(std::memcmp(&alone, &shared, sizeof alone), 0);
  });
}

TEST(openmp, update_amax) {
  for_each_size_and_team([](std::size_t size) {
    auto p = numbers<lowp::bfloat16>(size, 1);
    auto q = p;
    auto const g = numbers<float>(size, 2);
    lowp::update_amax alone;
    lowp::update_amax shared;
    lowp::update(p, g, lowp::sgd{.lr = 0.5}, 1, random_bits, alone);
    lowp::openmp::update(q, g, lowp::sgd{.lr = 0.5}, 1, random_bits, shared);
    EXPECT_EQ(std::memcmp(&alone, &shared, sizeof alone), 0);
    EXPECT_EQ(shared.weight.bits, lowp::abs_range_of(p).max_abs.bits);
    EXPECT_EQ(shared.gradient.bits, lowp::abs_range_of(g).max_abs.bits);
  });
}

TEST(openmp, overflow_watch) {
  for_each_size_and_team([](std::size_t size) {
    auto const x = numbers<float>(size, 1);
    lowp::overflow_watch<lowp::float4_e2m1fn> alone({.throws = false});
    lowp::openmp::overflow_watch<lowp::float4_e2m1fn> shared({.throws = false});
    alone.forward(alone.add("x", "", {"x.cpp", 1})).output(x);
    shared.forward(shared.add("x", "", {"x.cpp", 1})).output(x);
    EXPECT_EQ(alone.text(), shared.text());
    EXPECT_FALSE(alone.first());
    std::vector<float> const large(size + 1, 7.0f);
    alone.forward(0).output(large);
    shared.forward(0).output(large);
    EXPECT_EQ(alone.first()->text, shared.first()->text);
  });
}

TEST(openmp, scaled_cast) {
  for_each_size_and_team([](std::size_t size) {
    auto const x = numbers<lowp::bfloat16>(size, 1);
    std::vector<lowp::float8_e4m3fn> alone(size);
    std::vector<lowp::float8_e4m3fn> shared(size);
    lowp::amax alone_largest;
    lowp::amax shared_largest;
    lowp::scaled_cast(x, alone, 3.0f, alone_largest, random_bits);
    lowp::openmp::scaled_cast(x, shared, 3.0f, shared_largest, random_bits);
    EXPECT_TRUE(same_bits(alone, shared));
    EXPECT_EQ(alone_largest.bits, shared_largest.bits);
    lowp::openmp::scaled_cast(x, shared, 3.0f);
  });
}

TEST(openmp, block_cast) {
  for_each_size_and_team([](std::size_t size) {
    auto const x = numbers<float>(size, 1);
    std::vector<lowp::float8_e4m3fn> alone(size);
    std::vector<lowp::float8_e4m3fn> shared(size);
    std::vector<lowp::float8_e8m0fnu> alone_scales((size + 31) / 32);
    std::vector<lowp::float8_e8m0fnu> shared_scales((size + 31) / 32);
    lowp::block_cast(x, lowp::blocks_of<32>(alone, alone_scales), random_bits);
    lowp::openmp::block_cast(x, lowp::blocks_of<32>(shared, shared_scales), random_bits);
    EXPECT_TRUE(same_bits(alone, shared));
    EXPECT_TRUE(same_bits(alone_scales, shared_scales));
    if (size % 32 != 0)
      expect_refusal(
          [&] {
            lowp::openmp::block_cast(x, lowp::blocks_of<32>(shared, shared_scales), random_bits,
                                     {.columns = size});
          },
          "lowp::block_cast: " + std::to_string(size) + " elements in rows of " +
              std::to_string(size) + " are no whole blocks of 32");
    std::vector<float> back(size);
    std::vector<float> shared_back(size);
    lowp::block_cast(lowp::blocks_of<32>(alone, alone_scales), back);
    lowp::openmp::block_cast(lowp::blocks_of<32>(shared, shared_scales), shared_back);
    EXPECT_TRUE(same_bits(back, shared_back));
  });
}

// Not a bit of a sum depends on the number of threads, nor on whether there are any.
TEST(openmp, activations) {
  for_each_size_and_team([](std::size_t size) {
    auto const gate = numbers<float>(size, 1);
    auto const up = numbers<lowp::float16>(size, 2);
    std::vector<lowp::bfloat16> alone(size);
    std::vector<lowp::bfloat16> shared(size);
    lowp::gelu_tanh(gate, alone, random_bits);
    lowp::openmp::gelu_tanh(gate, shared, random_bits);
    EXPECT_TRUE(same_bits(alone, shared));
    lowp::gated_gelu_tanh(gate, up, alone);
    lowp::openmp::gated_gelu_tanh(gate, up, shared);
    EXPECT_TRUE(same_bits(alone, shared));
    auto alone_too = alone;
    auto shared_too = shared;
    lowp::gated_gelu_tanh_backward(gate, up, up, alone, alone_too, random_bits);
    lowp::openmp::gated_gelu_tanh_backward(gate, up, up, shared, shared_too, random_bits);
    EXPECT_TRUE(same_bits(alone, shared));
    EXPECT_TRUE(same_bits(alone_too, shared_too));
    lowp::gelu(gate, alone);
    lowp::openmp::gelu(gate, shared);
    EXPECT_TRUE(same_bits(alone, shared));
    lowp::gated_silu(gate, up, alone);
    lowp::openmp::gated_silu(gate, up, shared);
    EXPECT_TRUE(same_bits(alone, shared));
  });
}

// Teams share groups of rows, or runs if there are many rows, and then columns.
TEST(openmp, norms_backward_of_many_rows) {
  constexpr std::size_t columns = 3, rows = (1U << 16) + 300;
  auto const weight = numbers<lowp::bfloat16>(columns, 2);
  auto const x = numbers<lowp::float16>(rows * columns, 1);
  std::vector<float> const numbers_of_rows(rows, 0.25f);
  std::vector<lowp::bfloat16> alone(x.size()), shared(x.size());
  std::vector<std::vector<float>> sums(4, std::vector<float>(columns));
  lowp::layer_norm_backward(x, weight, x, numbers_of_rows, numbers_of_rows, lowp::added_to{alone},
                            sums[0], sums[1], columns);
  lowp::openmp::layer_norm_backward(x, weight, x, numbers_of_rows, numbers_of_rows,
                                    lowp::added_to{shared}, sums[2], sums[3], columns);
  EXPECT_TRUE(same_bits(alone, shared));
  EXPECT_TRUE(same_bits(sums[0], sums[2]));
  EXPECT_TRUE(same_bits(sums[1], sums[3]));
}
TEST(openmp, norms_backward) {
  constexpr std::size_t columns = 300;
  auto const weight = numbers<lowp::bfloat16>(columns, 2);
  for_each_size_and_team([&](std::size_t size) {
    std::size_t const rows = size % 300;
    auto const x = numbers<lowp::float16>(rows * columns, 1);
    std::vector<float> const mean(rows, 0.5f);
    std::vector<float> const reciprocal(rows, 0.25f);
    std::vector<lowp::bfloat16> alone(x.size());
    std::vector<lowp::bfloat16> shared(x.size());
    std::vector<std::vector<float>> sums(4, std::vector<float>(columns));
    lowp::layer_norm_backward(x, weight, x, mean, reciprocal, lowp::added_to{alone}, sums[0],
                              sums[1], columns);
    lowp::openmp::layer_norm_backward(x, weight, x, mean, reciprocal, lowp::added_to{shared},
                                      sums[2], sums[3], columns);
    EXPECT_TRUE(same_bits(alone, shared));
    EXPECT_TRUE(same_bits(sums[0], sums[2]));
    EXPECT_TRUE(same_bits(sums[1], sums[3]));
    std::vector<float> of_rows[]{reciprocal, reciprocal};
    lowp::adafactor const factors;
    lowp::adafactor_direction(x, of_rows[0], sums[1], alone, columns, factors, 2);
    lowp::openmp::adafactor_direction(x, of_rows[1], sums[3], shared, columns, factors, 2);
    EXPECT_TRUE(same_bits(alone, shared));
    EXPECT_TRUE(same_bits(of_rows[0], of_rows[1]));
    EXPECT_TRUE(same_bits(sums[1], sums[3]));
  });
}

TEST(openmp, clamp_and_power_of_two) {
  for_each_size_and_team([](std::size_t size) {
    auto alone = numbers<lowp::float16>(size, 1);
    for (std::size_t i = 0; i < size; i += 700) alone[i] = lowp::float16(1e6f);
    auto shared = alone;
    lowp::clamp_report const clamped = lowp::clamp_overflow(alone);
    EXPECT_EQ(lowp::openmp::clamp_overflow(shared).clamped(), clamped.clamped());
    EXPECT_TRUE(same_bits(alone, shared));
    lowp::scaling_report one;
    lowp::scaling_report team;
    lowp::scale_by_power_of_two(alone, alone, -12, one);
    lowp::openmp::scale_by_power_of_two(shared, shared, -12, team);
    EXPECT_EQ(one.count, size);
    EXPECT_EQ(std::memcmp(&one, &team, sizeof one), 0);
    EXPECT_TRUE(same_bits(alone, shared));
  });
}

TEST(openmp, norms) {
  constexpr std::size_t columns = 300;
  auto const weight = numbers<lowp::bfloat16>(columns, 2);
  auto const bias = numbers<float>(columns, 3);
  for_each_size_and_team([&](std::size_t rows) {
    auto const x = numbers<lowp::float16>(rows % 700 * columns, 1);
    std::vector<lowp::float16> alone(x.size());
    std::vector<lowp::float16> shared(x.size());
    lowp::rms_norm(x, weight, alone, columns, 1e-6f);
    lowp::openmp::rms_norm(x, weight, shared, columns, 1e-6f);
    EXPECT_TRUE(same_bits(alone, shared));
    // All columns but one.
    auto const some = [&](auto& all) { return lowp::strided_rows{all, columns}; };
    std::span const w = std::span(weight).first(columns - 1);
    std::span const b = std::span(bias).first(columns - 1);
    std::size_t const count = x.size() / columns;
    std::vector<float> mean(count);
    std::vector<float> reciprocal(count);
    std::vector<float> shared_mean(count);
    std::vector<float> shared_reciprocal(count);
    lowp::layer_norm(some(x), w, b, some(alone), columns - 1, 1e-6f, mean, reciprocal);
    lowp::openmp::layer_norm(some(x), w, b, some(shared), columns - 1, 1e-6f, shared_mean,
                             shared_reciprocal);
    EXPECT_TRUE(same_bits(alone, shared));
    EXPECT_TRUE(same_bits(mean, shared_mean));
    EXPECT_TRUE(same_bits(reciprocal, shared_reciprocal));
    std::vector<lowp::float16> stream = x;
    std::vector<lowp::float16> shared_stream = x;
    lowp::add_rms_norm(stream, x, weight, alone, columns, 1e-6f, random_bits);
    lowp::openmp::add_rms_norm(shared_stream, x, weight, shared, columns, 1e-6f, random_bits);
    EXPECT_TRUE(same_bits(stream, shared_stream));
    EXPECT_TRUE(same_bits(alone, shared));
  });
}

TEST(openmp, sums) {
  for_each_size_and_team([](std::size_t size) {
    auto const a = numbers<float>(size, 1);
    auto const b = numbers<lowp::bfloat16>(size, 2);
    EXPECT_EQ(lowp::openmp::sum(a), lowp::sum(a));
    EXPECT_EQ(lowp::openmp::dot(a, b), lowp::dot(a, b));
    EXPECT_EQ(lowp::openmp::norm(b), lowp::norm(b));
    if (size != 0) {
      EXPECT_EQ(lowp::openmp::mean(b), lowp::mean(b));
    }
  });
}

TEST(openmp, unscale_and_measure) {
  for_each_size_and_team([](std::size_t size) {
    auto alone = numbers<lowp::bfloat16>(size, 1);
    auto shared = alone;
    EXPECT_TRUE(lowp_test::same(lowp::measure(alone), lowp::openmp::measure(shared)));
    lowp::gradient_report alone_report;
    lowp::gradient_report shared_report;
    lowp::unscale(alone, 0.3f, alone_report, random_bits);
    lowp::openmp::unscale(shared, 0.3f, shared_report, random_bits);
    EXPECT_TRUE(same_bits(alone, shared));
    EXPECT_TRUE(lowp_test::same(alone_report, shared_report));
  });
}

TEST(openmp, cast_to_the_same_format_copies_bits) {
  for_each_size_and_team([](std::size_t size) {
    std::vector<float> x = numbers<float>(size, 2);
    if (size != 0) x.back() = float_of(0xff812345);
    std::vector<float> copy(size);
    lowp::openmp::cast(x, copy);
    lowp::openmp::cast(copy, copy);
    EXPECT_TRUE(same_bits(x, copy));
  });
}

TEST(openmp, fused_add) {
  for_each_size_and_team([](std::size_t size) {
    auto const u = numbers<float>(size, 3);
    auto alone = numbers<lowp::float8_e4m3fn>(size, 4);
    auto shared = alone;
    lowp::fused_add(alone, 0.01f, u, random_bits, lowp::overflow::saturate);
    lowp::openmp::fused_add(shared, 0.01f, u, random_bits, lowp::overflow::saturate);
    EXPECT_TRUE(same_bits(alone, shared));
  });
}

TEST(openmp, tree_add) {
  for_each_size_and_team([](std::size_t size) {
    auto const u = numbers<float>(size, 3);
    auto const few = numbers<float>(7, 3);
    auto alone = numbers<lowp::bfloat16>(size, 4);
    auto shared = alone;
    std::vector<lowp::bfloat16> small(7, lowp::bfloat16(1));
    std::vector<lowp::bfloat16> small_shared = small;
    auto const updates = std::vector{lowp::named{"", u}, lowp::named{"few", few}};
    auto const model = [](auto& large, auto& rest) {
      return std::vector{lowp::named{"large", large}, lowp::named{"few", rest}};
    };
    std::vector<lowp::update_report> reports(2);
    std::vector<lowp::update_report> shared_reports(2);
    lowp::tree_add(model(alone, small), 0.01f, updates, random_bits, reports);
    lowp::openmp::tree_add(model(shared, small_shared), 0.01f, updates, random_bits,
                           shared_reports);
    EXPECT_TRUE(same_bits(alone, shared));
    EXPECT_TRUE(same_bits(small, small_shared));
    EXPECT_EQ(reports[0].stalled, shared_reports[0].stalled);
    EXPECT_EQ(shared_reports[1].count, 7U);
  });
}

TEST(openmp, update_and_its_report) {
  std::vector<lowp::update_report> first_report(sizes.back() + 1);
  for_each_size_and_team([&](std::size_t size) {
    auto const g = numbers<lowp::bfloat16>(size, 5);
    auto p = numbers<lowp::bfloat16>(size, 6);
    auto q = p;
    auto m = numbers<float>(size, 7);
    auto n = m;
    std::vector<float> v(size, 0.01f);
    std::vector<float> w = v;
    lowp::update_report alone;
    lowp::update_report shared;
    lowp::per_slot const modes{random_bits, lowp::upward{}, {}};
    lowp::update(p, g, m, v, lowp::adamw{.lr = 0.01}, 3, modes, alone);
    lowp::openmp::update(q, g, n, w, lowp::adamw{.lr = 0.01}, 3, modes, shared);
    EXPECT_TRUE(same_bits(p, q));
    EXPECT_TRUE(same_bits(m, n));
    EXPECT_TRUE(same_bits(v, w));
    EXPECT_EQ(alone.count, shared.count);
    EXPECT_EQ(alone.stalled, shared.stalled);
    EXPECT_EQ(alone.overflowed, shared.overflowed);
    EXPECT_EQ(alone.nonfinite, shared.nonfinite);
    EXPECT_NEAR(alone.applied_ratio(), shared.applied_ratio(), 2e-12);
    lowp::update_report& first = first_report[size];
    if (first.count == 0) first = shared;
    EXPECT_TRUE(same(first, shared));
  });
}

// Shards of storages, and of moments in blocks, have the bits of the whole.
TEST(openmp, update_of_storages) {
  for_each_size_and_team([&](std::size_t size) {
    auto const g = numbers<float>(size, 21);
    auto value = numbers<lowp::bfloat16>(size, 22);
    auto rest = std::vector<lowp::bfloat16>(size);
    auto codes = std::vector<lowp::float8_e4m3fn>(size, lowp::float8_e4m3fn(0));
    auto scales = std::vector<lowp::float8_e8m0fnu>((size + 127) / 128, lowp::float8_e8m0fnu(1));
    auto high = numbers<lowp::bfloat16>(size, 23);
    auto low = std::vector<std::uint8_t>(size);
    auto value2 = value;
    auto rest2 = rest;
    auto codes2 = codes;
    auto scales2 = scales;
    auto high2 = high;
    auto low2 = low;
    lowp::sgd const sgd{.lr = 0.01, .momentum = 0.9};
    for (std::uint64_t step = 1; step <= 2; ++step) {
      lowp::update(lowp::kahan{value, rest}, g, lowp::blocks_of<128>(codes, scales), sgd, step,
                   random_bits);
      lowp::openmp::update(lowp::kahan{value2, rest2}, g, lowp::blocks_of<128>(codes2, scales2),
                           sgd, step, random_bits);
      lowp::fused_add(lowp::split_master{high, low}, -0.01f, g, random_bits);
      lowp::openmp::fused_add(lowp::split_master{high2, low2}, -0.01f, g, random_bits);
    }
    EXPECT_TRUE(same_bits(value, value2));
    EXPECT_TRUE(same_bits(rest, rest2));
    EXPECT_TRUE(same_bits(codes, codes2));
    EXPECT_TRUE(same_bits(scales, scales2));
    EXPECT_TRUE(same_bits(high, high2));
    EXPECT_TRUE(low == low2);
    std::vector<float> joined(size);
    std::vector<float> joined2(size);
    lowp::join(high, low, joined);
    lowp::openmp::join(high, low, joined2);
    EXPECT_TRUE(same_bits(joined, joined2));
    lowp::openmp::split(joined, high2, low2);
    EXPECT_TRUE(same_bits(high, high2));
    EXPECT_TRUE(low == low2);
    lowp::resync(lowp::split_master{high, low});
    lowp::openmp::resync(lowp::split_master{high2, low2});
    EXPECT_TRUE(same_bits(high, high2));
    EXPECT_TRUE(low == low2);
  });
}

TEST(openmp, update_without_moments) {
  for_each_size_and_team([](std::size_t size) {
    auto const g = numbers<float>(size, 8);
    auto alone = numbers<lowp::float16>(size, 9);
    auto shared = alone;
    lowp::update(alone, g, lowp::sgd{.lr = 1e-3}, 1, random_bits);
    lowp::openmp::update(shared, g, lowp::sgd{.lr = 1e-3}, 1, random_bits);
    EXPECT_TRUE(same_bits(alone, shared));
  });
}

TEST(openmp, transform) {
  for_each_size_and_team([](std::size_t size) {
    auto const x = numbers<float>(size, 10);
    auto const square = [](auto const& a) { return lowp::lanes::mul(a, a); };
    std::vector<lowp::bfloat16> alone(size);
    std::vector<lowp::bfloat16> shared(size);
    lowp::transform(square, random_bits, alone, x);
    lowp::openmp::transform(square, random_bits, shared, x);
    EXPECT_TRUE(same_bits(alone, shared));
  });
}

TEST(openmp, softmax_of_rows_of_every_length) {
  for (std::size_t const columns : {std::size_t{1}, std::size_t{700}, shard - 1, 2 * shard + 5}) {
    std::size_t const rows = columns == 1 ? 3 * shard : 13;
    auto const x = numbers<lowp::float16>(rows * columns, 12);
    std::vector<std::uint8_t> mask(columns);
    for (std::size_t i = 0; i < columns; ++i) mask[i] = i % 5 == 3 ? 1 : 0;
    std::vector<lowp::bfloat16> alone(x.size());
    std::vector<lowp::bfloat16> shared(x.size());
    for (int const threads : team_sizes) {
      omp_set_num_threads(threads);
      lowp::softmax(x, alone, columns);
      lowp::openmp::softmax(x, shared, columns);
      EXPECT_TRUE(same_bits(alone, shared));
      lowp::log_softmax(x, alone, columns);
      lowp::openmp::log_softmax(x, shared, columns);
      EXPECT_TRUE(same_bits(alone, shared));
      lowp::scale_mask_softmax(x, mask, alone, columns, 0.3f);
      lowp::openmp::scale_mask_softmax(x, mask, shared, columns, 0.3f);
      EXPECT_TRUE(same_bits(alone, shared));
      lowp::causal_mask const causal{rows};
      lowp::scale_mask_softmax(x, causal, alone, columns, 0.3f);
      lowp::openmp::scale_mask_softmax(x, causal, shared, columns, 0.3f);
      EXPECT_TRUE(same_bits(alone, shared));
      lowp::softmax_backward(alone, x, alone, columns);
      lowp::openmp::softmax_backward(shared, x, shared, columns);
      EXPECT_TRUE(same_bits(alone, shared));
      std::vector<std::int64_t> labels(rows, 0);
      std::vector<float> losses(rows);
      std::vector<float> losses_of_team(rows);
      labels[rows / 2] = -100;
      lowp::sum_report loss;
      lowp::sum_report loss_of_team;
      lowp::cross_entropy(x, labels, columns, {}, losses, alone, loss);
      lowp::openmp::cross_entropy(x, labels, columns, {}, losses_of_team, shared, loss_of_team);
      EXPECT_EQ(loss_of_team.count, rows - 1);
      EXPECT_EQ(loss_of_team.mean(), loss.mean());
      EXPECT_TRUE(same_bits(alone, shared));
      EXPECT_TRUE(same_bits(losses, losses_of_team));
    }
  }
}

// Other calls would wait longer for the team's start and end than one thread takes.
TEST(openmp, starts_a_team_where_it_pays) {
  omp_set_num_threads(3);
  std::atomic<int> most = 0;
  auto const count = [&](auto const& a) {
    int const threads = omp_get_num_threads();
    for (int before = most; before < threads && !most.compare_exchange_weak(before, threads);) {
    }
    return lowp::lanes::mul(a, a);
  };
  for (std::size_t const bytes : {std::size_t{6}, lowp::detail::openmp_team::least_bytes - 6,
                                  lowp::detail::openmp_team::least_bytes + 6}) {
    std::vector<float> const x(bytes / 6);
    std::vector<lowp::bfloat16> y(x.size());
    most = 0;
    lowp::openmp::transform(std::cref(count), random_bits, y, x);
    EXPECT_EQ(most, bytes > lowp::detail::openmp_team::least_bytes ? 3 : 1) << bytes;
  }
}

// Refused as a whole, before any thread writes: shards of these would not overlap.
TEST(openmp, refuses_what_lowp_refuses) {
  omp_set_num_threads(2);
  std::vector<lowp::bfloat16> p(3 * shard);
  auto const before = p;
  try {
    lowp::openmp::cast(numbers<float>(7, 11), p);
    FAIL() << "sizes differ";
  } catch (std::invalid_argument const& refusal) {
    EXPECT_STREQ(
        refusal.what(),
        ("lowp::cast: sizes differ: in has 7, out has " + std::to_string(3 * shard)).c_str());
  }
  std::span<lowp::bfloat16> const all(p);
  EXPECT_THROW(lowp::openmp::fused_add(all.first(2 * shard), 1.0f, all.last(2 * shard)),
               std::invalid_argument);
  EXPECT_THROW(lowp::openmp::update(p, p, lowp::sgd{.lr = 1}, 0), std::invalid_argument);
  std::vector<float> const u(p.size(), 1.0f);
  EXPECT_THROW(lowp::openmp::fused_add(p, HUGE_VALF, u), std::invalid_argument);
  EXPECT_THROW(lowp::openmp::scaled_cast(u, p, 0.0f), std::invalid_argument);
  EXPECT_THROW(lowp::openmp::update(p, u, lowp::sgd{.lr = 1}, -1), std::invalid_argument);
  EXPECT_TRUE(same_bits(before, p));
}

}  // namespace
