// SPDX-License-Identifier: Apache-2.0
// rms_norm and layer_norm by the GPU's kernel over rows: the bits of the processor's loop, also in
// their statistics and with something between rows.
#include <lowp/nn.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "simulated_grid.hpp"
#include "support/nearly_equal_rows.hpp"
#include "support/row_support.hpp"
#include "support/strided.hpp"

namespace {

using namespace lowp_test;

// Rows that are hard for a softmax, and three for these: nearly equal elements, equal ones whose
// sum overflows, and elements as far apart as it gets.
template <class T>
std::vector<T> hard_rows(std::size_t rows, std::size_t columns, std::mt19937& random) {
  std::vector<T> x;
  for (std::size_t r = 3; r < rows; ++r) hard::append_row(x, columns, r % hard::kinds, random);
  T const most = std::numeric_limits<T>::max();
  auto const nearly_equal = nearly_equal_row<T>(code_of(T(1.3f)), columns, 1, random).x;
  x.insert(x.end(), nearly_equal.begin(), nearly_equal.end());
  x.insert(x.end(), 2 * columns, most);
  x.back() = -most;
  return x;
}
// Gradients that make no sum over rows infinite, with one NaN that has a sign and a payload.
template <class T>
std::vector<T> gradients(std::vector<T> x, std::size_t columns) {
  for (T& each : x)
    if (std::fabs(float(each)) > 1e30f) each = T(0.5f);
  constexpr float nan = float_of(0xffe50000);
  x[columns / 2] = T(nan);
  return x;
}

// Blocks of `threads`, of which two may have so much shared memory each.
template <lowp::element T>
void expect_bits_of_host(std::vector<std::size_t> const& lengths, std::size_t rows,
                         unsigned threads = 32, std::size_t most_shared_bytes = 1U << 16) {
  for (std::size_t const columns : lengths) {
    SCOPED_TRACE(columns);
    std::mt19937 random(static_cast<unsigned>(columns));
    std::vector<T> const x = hard_rows<T>(rows, columns, random);
    std::vector<T> weight;
    std::vector<T> bias;
    for (std::size_t i = 0; i < columns; ++i) {
      weight.push_back(T(static_cast<float>(random() % 17) / 8));
      bias.push_back(T(static_cast<float>(random() % 9) / 4 - 1));
    }
    std::size_t const between = columns % 4;
    std::vector<T> const spaced = spread(x, columns, between, T(3.0f));
    lowp::strided_rows const in{std::span(spaced), columns + between};
    std::vector<T> want(x.size());
    std::vector<T> spaced_out = spread(want, columns, between, T(-5.0f));
    lowp::strided_rows const out{std::span(spaced_out), columns + between};
    std::vector<float> want_mean(rows);
    std::vector<float> want_reciprocal(rows);
    std::vector<float> mean(rows);
    std::vector<float> reciprocal(rows);
    simulated_grid grid(threads, 3);
    grid.most_shared_bytes = most_shared_bytes;
    lowp::cuda::on_grid<simulated_grid> const executor{grid};
    auto const expect_same = [&] {
      std::vector<T> const got = gathered(spaced_out, columns, between, T(-5.0f));
      for (std::size_t i = 0; i < x.size(); ++i)
        ASSERT_TRUE(has_bits(got[i], code_of(want[i]), x[i], i));
      for (std::size_t r = 0; r < rows; ++r) {
        ASSERT_TRUE(has_bits(mean[r], code_of(want_mean[r]), r));
        ASSERT_TRUE(has_bits(reciprocal[r], code_of(want_reciprocal[r]), r));
      }
    };
    lowp::rms_norm(x, weight, want, columns, 1e-6f, want_reciprocal);
    ASSERT_EQ(refusal_of<lowp::detail::rms_norm_operation>(executor, in, weight, out, columns,
                                                           1e-6f, reciprocal),
              "");
    expect_same();
    lowp::layer_norm(x, weight, bias, want, columns, 1e-6f, want_mean, want_reciprocal);
    std::uint64_t const written = grid.bytes_written;
    ASSERT_EQ(refusal_of<lowp::detail::layer_norm_operation>(executor, in, weight, bias, out,
                                                             columns, 1e-6f, mean, reciprocal),
              "");
    expect_same();
    EXPECT_EQ(grid.bytes_written - written, x.size() * sizeof(T) + 2 * rows * sizeof(float));
    // Behind a residual sum, which stochastic rounding draws for by an element's place.
    std::vector<T> sum = gradients(x, columns);
    std::vector<T> const addend(x.rbegin(), x.rend());  // x + x would need no rounding
    std::vector<T> const spaced_addend = spread(addend, columns, between, T(3.0f));
    lowp::strided_rows const u{std::span(spaced_addend), columns + between};
    std::vector<T> spaced_sum = spread(sum, columns, between, T(3.0f));
    lowp::strided_rows const stream{std::span(spaced_sum), columns + between};
    lowp::stochastic const draws{.seed = 5, .stream = 2, .offset = 3};
    lowp::add_layer_norm(sum, addend, weight, bias, want, columns, 1e-6f, want_mean,
                         want_reciprocal, draws);
    std::uint64_t const written_before = grid.bytes_written;
    ASSERT_EQ(refusal_of<lowp::detail::add_layer_norm_operation>(
                  executor, stream, u, weight, bias, out, columns, 1e-6f, mean, reciprocal, draws),
              "");
    expect_same();
    std::vector<T> const got_sum = gathered(spaced_sum, columns, between, T(3.0f));
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_TRUE(has_bits(got_sum[i], code_of(sum[i]), x[i], i));
    EXPECT_EQ(grid.bytes_written - written_before,
              2 * x.size() * sizeof(T) + 2 * rows * sizeof(float));
    // Their derivatives, of rows without infinity.
    std::vector<T> finite = x;
    for (T& each : finite)
      if (std::isinf(float(each))) each = T(2.0f);
    std::vector<T> const dy = gradients(finite, columns);
    std::vector<T> const spaced_finite = spread(finite, columns, between, T(3.0f));
    std::vector<T> const spaced_dy = spread(dy, columns, between, T(3.0f));
    lowp::strided_rows const from{std::span(spaced_finite), columns + between};
    lowp::strided_rows const with{std::span(spaced_dy), columns + between};
    lowp::layer_norm(finite, weight, bias, want, columns, 1e-6f, want_mean, want_reciprocal);
    mean = want_mean;
    reciprocal = want_reciprocal;
    std::vector<float> want_sums[2]{std::vector<float>(columns), std::vector<float>(columns)};
    lowp::layer_norm_backward(finite, weight, dy, mean, reciprocal, want, want_sums[0],
                              want_sums[1], columns);
    std::vector<float> got_sums[2]{std::vector<float>(columns), std::vector<float>(columns)};
    ASSERT_EQ(
        refusal_of<lowp::detail::layer_norm_backward_operation>(
            executor, from, weight, with, mean, reciprocal, out, got_sums[0], got_sums[1], columns),
        "");
    expect_same();
    lowp::layer_norm_backward(finite, weight, dy, mean, reciprocal, lowp::added_to{want},
                              want_sums[0], want_sums[1], columns);
    ASSERT_EQ(refusal_of<lowp::detail::layer_norm_backward_operation>(
                  executor, from, weight, with, mean, reciprocal, lowp::added_to{out}, got_sums[0],
                  got_sums[1], columns),
              "");
    expect_same();
    for (std::size_t i = 0; i < columns; ++i) {
      ASSERT_TRUE(std::isfinite(want_sums[0][i]) || i == columns / 2);
      ASSERT_TRUE(has_bits(got_sums[0][i], code_of(want_sums[0][i]), i));
      ASSERT_TRUE(has_bits(got_sums[1][i], code_of(want_sums[1][i]), i));
    }
  }
}

std::vector<std::size_t> const short_rows{1, 7, 8, 65, 256, 300, 1001};

TEST(cuda_normalization, of_floats) { expect_bits_of_host<float>(short_rows, 12); }
TEST(cuda_normalization, of_float16) { expect_bits_of_host<lowp::float16>(short_rows, 12); }
TEST(cuda_normalization, of_bfloat16) { expect_bits_of_host<lowp::bfloat16>(short_rows, 12); }

TEST(cuda_normalization, of_a_row_for_each_warp_of_a_block) {
  expect_bits_of_host<lowp::bfloat16>({255, 1024}, 12, 256);
}
TEST(cuda_normalization, of_a_row_for_a_block) {
  expect_bits_of_host<lowp::bfloat16>({1025, 8192}, 7, 256);
  expect_bits_of_host<float>({4099}, 7, 256);
}
TEST(cuda_normalization, of_rows_that_are_read_anew) {
  expect_bits_of_host<lowp::bfloat16>({1025, 8192}, 7, 256, 0);
  expect_bits_of_host<float>({4099}, 7, 256, 0);
}

// More rows than groups of groups, whatever the warps of a block.
TEST(cuda_normalization, sums_of_rows) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  for (std::size_t const rows : {1U, 255U, 256U, 257U, 700U})
    for (unsigned const threads : {32U, 96U, 256U}) {
      constexpr std::size_t columns = 40;
      std::vector<float> dy(rows * columns), want(columns, 0.5f);
      for (float& each : dy) each = normal(random);
      // Between these, a group of ones is lost in double, and sixteen groups are not.
      for (std::size_t r = 0; r < rows; ++r) dy[r * columns] = 1;
      dy[0] = 0x1p60f;
      dy[(rows - 1) * columns] = -0x1p60f;
      std::vector<float> got = want;
      simulated_grid grid(threads, 3);
      lowp::add_rows(dy, lowp::added_to{want}, columns);
      ASSERT_EQ(refusal_of<lowp::detail::add_rows_operation>(
                    lowp::cuda::on_grid<simulated_grid>{grid}, dy, lowp::added_to{got}, columns),
                "");
      for (std::size_t i = 0; i < columns; ++i)
        ASSERT_TRUE(has_bits(got[i], code_of(want[i]), rows, threads, i));
    }
}

// With scratch, the kernel over rows leaves its sums and reads x and dy once. Teams are warps or
// blocks, lines are of groups or of runs, and a row may be too wide.
TEST(cuda_normalization, sums_of_rows_in_one_pass) {
  using T = lowp::bfloat16;
  struct shape {
    std::size_t rows, columns;
    unsigned threads;
    std::size_t shared;
    bool has_runs;
  };
  for (auto const& [rows, columns, threads, shared, has_runs] :
       {shape{1, 40, 96, 80 << 10, false}, shape{65, 40, 96, 80 << 10, false},
        shape{260, 24, 96, 80 << 10, true}, shape{40, 131, 256, 80 << 10, true},
        shape{17, 1024, 256, 112 << 10, false}, shape{17, 2056, 256, 64 << 10, false},
        shape{18, 2056, 256, 64 << 10, true}, shape{2, 2056, 256, 1 << 10, false}}) {
    SCOPED_TRACE(testing::Message() << rows << " rows of " << columns << ", " << threads);
    std::mt19937 random(static_cast<unsigned>(rows));
    std::normal_distribution<float> normal;
    auto const some = [&](std::size_t count) {
      std::vector<T> all(count);
      for (T& each : all) each = T(std::ldexp(normal(random), static_cast<int>(random() % 9)));
      return all;
    };
    auto const x = some(rows * columns), dy = some(rows * columns), weight = some(columns);
    std::vector<float> const mean(rows, 0.1f), reciprocal(rows, 1.1f);
    std::vector<T> want(x.size()), got(x.size());
    std::vector<float> want_sums[2]{std::vector<float>(columns), std::vector<float>(columns, 1)};
    std::vector<float> sums[2]{std::vector<float>(columns), std::vector<float>(columns, 1)};
    lowp::layer_norm_backward(x, weight, dy, mean, reciprocal, want, want_sums[0],
                              lowp::added_to{want_sums[1]}, columns);
    simulated_grid grid(threads, 3);
    grid.most_shared_bytes = shared;
    if (has_runs) grid.least_rows_of_runs = 0;
    lowp::cuda::on_grid<simulated_grid> const executor{grid};
    std::vector<double> scratch(lowp::layer_norm_backward_scratch(rows, columns));
    ASSERT_EQ(refusal_of<lowp::detail::layer_norm_backward_operation>(
                  executor, x, weight, dy, mean, reciprocal, got, sums[0], lowp::added_to{sums[1]},
                  columns, std::span(scratch).first(scratch.size() - 1)),
              "layer_norm_backward: scratch has " + std::to_string(scratch.size() - 1) +
                  " doubles, not " + std::to_string(scratch.size()));
    ASSERT_EQ(refusal_of<lowp::detail::layer_norm_backward_operation>(
                  executor, x, weight, dy, mean, reciprocal, got, sums[0], lowp::added_to{sums[1]},
                  columns, scratch),
              "");
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_TRUE(has_bits(got[i], code_of(want[i]), x[i], i));
    for (std::size_t i = 0; i < columns; ++i)
      for (int k = 0; k < 2; ++k) ASSERT_TRUE(has_bits(sums[k][i], code_of(want_sums[k][i]), k, i));
    // The weight comes from a cache: a warp reads it twice, a block three times.
    std::size_t const reads_of_weight = columns > 2048 ? 3 : 2;
    if (shared > 1024) {
      EXPECT_EQ(grid.bytes_read, (2 + reads_of_weight) * x.size() * sizeof(T) + 4 * columns);
    }
  }
}

TEST(cuda_normalization, refuses_what_lowp_refuses) {
  std::vector<float> x(12);
  simulated_grid grid(32);
  lowp::cuda::on_grid<simulated_grid> const executor{grid};
  grid.out_of_reach = x.data();
  std::vector<float> const weight(4);
  std::vector<float> out(12);
  EXPECT_EQ(refusal_of<lowp::detail::rms_norm_operation>(executor, x, weight, out, 4, 1e-6f),
            "rms_norm: in is far away");
  EXPECT_EQ(
      refusal_of<lowp::detail::layer_norm_operation>(executor, out, weight, weight, x, 4, 1e-6f),
      "layer_norm: out is far away");
  std::vector<float> reciprocal(3);
  grid.out_of_reach = reciprocal.data();
  EXPECT_EQ(
      refusal_of<lowp::detail::rms_norm_operation>(executor, x, weight, out, 4, 1e-6f, reciprocal),
      "rms_norm: reciprocal_rms is far away");
  grid.out_of_reach = weight.data();
  EXPECT_EQ(refusal_of<lowp::detail::rms_norm_operation>(executor, x, weight, out, 4, 1e-6f),
            "rms_norm: weight is far away");
  EXPECT_EQ(grid.launches, 0);
}

// Before the sums over columns, which are the first of two kernels.
TEST(cuda_normalization, refuses_rows_too_far_apart_to_count) {
  simulated_grid grid(32);
  std::vector<float> const row(4);
  std::vector<float> out(4);
  std::vector<float> weight(4);
  std::vector<float> mean(1);
  std::vector<float> sums[2]{std::vector<float>(4), std::vector<float>(4)};
  lowp::strided_rows const in{std::span(row), std::size_t{4}};
  lowp::strided_rows const far{std::span(out), std::size_t{1} << 31};
  EXPECT_EQ(refusal_of<lowp::detail::layer_norm_backward_operation>(
                lowp::cuda::on_grid<simulated_grid>{grid}, in, weight, in, mean, mean, far, sums[0],
                sums[1], 4),
            "layer_norm_backward: dx has rows that begin 2147483648 elements apart: a GPU's "
            "kernels take at most 2147483647");
  EXPECT_EQ(grid.launches, 0);
}

}  // namespace
