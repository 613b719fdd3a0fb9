// SPDX-License-Identifier: Apache-2.0
// A FLAN-T5 encoder in float16: four places overflow, found and cured one after another.
#pragma once

#include <lowp/format/random.hpp>
#include <lowp/measure.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cases/flan_t5_encoder.hpp"

namespace cases {

namespace flan_t5 {

/// Standard deviation of the down-projections, and how many times as large as the others one of
/// their dimensions is: in trained streams few are.
inline constexpr double down_deviation = 4400;
inline constexpr int outlier = 21;
inline constexpr float outlier_gain = 13;

/// Nearly normal, a function of (tensor, place).
inline matrix normal(Eigen::Index rows, Eigen::Index count, float deviation, std::uint32_t tensor) {
  matrix m(rows, count);
  for (Eigen::Index i = 0; i < m.size(); ++i) {
    float sum = -6;
    for (std::uint32_t block = 0; block < 3; ++block)
      for (std::uint32_t const word :
           lowp::philox4x32({static_cast<std::uint32_t>(i), block, tensor, 0}, {5, 0}))
        sum += static_cast<float>(word >> 8) * 0x1p-24f;
    m.data()[i] = deviation * sum;
  }
  return m;
}

/// Weights that float16 and bfloat16 both have, so that all formats run the same model.
inline matrix kept(matrix m) {
  for (float& each : m.reshaped()) each = lowp::bfloat16(each);
  return m;
}

inline model make_model() {
  model m;
  std::uint32_t t = 0;
  matrix const embedded = normal(width, columns, 1, t++);
  matrix const padding = normal(width, 1, 1, t++);
  m.embedded = embedded;
  for (int s = 0; s < sequences; ++s)
    for (int i = lengths[static_cast<std::size_t>(s)]; i < tokens; ++i)
      m.embedded.col(s * tokens + i) = padding;
  m.embedded = kept(m.embedded);
  m.final_norm = kept(matrix::Ones(width, 1) + normal(width, 1, 0.1f, t++));
  for (block_weights& w : m.block) {
    w.q = kept(normal(width, width, 0.2f, t++));
    w.k = kept(normal(width, width, 0.2f, t++));
    w.v = kept(normal(width, width, 0.125f, t++));
    w.o = kept(normal(width, width, 0.125f, t++));
    w.wi_0 = kept(normal(hidden, width, 2, t++));
    w.wi_1 = kept(normal(hidden, width, 2, t++));
    w.wo = normal(width, hidden, 1, t++);
    w.wo.row(outlier) *= outlier_gain;
    w.attention_norm = kept(matrix::Ones(width, 1) + normal(width, 1, 0.1f, t++));
    w.layer_norm = kept(matrix::Ones(width, 1) + normal(width, 1, 0.1f, t++));
    matrix const bias = normal(heads, tokens, 1, t++);
    for (int h = 0; h < heads; ++h)
      for (int d = 0; d < tokens; ++d) w.bias[h][d] = lowp::bfloat16(bias(h, d));
  }
  return m;
}

/// A watched place, and how much of what it made is infinite or NaN.
struct site {
  std::string name;
  std::optional<double> lost;  ///< share; none where a cure has removed the place
};

/// A run, and its distance from fp32's.
struct attempt {
  std::string name;
  std::optional<lowp::watch_alarm> first;  ///< trouble
  double lost;          ///< share of the real tokens whose states are infinite or NaN
  double padding_lost;  ///< and of the padding
  double
      error;  ///< root mean square of the difference from fp32's states, over theirs; tokens not lost
  std::array<double, blocks> deviation;  ///< of the down-projections as computed
  lowp::scaling_report scaling;
  std::vector<site> sites;  ///< in the order in which they are gone through

  /// Share of what was scaled that lost bits.
  double inexact() const {
    return static_cast<double>(scaling.inexact) / static_cast<double>(scaling.count);
  }
};

template <class Stream>
attempt judge(std::string name, places const& at, run<Stream> const& r, matrix const& exact) {
  attempt a{std::move(name), at.watch.first(), 0, 0, 0, r.deviation, r.lost, {}};
  for (std::size_t i = 0; i < at.made.size(); ++i) {
    lowp::abs_range const& made = at.made[i];
    a.sites.push_back({at.watch.places()[i].name, std::nullopt});
    if (made.count != 0)
      a.sites.back().lost =
          static_cast<double>(made.nan + made.infinite) / static_cast<double>(made.count);
  }
  double difference = 0, whole = 0, real = 0, pads = 0;
  for (int i = 0; i < columns; ++i) {
    bool const is_padding = i % tokens >= lengths[static_cast<std::size_t>(i / tokens)];
    (is_padding ? pads : real) += 1;
    matrix const states = r.states.col(i);
    if (!lowp::abs_range_of(span_of(states)).is_sound()) {
      (is_padding ? a.padding_lost : a.lost) += 1;
    } else if (!is_padding) {
      difference += double{(states.col(0) - exact.col(i)).squaredNorm()};
      whole += double{exact.col(i).squaredNorm()};
    }
  }
  a.lost /= real;
  a.padding_lost /= pads;
  a.error = whole == 0 ? 0 : std::sqrt(difference / whole);
  return a;
}

}  // namespace flan_t5

struct flan_t5_case {
  std::array<double, flan_t5::blocks> deviation;  ///< of each down-projection, in fp32
  std::array<float, flan_t5::blocks> largest;
  std::array<int, flan_t5::blocks> exponent;  ///< of the scale that this gives
  std::vector<flan_t5::attempt> attempts;     ///< in float16: no cure, one, two, three, all four
  flan_t5::attempt bf16;                      ///< everything in bfloat16, no cure
};

inline flan_t5_case run_flan_t5() {
  using namespace flan_t5;
  flan_t5_case c{};
  model m = make_model();
  lowp::watch_policy const count{.throws = false, .lines = 100};

  std::vector<lowp::abs_range> made;
  // Each block's wo so that its output has that deviation.
  for (std::size_t b = 0; b < blocks; ++b) {
    places::watch_type watch(count);
    places const at(watch, made);
    auto const r = encoder<float>(m, {}, at).forward<float>();
    m.block[b].wo = kept(m.block[b].wo * static_cast<float>(down_deviation / r.deviation[b]));
  }
  places::watch_type watch(count);
  places const at(watch, made);
  auto const exact = encoder<float>(m, {}, at).forward<float>();
  c.deviation = exact.deviation;
  for (std::size_t b = 0; b < blocks; ++b) {
    c.largest[b] = exact.down[b].value();
    c.exponent[b] = lowp::projection_exponent<lowp::float16>(exact.down[b], 2);
  }

  auto const try_with = [&]<class T, class Stream>(std::string name, cures const& cured, T,
                                                   Stream) {
    places::watch_type seen(count);
    made.clear();
    places const here(seen, made);
    auto const r = encoder<T>(m, cured, here).template forward<Stream>();
    return judge(std::move(name), here, r, exact.states);
  };
  using lowp::float16, lowp::bfloat16;
  cures cured{.exponent = c.exponent};
  auto const in_float16 = [&](char const* name) {
    c.attempts.push_back(cured.residual ? try_with(name, cured, float16(), float())
                                        : try_with(name, cured, float16(), float16()));
  };
  in_float16("float16");
  cured.mask = true;
  in_float16("+ mask with head-room");
  cured.gelu = true;
  in_float16("+ GELU in float");
  cured.projection = true;
  in_float16("+ scaled projection");
  cured.residual = true;
  in_float16("+ residual in float");
  c.bf16 = try_with("bfloat16", {}, bfloat16(), bfloat16());
  return c;
}

}  // namespace cases
