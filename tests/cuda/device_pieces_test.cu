// SPDX-License-Identifier: Apache-2.0
// On a GPU: softmax, norms, activations, derivatives, embeddings and scalings have the processor's
// bits. Without a GPU every test here is skipped; the same kernels' text runs in rows_test.cpp,
// normalization_test.cpp and embedding_test.cpp.
#include <gtest/gtest.h>
#include <lowp/cuda/lowp.cuh>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "device_memory.hpp"
#include "support/support.hpp"

namespace {

using namespace lowp_test;

using device_pieces = on_a_gpu;

// A warp takes rows up to 1024, then a block, which keeps all but the last on the chip.
constexpr std::size_t lengths[] = {1,    5,    32,   100,  257,   512,  1024,
                                   1025, 8191, 8192, 8193, 10007, 30011};
constexpr std::size_t rows = 6;

// Numbers of all magnitudes; one row has an infinity, and one a NaN.
template <class T>
std::vector<T> scores(std::size_t columns) {
  std::mt19937 random(static_cast<unsigned>(columns));
  std::vector<float> x(rows * columns);
  for (float& each : x)
    each = std::ldexp(static_cast<float>(random() % 2000) - 999.0f,
                      static_cast<int>(random() % 24) - 20);
  x[2 * columns] = INFINITY;
  x[3 * columns] = NAN;
  std::vector<T> y(x.size());
  lowp::cast(x, y);
  return y;
}

// Rows whose norms are folded again: nearly equal elements, and equal ones whose sum overflows.
using std::nextafter;
template <class T>
void set_first_rows(std::vector<T>& x, std::size_t columns) {
  auto const second = x.begin() + static_cast<std::ptrdiff_t>(columns);
  std::fill(x.begin(), second, T(1.3f));
  x[columns / 2] = nextafter(T(1.3f), T(0.0f));
  std::fill(second, second + static_cast<std::ptrdiff_t>(columns), std::numeric_limits<T>::max());
}

// `run(target)` writes what it makes into a range, here of the processor's memory, there of the
// GPU's.
template <class Out, class Here, class There>
void expect_same_bits(std::size_t size, Here const& here, There const& there, char const* name,
                      std::size_t lead = 0) {
  std::vector<Out> want(size, Out(1.0f));
  device_range<Out> const got(want, lead);
  here(want);
  there(got);
  std::vector<Out> const read = got.read();
  EXPECT_EQ(std::memcmp(read.data(), want.data(), size * sizeof(Out)), 0) << name;
}

template <class In, class Out>
void expect_same_rows() {
  for (std::size_t const columns : lengths) {
    SCOPED_TRACE(columns);
    std::vector<In> x = scores<In>(columns);
    set_first_rows(x, columns);
    std::vector<In> const weight(x.begin() + static_cast<std::ptrdiff_t>(4 * columns),
                                 x.begin() + static_cast<std::ptrdiff_t>(5 * columns));
    std::vector<std::uint8_t> flags(x.size() / 2);
    for (std::size_t i = 0; i < flags.size(); ++i) flags[i] = i % 3 == 0 ? 1 : 0;
    // Rows of whole chunks move in these, if they are aligned.
    device_range<In> const in(x, columns % 8 == 0 && columns != 1024 ? 0 : columns % 3);
    device_range<In> const weights(weight);
    device_range<std::uint8_t> const masks(flags);
    auto const expect = [&](char const* name, auto const& here, auto const& there) {
      // Longer rows begin at the same place of 16 bytes as those of `in`.
      expect_same_bits<Out>(x.size(), here, there, name, columns > 8192 ? columns % 3 : 0);
    };
    expect(
        "softmax", [&](auto& out) { lowp::softmax(x, out, columns); },
        [&](auto const& out) { lowp::cuda::softmax(nullptr, in, out, columns); });
    expect(
        "log_softmax", [&](auto& out) { lowp::log_softmax(x, out, columns); },
        [&](auto const& out) { lowp::cuda::log_softmax(nullptr, in, out, columns); });
    expect(
        "pb_relax", [&](auto& out) { lowp::softmax_pb_relax(x, out, columns, 4.0f); },
        [&](auto const& out) { lowp::cuda::softmax_pb_relax(nullptr, in, out, columns, 4.0f); });
    expect(
        "causal",
        [&](auto& out) { lowp::scale_mask_softmax(x, lowp::causal_mask{3}, out, columns, 0.3f); },
        [&](auto const& out) {
          lowp::cuda::scale_mask_softmax(nullptr, in, lowp::causal_mask{3}, out, columns, 0.3f);
        });
    expect(
        "masked",
        [&](auto& out) {
          lowp::attention_mask<std::uint8_t> const mask{flags};
          lowp::scale_mask_softmax(x, mask, out, columns, 0.3f);
        },
        [&](auto const& out) {
          lowp::attention_mask<std::uint8_t> const mask{std::span(masks.data(), masks.size())};
          lowp::cuda::scale_mask_softmax(nullptr, in, mask, out, columns, 0.3f);
        });
    expect(
        "rms_norm", [&](auto& out) { lowp::rms_norm(x, weight, out, columns, 1e-6f); },
        [&](auto const& out) { lowp::cuda::rms_norm(nullptr, in, weights, out, columns, 1e-6f); });
    std::vector<In> sum = x;
    std::vector<In> const addend(x.rbegin(), x.rend());
    device_range<In> const stream(x);
    device_range<In> const addends(addend);
    lowp::stochastic const draws{.seed = 5, .stream = 2, .offset = 3};
    expect(
        "add_rms_norm",
        [&](auto& out) { lowp::add_rms_norm(sum, addend, weight, out, columns, 1e-6f, draws); },
        [&](auto const& out) {
          lowp::cuda::add_rms_norm(nullptr, stream, addends, weights, out, columns, 1e-6f, draws);
        });
    EXPECT_TRUE(same_bits(stream.read(), sum));
    // The last column lies between the rows.
    std::size_t const some = columns - (columns > 1 ? 1 : 0);
    auto const row_of = [&](auto& range) {
      return lowp::strided_rows{std::span(range.data(), range.size()), columns};
    };
    std::span<In const> const w = std::span(weight).first(some);
    std::span<In const> const there(weights.data(), some);
    std::vector<float> want_mean(rows);
    std::vector<float> want_reciprocal(rows);
    device_range<float> const mean(want_mean);
    device_range<float> const reciprocal(want_reciprocal);
    expect(
        "layer_norm",
        [&](auto& out) {
          lowp::layer_norm(row_of(x), w, w, row_of(out), some, 1e-6f, want_mean, want_reciprocal);
        },
        [&](auto const& out) {
          lowp::cuda::layer_norm(nullptr, row_of(in), there, there, row_of(out), some, 1e-6f, mean,
                                 reciprocal);
        });
    auto const same_floats = [](device_range<float> const& got, std::vector<float> const& want) {
      return std::memcmp(got.read().data(), want.data(), want.size() * sizeof(float)) == 0;
    };
    EXPECT_TRUE(same_floats(mean, want_mean));
    EXPECT_TRUE(same_floats(reciprocal, want_reciprocal));
    expect(
        "gelu_tanh", [&](auto& out) { lowp::gelu_tanh(x, out); },
        [&](auto const& out) { lowp::cuda::gelu_tanh(nullptr, in, out); });
    expect(
        "gelu", [&](auto& out) { lowp::gelu(x, out); },
        [&](auto const& out) { lowp::cuda::gelu(nullptr, in, out); });
    expect(
        "silu", [&](auto& out) { lowp::silu(x, out); },
        [&](auto const& out) { lowp::cuda::silu(nullptr, in, out); });
    expect(
        "scale_by_power_of_two", [&](auto& out) { lowp::scale_by_power_of_two(x, out, -7); },
        [&](auto const& out) { lowp::cuda::scale_by_power_of_two(nullptr, in, out, -7); });
  }
}

#if PART == 0
TEST_F(device_pieces, derivatives) {
  for (std::size_t const columns : {5, 64, 257, 1024, 1025, 8200, 10007}) {
    SCOPED_TRACE(columns);
    std::vector<float> const x = scores<float>(columns);
    auto const dy = scores<lowp::bfloat16>(columns);
    std::vector<float> const weight(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(columns));
    std::vector<float> statistic(rows, 0.25f);
    statistic[rows - 1] = 0x1p-105f;  // of elements that may be far apart
    std::vector<std::int64_t> const labels{0, 3, -100, 4, 2, 1};
    device_range<float> const in(x);
    device_range<float> const weights(weight);
    device_range<float> const statistics(statistic);
    device_range<lowp::bfloat16> const gradient(dy);
    device_range<std::int64_t> const columns_of_labels(labels);
    auto const expect = [&](char const* name, auto const& here, auto const& there) {
      expect_same_bits<lowp::bfloat16>(x.size(), here, there, name);
    };
    auto const expect_floats = [](char const* name, std::vector<float> const& want,
                                  device_range<float> const& got) {
      EXPECT_TRUE(same_bits(got.read(), want)) << name;
    };
    expect(
        "scale_mask_softmax_backward",
        [&](auto& dx) { lowp::scale_mask_softmax_backward(x, dy, dx, columns, 0.3f); },
        [&](auto const& dx) {
          lowp::cuda::scale_mask_softmax_backward(nullptr, in, gradient, dx, columns, 0.3f);
        });
    expect(
        "log_softmax_backward", [&](auto& dx) { lowp::log_softmax_backward(x, dy, dx, columns); },
        [&](auto const& dx) {
          lowp::cuda::log_softmax_backward(nullptr, in, gradient, dx, columns);
        });
    lowp::cross_entropy_options const options{.label_smoothing = 0.1f,
                                              .reduction = lowp::loss_reduction::summed};
    std::vector<float> want_losses(rows);
    device_range<float> const losses(want_losses);
    lowp::sum_report want_loss;
    device_object<lowp::sum_report> const loss;
    // Braces name no type, as on the processor. The default, a mean, counts labels on the device.
    expect(
        "cross_entropy",
        [&](auto& dx) {
          lowp::cross_entropy(x, labels, columns, {.label_smoothing = 0.1f}, want_losses, dx);
        },
        [&](auto const& dx) {
          lowp::cuda::cross_entropy(nullptr, in, columns_of_labels, columns,
                                    {.label_smoothing = 0.1f}, losses, dx);
        });
    expect_floats("losses", want_losses, losses);
    for (lowp::cross_entropy_options const each : {options, lowp::cross_entropy_options{}}) {
      expect(
          "cross_entropy with a report",
          [&](auto& dx) {
            lowp::cross_entropy(x, labels, columns, each, want_losses, dx, want_loss);
          },
          [&](auto const& dx) {
            lowp::cuda::cross_entropy(nullptr, in, columns_of_labels, columns, each, losses, dx,
                                      loss.data());
          });
      expect_floats("losses", want_losses, losses);
    }
    EXPECT_EQ(loss.get().count, 2 * (rows - 1));
    EXPECT_EQ(loss.get().nan, want_loss.nan);
    EXPECT_EQ(want_loss.count, 2 * (rows - 1));
    lowp::sum_report here;
    EXPECT_EQ(lowp::cuda::try_cross_entropy(nullptr, in, columns_of_labels, columns, {}, losses,
                                            gradient, here)
                  .message(),
              "the report is in host memory that the device cannot reach");
    std::vector<float> want_weight(columns);
    std::vector<float> want_bias(columns);
    device_range<float> const of_weight(want_weight);
    device_range<float> const of_bias(want_bias);
    expect(
        "layer_norm_backward",
        [&](auto& dx) {
          lowp::layer_norm_backward(x, weight, dy, statistic, statistic, dx, want_weight, want_bias,
                                    columns);
        },
        [&](auto const& dx) {
          lowp::cuda::layer_norm_backward(nullptr, in, weights, gradient, statistics, statistics,
                                          dx, of_weight, of_bias, columns);
        });
    device_range<double> const scratch(
        std::vector<double>(lowp::layer_norm_backward_scratch(statistic.size(), columns)));
    expect(
        "layer_norm_backward, added to",
        [&](auto& dx) {
          lowp::layer_norm_backward(x, weight, dy, statistic, statistic, lowp::added_to{dx},
                                    want_weight, want_bias, columns);
        },
        [&](auto const& dx) {
          lowp::cuda::layer_norm_backward(nullptr, in, weights, gradient, statistics, statistics,
                                          lowp::added_to{std::span(dx.data(), dx.size())},
                                          of_weight, of_bias, columns, scratch);
        });
    expect_floats("dweight", want_weight, of_weight);
    expect_floats("dbias", want_bias, of_bias);
    lowp::add_rows(dy, lowp::added_to{want_bias}, columns);
    lowp::cuda::add_rows(nullptr, gradient,
                         lowp::added_to{std::span(of_bias.data(), of_bias.size())}, columns);
    expect_floats("dbias, added to", want_bias, of_bias);
    std::vector<float> want_row(statistic);
    device_range<float> const of_row(want_row);
    expect(
        "adafactor_direction",
        [&](auto& u) {
          lowp::adafactor_direction(dy, want_row, want_bias, u, columns, lowp::adafactor{}, 2);
        },
        [&](auto const& u) {
          lowp::cuda::adafactor_direction(nullptr, gradient, of_row, of_bias, u, columns,
                                          lowp::adafactor{}, 2);
        });
    expect_floats("row_var", want_row, of_row);
    expect_floats("column_var", want_bias, of_bias);
    std::vector<lowp::bfloat16> want_up(x.size());
    device_range<lowp::bfloat16> const up(want_up);
    expect(
        "gated_gelu_tanh_backward",
        [&](auto& dx) { lowp::gated_gelu_tanh_backward(x, x, dy, dx, want_up); },
        [&](auto const& dx) {
          lowp::cuda::gated_gelu_tanh_backward(nullptr, in, in, gradient, dx, up);
        });
    EXPECT_TRUE(same_bits(up.read(), want_up));
    expect(
        "gated_gelu_backward", [&](auto& dx) { lowp::gated_gelu_backward(x, x, dy, dx, want_up); },
        [&](auto const& dx) {
          lowp::cuda::gated_gelu_backward(nullptr, in, in, gradient, dx, up);
        });
    EXPECT_TRUE(same_bits(up.read(), want_up));
    expect(
        "gated_silu_backward", [&](auto& dx) { lowp::gated_silu_backward(x, x, dy, dx, want_up); },
        [&](auto const& dx) {
          lowp::cuda::gated_silu_backward(nullptr, in, in, gradient, dx, up);
        });
    EXPECT_TRUE(same_bits(up.read(), want_up));
  }
}

// More labels than a block counts, and rows of little else.
TEST_F(device_pieces, mean_loss_of_many_rows) {
  constexpr std::size_t columns = 2;
  for (std::size_t const some : {4096U, 4097U, 9001U}) {
    std::vector<float> x(some * columns);
    std::vector<std::int64_t> labels(some);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 89) / 16;
    for (std::size_t r = 0; r < some; ++r) labels[r] = r % 5 == 3 ? -100 : static_cast<int>(r % 2);
    std::vector<float> want_losses(some);
    std::vector<lowp::bfloat16> want(x.size());
    lowp::sum_report want_loss;
    lowp::cross_entropy(x, labels, columns, {}, want_losses, want, want_loss);
    device_range<float> const in(x);
    device_range<std::int64_t> const there(labels);
    device_range<float> const losses(std::vector<float>(some, 5.0f));
    device_range<lowp::bfloat16> const dx(std::vector<lowp::bfloat16>(want.size()));
    device_object<lowp::sum_report> const loss;
    lowp::cuda::cross_entropy(nullptr, in, there, columns, {}, losses, dx, loss.data());
    EXPECT_TRUE(same_bits(losses.read(), want_losses));
    EXPECT_TRUE(same_bits(dx.read(), want));
    EXPECT_EQ(loss.get().count, want_loss.count);
    EXPECT_NEAR(loss.get().mean(), want_loss.mean(), 0x1p-47 * want_loss.mean());
  }
}

// More rows than a block sorts, ids that many rows have, that one has, and that are no row.
TEST_F(device_pieces, embedding) {
  constexpr std::size_t some = 1500, table_rows = 300, columns = 40;
  std::vector<std::int64_t> ids(some);
  std::vector<float> dout(some * columns), of_table(table_rows * columns);
  for (std::size_t r = 0; r < some; ++r)
    ids[r] = r % 3 == 0 ? 7 : r % 11 == 4 ? -100 : static_cast<int>(r * 37 % table_rows);
  for (std::size_t i = 0; i < dout.size(); ++i)
    dout[i] = std::ldexp(static_cast<float>(i % 251) - 99.0f, static_cast<int>(i % 19) - 12);
  for (std::size_t i = 0; i < of_table.size(); ++i) of_table[i] = static_cast<float>(i % 89) / 16;
  std::vector<lowp::bfloat16> want(of_table.size());
  std::vector<lowp::bfloat16> want_rows(dout.size());
  lowp::cast(of_table, want);
  device_range<lowp::bfloat16> const table(want);
  device_range<lowp::bfloat16> const out(want_rows);
  device_range<float> const from(dout);
  device_range<std::uint64_t> const scratch(std::vector<std::uint64_t>(2 * some));
  device_range<std::int64_t> const there(ids);
  lowp::gather_rows(want, ids, want_rows, columns);
  lowp::cuda::gather_rows(nullptr, table, there, out, columns);
  EXPECT_TRUE(same_bits(out.read(), want_rows));
  lowp::scatter_add_rows(dout, ids, want, columns);
  lowp::cuda::scatter_add_rows(nullptr, from, there, table, columns, scratch);
  EXPECT_TRUE(same_bits(table.read(), want));
  ids.assign(some, -1);
  device_range<std::int64_t> const of_none(ids);
  lowp::cuda::scatter_add_rows(nullptr, from, of_none, table, columns, scratch, 5);
  EXPECT_TRUE(same_bits(table.read(), want));
  lowp::cuda::gather_rows(nullptr, table, of_none, out, columns);
  for (auto const each : out.read()) ASSERT_TRUE(isnan(each));
}

TEST_F(device_pieces, of_float16) { expect_same_rows<lowp::float16, lowp::float16>(); }
#elif PART == 1
TEST_F(device_pieces, of_floats) { expect_same_rows<float, float>(); }
#else
TEST_F(device_pieces, from_float_to_bfloat16) { expect_same_rows<float, lowp::bfloat16>(); }
#endif

}  // namespace
