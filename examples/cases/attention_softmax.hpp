// SPDX-License-Identifier: Apache-2.0
// Attention whose heads have scores of magnitudes that differ by 10^7. Its softmax is computed with
// nothing but float16, with PB-Relax (CogView, arXiv:2105.13290) and with float inside. The last is
// GLM-130B's choice ("FP32 softmax with QKV scaling (no PB-Relax)": logs/main-log-en.md of
// THUDM/GLM-130B).
#pragma once

#include <lowp/cast.hpp>
#include <lowp/format/random.hpp>
#include <lowp/measure.hpp>
#include <lowp/nn.hpp>
#include <lowp/value.hpp>
#include <lowp/watch.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

namespace cases {

/// A softmax, by what it does to the probabilities of a head.
struct softmax_outcome {
  double lost = 0;  ///< share of rows with a NaN
  /// The largest total variation distance of the other rows from the probabilities in double: the
  /// share of attention that goes elsewhere.
  double misplaced = 0;
};

struct attention_head {
  double largest_score;
  softmax_outcome pure, relaxed, scaled, wide;
};

struct attention_softmax {
  std::vector<attention_head> heads;
  std::string warning;  ///< of a watch that is told the scores before they are rounded to float16
};

namespace attention {

using lowp::float16;

inline constexpr std::size_t width = 64, rows = 64, columns = 128;
inline constexpr float alpha = 32;  ///< as CogView's

/// Queries or keys of a head whose elements are below 2^exponent: a function of (head, which).
inline std::vector<float16> vectors(std::size_t count, int exponent, std::uint32_t head,
                                    std::uint32_t which) {
  std::vector<float16> x(count * width);
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::uint32_t const word =
        lowp::philox4x32({static_cast<std::uint32_t>(i), head, which, 0}, {1, 0})[0];
    x[i] = float16(std::ldexp(static_cast<float>(word >> 8) * 0x1p-23f - 1, exponent));
  }
  return x;
}

/// q k / divisor for each pair, in double: all products are exact, and the sum nearly.
inline std::vector<double> scores(std::span<float16 const> q, std::span<float16 const> k,
                                  double divisor) {
  std::vector<double> s(rows * columns);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (std::size_t d = 0; d < width; ++d)
        sum += double{q[i * width + d]} * double{k[j * width + d]};
      s[i * columns + j] = sum / divisor;
    }
  return s;
}

inline std::vector<double> softmax_in_double(std::vector<double> x) {
  for (std::size_t first = 0; first < x.size(); first += columns) {
    auto const row = std::span(x).subspan(first, columns);
    double const largest = *std::max_element(row.begin(), row.end());
    double sum = 0;
    for (double& each : row) sum += each = std::exp(each - largest);
    for (double& each : row) each /= sum;
  }
  return x;
}

/// Scores as they leave a product: rounded once to the format that keeps them.
template <class T>
std::vector<T> kept_as(std::span<double const> x) {
  std::vector<T> y(x.size());
  std::transform(x.begin(), x.end(), y.begin(), [](double each) { return T(each); });
  return y;
}

inline softmax_outcome compared(std::span<float16 const> got, std::span<double const> want) {
  softmax_outcome all;
  for (std::size_t first = 0; first < got.size(); first += columns) {
    auto const row = got.subspan(first, columns);
    if (lowp::abs_range_of(row).nan != 0) {
      all.lost += 1.0 / rows;
      continue;
    }
    double distance = 0;
    for (std::size_t j = 0; j < columns; ++j)
      distance += std::abs(double{row[j]} - want[first + j]) / 2;
    all.misplaced = std::max(all.misplaced, distance);
  }
  return all;
}

inline attention_head head_of(std::span<float16 const> q, std::span<float16 const> k) {
  double const root = std::sqrt(double{width});
  std::vector<double> const exact = scores(q, k, root), relaxed = scores(q, k, root * alpha);
  std::vector<double> const want = softmax_in_double(exact);
  std::vector<float16> out(exact.size());
  auto const outcome = [&] { return compared(out, want); };
  attention_head h{};
  for (double const each : exact) h.largest_score = std::max(h.largest_score, std::abs(each));

  // Every step in float16.
  lowp::softmax_pb_relax(kept_as<float16>(exact), out, columns, 1.0f);
  h.pure = outcome();
  // The same with scores that were divided by alpha before they could overflow.
  lowp::softmax_pb_relax(kept_as<float16>(relaxed), out, columns, alpha);
  h.relaxed = outcome();
  // Those scores, and then all in float: what GLM-130B calls scaling.
  std::vector<std::uint8_t> const no_mask(columns);
  lowp::scale_mask_softmax(kept_as<float16>(relaxed), no_mask, out, columns, alpha);
  h.scaled = outcome();
  // Scores that were never anything but float.
  lowp::softmax(kept_as<float>(exact), out, columns);
  h.wide = outcome();
  return h;
}

}  // namespace attention

inline attention_softmax run_attention_softmax() {
  using namespace attention;
  attention_softmax found;
  lowp::overflow_watch<float16> watch({.frames = 1, .throws = false});
  std::uint32_t number = 0;
  for (int const exponent : {-3, -1, 1, 3, 5, 7, 9}) {
    auto const q = vectors(rows, exponent, number, 0), k = vectors(columns, exponent, number, 1);
    found.heads.push_back(head_of(q, k));
    std::size_t const place = watch.add("attention.head." + std::to_string(number), "Scores");
    watch.forward(place).input(q).input(k).output(
        kept_as<float>(scores(q, k, std::sqrt(double{width}))));
    ++number;
  }
  if (watch.first()) found.warning = watch.first()->text;
  return found;
}

}  // namespace cases
