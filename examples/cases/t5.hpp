// SPDX-License-Identifier: Apache-2.0
// A network that was trained in bfloat16 and is to run in float16.
#pragma once

#include <lowp/cast.hpp>
#include <lowp/measure.hpp>
#include <lowp/update.hpp>
#include <lowp/value.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cases/t5_network.hpp"

namespace cases {

namespace t5 {

struct examples {
  matrix x;
  std::vector<int> target;
};

/// Numbers in [-1, 1), a function of (seed, tensor).
inline matrix uniform(int rows, int columns, std::uint32_t seed, std::uint32_t tensor) {
  matrix m(rows, columns);
  for (Eigen::Index i = 0; i < m.size(); ++i) {
    auto const at = static_cast<std::uint32_t>(i);
    m.data()[i] =
        static_cast<float>(lowp::philox4x32({at, tensor, 0, 0}, {seed, 0})[0] >> 8) * 0x1p-23f - 1;
  }
  return m;
}

/// The answers of a random network of tanh units to random numbers.
inline examples drawn(int count, std::uint32_t seed) {
  matrix const first = 0.8f * uniform(width, inputs, 1, 100),
               last = uniform(classes, width, 1, 101);
  examples e{kept_as<lowp::bfloat16>(2 * uniform(inputs, count, seed, 102)), {}};
  matrix const y = last * (first * e.x).array().tanh().matrix();
  for (Eigen::Index i = 0; i < y.cols(); ++i) {
    Eigen::Index largest = 0;
    y.col(i).maxCoeff(&largest);
    e.target.push_back(static_cast<int>(largest));
  }
  return e;
}

/// Weights kept in bfloat16, rounded stochastically; moments in float.
class trained {
 public:
  trained() {
    for (std::size_t t = 0; t < tensors; ++t) {
      auto const [rows, columns] = shape(t);
      matrix const initial = uniform(rows, columns, 2, static_cast<std::uint32_t>(t)) /
                             std::sqrt(static_cast<float>(columns));
      auto const size = static_cast<std::size_t>(initial.size());
      stored_.emplace_back(size);
      lowp::cast(span_of(initial), stored_.back());
      first_.emplace_back(size);
      second_.emplace_back(size);
    }
  }

  weights values() const {
    weights w;
    for (std::size_t t = 0; t < tensors; ++t) {
      auto const [rows, columns] = shape(t);
      lowp::cast(stored_[t], span_of(w.emplace_back(rows, columns)));
    }
    return w;
  }

  /// Takes a step of AdamW whose rate is relative to each tensor's root mean square. T5 was trained
  /// so, with Adafactor (N. Shazeer, M. Stern, arXiv:1804.04235, "relative step sizes").
  double step(examples const& batch, double rate, large_activation_penalty const& penalty = {}) {
    weights const w = values();
    activations const a = forward<lowp::bfloat16>(w, batch.x);
    matrix d = a.logits;
    double const loss = cross_entropy(d, batch.target);
    weights const g = gradient(w, batch.x, a, d, penalty);
    ++steps_;
    for (std::size_t t = 0; t < tensors; ++t) {
      double const size = std::sqrt(double{w[t].squaredNorm()} / static_cast<double>(w[t].size()));
      lowp::update(
          stored_[t], span_of(g[t]), first_[t], second_[t],
          lowp::adamw{.lr = rate * size, .weight_decay = 0}, steps_,
          lowp::stochastic{.seed = 3, .stream = lowp::stream_of(static_cast<std::uint32_t>(t), 0)});
    }
    return loss;
  }

 private:
  std::vector<std::vector<lowp::bfloat16>> stored_;
  std::vector<std::vector<float>> first_, second_;
  std::uint64_t steps_ = 0;
};

inline constexpr double rate = 0.1, tuning_rate = 0.03, last_rate = 0.003;
inline constexpr int batch = 64, annealing = 400;
inline constexpr large_activation_penalty penalty{.weight = 1, .bound = 16384};

/// From a rate down to the last one.
inline double annealed(double from, int step) {
  return from * std::pow(last_rate / from, step / double{annealing});
}

/// Batches of examples that were never seen before.
class lessons {
 public:
  examples next() {
    Eigen::Index const first = batch * (at_++ % batches);
    auto const target = all_.target.begin() + first;
    return {all_.x.middleCols(first, batch), {target, target + batch}};
  }

 private:
  static constexpr Eigen::Index batches = 512;
  examples all_ = drawn(batches * batch, 7);
  Eigen::Index at_ = 0;
};

inline float largest(activations const& a) {
  float all = 0;
  for (block_activations const& b : a.block)
    for (matrix const* each : {&b.gate, &b.up, &b.gated, &b.added, &b.stream})
      all = std::max(all, each->cwiseAbs().maxCoeff());
  return all;
}

/// An activation of the network, over all examples.
struct layer_range {
  std::string name;
  lowp::range_census census;  ///< for float16
};
inline std::vector<layer_range> ranges(activations const& a) {
  std::vector<layer_range> all;
  for (std::size_t b = 0; b < blocks; ++b) {
    block_activations const& c = a.block[b];
    std::string const name = "block." + std::to_string(b) + ".";
    for (auto const& [part, m] :
         {std::pair{"wi_0", &c.gate}, std::pair{"wi_1", &c.up}, std::pair{"gated", &c.gated},
          std::pair{"wo", &c.added}, std::pair{"residual", &c.stream}})
      all.push_back({name + part, lowp::census<lowp::float16>(span_of(*m))});
  }
  return all;
}

/// For each activation the largest power of two, at most 1, that leaves two bits of head-room.
inline scales scales_for(std::vector<layer_range> const& ranges) {
  auto const fits = [&](std::size_t b, std::size_t part) {
    return std::min(lowp::power_of_two_scale<lowp::float16>(ranges[5 * b + part].census.max_abs, 2),
                    1.0f);
  };
  scales s;
  float stream = 1;
  for (std::size_t b = 0; b < blocks; ++b) {
    s.gate[b] = fits(b, 0);
    s.up[b] = std::min(fits(b, 1), fits(b, 2) / s.gate[b]);
    s.stream[b] = stream = std::min({stream, fits(b, 3), fits(b, 4)});
  }
  return s;
}

/// The accuracy of a network on examples that it has not seen, with its tensors in a format.
struct outcome {
  double lost;   ///< share of examples with a logit that is infinite or NaN
  double right;  ///< share of examples
  double error;  ///< root mean square of the logits' difference from fp32's, over theirs
};
inline outcome compare(matrix const& logits, matrix const& exact, std::vector<int> const& target) {
  outcome o{0, 0, 0};
  double difference = 0, whole = 0;
  for (Eigen::Index i = 0; i < logits.cols(); ++i) {
    matrix const column = logits.col(i);
    if (lowp::abs_range const seen = lowp::abs_range_of(span_of(column));
        seen.nan + seen.infinite != 0) {
      ++o.lost;
      continue;
    }
    Eigen::Index best = 0;
    column.col(0).maxCoeff(&best);
    if (best == target[static_cast<std::size_t>(i)]) ++o.right;
    difference += double{(column.col(0) - exact.col(i)).squaredNorm()};
    whole += double{exact.col(i).squaredNorm()};
  }
  auto const count = static_cast<double>(logits.cols());
  return {o.lost / count, o.right / count, std::sqrt(difference / whole)};
}

}  // namespace t5

/// The fate of a set of weights.
struct t5_network {
  t5::outcome fp32, bf16, fp16;
  std::vector<t5::layer_range> ranges;  ///< of its activations in bfloat16
  std::string alarm;                    ///< what a watch said of it in float16; empty if nothing
};

struct t5_case {
  int steps = 0, tuning_steps = 0;
  t5_network trained, tuned;
  std::string
      warning;  ///< of a watch for float16 over the trained network in bfloat16: its last line
  t5::scales scales;
  t5_network scaled;  ///< its ranges are those in float16
};

namespace t5 {

template <class T>
std::string alarm_of(weights const& w, matrix const& x, scales const& s) {
  lowp::overflow_watch<lowp::float16> watch({.frames = 5, .lines = 100});
  places const at(watch);
  try {
    forward<T>(w, x, s, &at);
  } catch (lowp::watch_error const& error) {
    return error.what();
  }
  return "";
}

inline t5_network evaluated(weights const& w, examples const& e, scales const& s = {}) {
  activations const exact = forward<float>(w, e.x), narrow = forward<lowp::bfloat16>(w, e.x);
  weights const halves = [&] {
    weights all;
    for (matrix const& each : scaled(w, s)) all.push_back(kept_as<lowp::float16>(each));
    return all;
  }();
  activations const half = forward<lowp::float16>(halves, e.x, s);
  bool const is_scaled = s.stream.back() != 1;
  return {compare(exact.logits, exact.logits, e.target),
          compare(narrow.logits, exact.logits, e.target),
          compare(half.logits, exact.logits, e.target), ranges(is_scaled ? half : narrow),
          alarm_of<lowp::float16>(halves, e.x, s)};
}

}  // namespace t5

/// Trains until activations are beyond 2 * 10^5, then with a falling rate; breaks; cures in two
/// ways.
inline t5_case run_t5() {
  using namespace t5;
  t5_case c;
  lessons lesson;
  trained network;
  for (bool is_large = false; !is_large && c.steps < 20000; ++c.steps) {
    examples const given = lesson.next();
    network.step(given, rate);
    if (c.steps % 100 == 99)
      is_large = largest(forward<lowp::bfloat16>(network.values(), given.x)) > 2e5f;
  }
  for (int i = 0; i < annealing; ++i, ++c.steps) network.step(lesson.next(), annealed(rate, i));

  examples const unseen = drawn(1024, 8);
  weights const w = network.values();
  c.trained = evaluated(w, unseen);
  c.warning = alarm_of<lowp::bfloat16>(w, unseen.x, {});
  c.warning.erase(0, c.warning.rfind('\n') + 1);

  // Calibrated on examples of the training.
  c.scales = scales_for(ranges(forward<lowp::bfloat16>(w, drawn(1024, 7).x)));
  c.scaled = evaluated(w, unseen, c.scales);

  for (bool is_small = false; !is_small && c.tuning_steps < 2000; ++c.tuning_steps) {
    examples const given = lesson.next();
    network.step(given, tuning_rate, penalty);
    if (c.tuning_steps % 100 == 99)
      is_small = largest(forward<lowp::bfloat16>(network.values(), given.x)) < 2 * penalty.bound;
  }
  for (int i = 0; i < annealing; ++i, ++c.tuning_steps)
    network.step(lesson.next(), annealed(tuning_rate, i), penalty);
  c.tuned = evaluated(network.values(), unseen);
  return c;
}

}  // namespace cases
