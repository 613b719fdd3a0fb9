// SPDX-License-Identifier: Apache-2.0
// A small residual network in the manner of T5 v1.1 (C. Raffel et al., arXiv:1910.10683, and N.
// Shazeer, arXiv:2002.05202, for gated layers). Each block adds wo (relu(wi_0 n) * wi_1 n) to the
// stream. n is the stream normalised by its root mean square. So later blocks see no scale, and
// nothing holds it.
#pragma once

#include <lowp/cast.hpp>
#include <lowp/value.hpp>
#include <lowp/watch.hpp>

#include <Eigen/Core>

#include <array>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace cases::t5 {

using matrix = Eigen::MatrixXf;

inline constexpr int inputs = 16, width = 32, hidden = 64, classes = 8, blocks = 3;
inline constexpr std::size_t tensors = 2 + 3 * blocks;
enum of_block { gate = 1, up = 2, down = 3 };  ///< and 3 more for each block; the head is last

inline std::array<int, 2> shape(std::size_t tensor) {
  if (tensor == 0) return {width, inputs};
  if (tensor == tensors - 1) return {classes, width};
  return (tensor - 1) % 3 == 2 ? std::array{width, hidden} : std::array{hidden, width};
}

/// A matrix for each tensor of the network.
using weights = std::vector<matrix>;

inline std::span<float> span_of(matrix& m) {
  return {m.data(), static_cast<std::size_t>(m.size())};
}
inline std::span<float const> span_of(matrix const& m) {
  return {m.data(), static_cast<std::size_t>(m.size())};
}

/// x, if tensors are kept as T.
template <class T>
matrix kept_as(matrix x) {
  if constexpr (!std::is_same_v<T, float>) {
    std::vector<T> narrow(static_cast<std::size_t>(x.size()));
    lowp::cast(span_of(x), narrow);
    lowp::cast(narrow, span_of(x));
  }
  return x;
}

/// By how much, in powers of two, what a layer computes is smaller than in the network that was
/// trained. No more than exponents change, so in a format without end nothing would.
struct scales {
  std::array<float, blocks> gate{1, 1, 1}, up{1, 1, 1}, stream{1, 1, 1};
};

/// The weights that compute at those scales.
inline weights scaled(weights w, scales const& s) {
  for (std::size_t b = 0; b < blocks; ++b) {
    w[3 * b + gate] *= s.gate[b];
    w[3 * b + up] *= s.up[b];
    w[3 * b + down] *= s.stream[b] / (s.gate[b] * s.up[b]);
  }
  return w;
}

/// x over its root mean square, column by column; computed in float, kept as T.
template <class T>
matrix normalised(matrix const& x, float stream_scale) {
  // In the place of T5's 1e-6, so that a scale changes nothing but exponents.
  float const epsilon = 1e-6f * stream_scale * stream_scale;
  Eigen::RowVectorXf const inverse =
      (x.colwise().squaredNorm().array() / static_cast<float>(x.rows()) + epsilon).sqrt().inverse();
  return kept_as<T>((x.array().rowwise() * inverse.array()).matrix());
}
inline matrix normalised_backward(matrix const& x, matrix const& n, matrix const& dn) {
  Eigen::RowVectorXf const inverse =
      (x.colwise().squaredNorm().array() / static_cast<float>(x.rows()) + 1e-6f).sqrt().inverse();
  Eigen::RowVectorXf const along = (dn.array() * n.array()).colwise().mean();
  return ((dn.array() - n.array().rowwise() * along.array()).rowwise() * inverse.array()).matrix();
}

/// The operations of a block, in order.
struct block_activations {
  matrix normal, gate, up, gated, added, stream;
};
struct activations {
  matrix embedded, normal, logits;
  std::array<block_activations, blocks> block;
};

/// Places at which a watch sees the network.
struct places {
  using watch_type = lowp::overflow_watch<lowp::float16>;

  explicit places(watch_type& w) : watch(w), embedding(w.add("embedding", "Linear")) {
    for (std::size_t b = 0; b < blocks; ++b) {
      std::string const name = "block." + std::to_string(b) + ".";
      wi_0[b] = w.add(name + "wi_0", "Linear");
      wi_1[b] = w.add(name + "wi_1", "Linear");
      gated[b] = w.add(name + "gated", "Product");
      wo[b] = w.add(name + "wo", "Linear");
      residual[b] = w.add(name + "residual", "Sum");
    }
    norm = w.add("final_norm", "RMSNorm");
    head = w.add("head", "Linear");
  }
  watch_type& watch;
  std::size_t embedding, norm = 0, head = 0;
  std::array<std::size_t, blocks> wi_0{}, wi_1{}, gated{}, wo{}, residual{};
};

/// The network with all its tensors kept as T; products are summed in float, as tensor cores do.
/// `w` is kept as T already; `at` may be null.
template <class T>
activations forward(weights const& w, matrix const& x, scales const& s = {},
                    places const* at = nullptr) {
  // Tensors are seen as what they are kept as: their floats are values of T.
  auto const see = [&](std::size_t place, std::initializer_list<matrix const*> in,
                       matrix const& out, matrix const* weight = nullptr) {
    auto const frame = at->watch.forward(place);
    if (weight != nullptr) frame.weight(span_of(*weight));
    for (matrix const* each : in) frame.input(span_of(*each));
    frame.output(span_of(out));
  };
  activations a;
  a.embedded = kept_as<T>(w[0] * x);
  if (at != nullptr) see(at->embedding, {&x}, a.embedded, &w[0]);
  matrix const* stream = &a.embedded;
  float scale = 1;
  for (std::size_t b = 0; b < blocks; ++b) {
    block_activations& c = a.block[b];
    matrix const &w0 = w[3 * b + gate], &w1 = w[3 * b + up], &wo = w[3 * b + down];
    c.normal = normalised<T>(*stream, scale);
    c.gate = kept_as<T>(w0 * c.normal);
    if (at != nullptr) see(at->wi_0[b], {&c.normal}, c.gate, &w0);
    c.up = kept_as<T>(w1 * c.normal);
    if (at != nullptr) see(at->wi_1[b], {&c.normal}, c.up, &w1);
    c.gated = kept_as<T>((c.gate.array().max(0.0f) * c.up.array()).matrix());
    if (at != nullptr) see(at->gated[b], {&c.gate, &c.up}, c.gated);
    c.added = kept_as<T>(wo * c.gated);
    if (at != nullptr) see(at->wo[b], {&c.gated}, c.added, &wo);
    c.stream = kept_as<T>(*stream * (s.stream[b] / scale) + c.added);
    if (at != nullptr) see(at->residual[b], {stream, &c.added}, c.stream);
    scale = s.stream[b];
    stream = &c.stream;
  }
  a.normal = normalised<T>(*stream, scale);
  if (at != nullptr) see(at->norm, {stream}, a.normal);
  a.logits = kept_as<T>(w.back() * a.normal);
  if (at != nullptr) see(at->head, {&a.normal}, a.logits, &w.back());
  return a;
}

/// `logits` become the derivative of the mean cross-entropy, which is returned.
inline double cross_entropy(matrix& logits, std::vector<int> const& targets) {
  double loss = 0;
  for (Eigen::Index i = 0; i < logits.cols(); ++i) {
    auto column = logits.col(i);
    column.array() -= column.maxCoeff();
    float const own = column(targets[static_cast<std::size_t>(i)]);
    column = column.array().exp().matrix();
    float const sum = column.sum();
    loss += std::log(double{sum}) - double{own};
    column /= sum;
    column(targets[static_cast<std::size_t>(i)]) -= 1;
  }
  logits /= static_cast<float>(logits.cols());
  return loss / static_cast<double>(logits.cols());
}

/// The derivative of weight * mean(max(0, |x| / bound - 1)^2).
struct large_activation_penalty {
  float weight = 0, bound = 1;

  void add_to(matrix& d, matrix const& x) const {
    if (weight == 0) return;
    auto const beyond = (x.array().abs() / bound - 1).max(0.0f);
    d.array() += 2 * weight / (bound * static_cast<float>(x.size())) * beyond * x.array().sign();
  }
};

/// The gradient of cross-entropy and penalty; values that were kept as something narrower than
/// float are taken as they are.
inline weights gradient(weights const& w, matrix const& x, activations const& a, matrix dlogits,
                        large_activation_penalty const& penalty = {}) {
  weights g(tensors);
  g.back() = dlogits * a.normal.transpose();
  matrix const& last = a.block.back().stream;
  matrix d = normalised_backward(last, a.normal, w.back().transpose() * dlogits);
  for (std::size_t b = blocks; b-- > 0;) {
    block_activations const& c = a.block[b];
    matrix const& before = b == 0 ? a.embedded : a.block[b - 1].stream;
    penalty.add_to(d, c.stream);
    matrix d_added = d;
    penalty.add_to(d_added, c.added);
    g[3 * b + down] = d_added * c.gated.transpose();
    matrix d_gated = w[3 * b + down].transpose() * d_added;
    penalty.add_to(d_gated, c.gated);
    matrix const positive = (c.gate.array() > 0).cast<float>().matrix();
    matrix const d_gate = (d_gated.array() * c.up.array() * positive.array()).matrix();
    matrix const d_up = (d_gated.array() * c.gate.array() * positive.array()).matrix();
    g[3 * b + gate] = d_gate * c.normal.transpose();
    g[3 * b + up] = d_up * c.normal.transpose();
    matrix const d_normal = w[3 * b + gate].transpose() * d_gate + w[3 * b + up].transpose() * d_up;
    d += normalised_backward(before, c.normal, d_normal);
  }
  g[0] = d * x.transpose();
  return g;
}

}  // namespace cases::t5
