// SPDX-License-Identifier: Apache-2.0
// Training steps that can be watched: forward, backward and AdamW on floats. A step without a watch
// makes none of its calls.
#pragma once

#include <lowp/update.hpp>
#include <lowp/watch.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "training/layers.hpp"
#include "training/transformer.hpp"

namespace bench {

using watch = lowp::overflow_watch<lowp::float16>;
using matrix = training::matrix<float>;

inline std::span<float const> values(matrix const& m) {
  return {m.data(), static_cast<std::size_t>(m.size())};
}

/// Weights whose gradients and moments are kept with them.
struct learned {
  matrix weight, gradient, m, v;

  explicit learned(matrix initial)
      : weight(std::move(initial)),
        gradient(matrix::Zero(weight.rows(), weight.cols())),
        m(gradient),
        v(gradient) {}
  auto view() const {
    return Eigen::Map<matrix const>(weight.data(), weight.rows(), weight.cols());
  }
  auto gradient_view() {
    return Eigen::Map<matrix>(gradient.data(), gradient.rows(), gradient.cols());
  }
  void update(std::uint64_t step, lowp::update_amax* seen) {
    auto const all = [](matrix& x) {
      return std::span<float>(x.data(), static_cast<std::size_t>(x.size()));
    };
    lowp::adamw const adamw{.lr = 1e-4};
    if (seen == nullptr)
      lowp::update(all(weight), all(gradient), all(m), all(v), adamw, step);
    else
      lowp::update(all(weight), all(gradient), all(m), all(v), adamw, step, lowp::nearest_even{},
                   *seen);
  }
};

/// A layer with a name, and what it was given last.
template <class Layer>
struct watched_layer {
  learned weight, bias;
  std::size_t place;

  Layer layer() const { return {weight.view(), bias.view()}; }

  void see(watch* w, matrix const& x, matrix const& y) const {
    if (w != nullptr)
      w->forward(place)
          .weight(values(weight.weight))
          .weight("bias", values(bias.weight))
          .input(values(x))
          .output(values(y));
  }
  template <class Seen>
  matrix backward(watch* w, Seen const& seen, matrix const& dy) {
    matrix dx = layer().backward(seen, dy, weight.gradient_view(), bias.gradient_view());
    if (w != nullptr)
      w->backward(place)
          .output(values(dy))
          .input(values(dx))
          .weight(values(weight.gradient))
          .weight("bias", values(bias.gradient));
    return dx;
  }
  /// The update tells the watch about the weights if there is `told`.
  void update(watch* told, std::uint64_t step) {
    for (auto& [name, each] :
         {std::pair<char const*, learned*>("weight", &weight), {"bias", &bias}}) {
      if (told == nullptr) {
        each->update(step, nullptr);
      } else {
        lowp::update_amax seen;
        each->update(step, &seen);
        told->update(place, name, seen);
      }
    }
  }
};
using dense = watched_layer<training::dense<float>>;
using norm = watched_layer<training::layer_norm<float>>;

inline dense make_dense(watch& w, std::string const& name, std::size_t rows, std::size_t columns) {
  auto const r = training::index(rows), c = training::index(columns);
  return {learned(matrix::Random(r, c) / std::sqrt(static_cast<float>(columns))),
          learned(matrix::Zero(r, 1)), w.add(name, "Linear")};
}
inline norm make_norm(watch& w, std::string const& name, std::size_t width) {
  auto const r = training::index(width);
  return {learned(matrix::Ones(r, 1)), learned(matrix::Zero(r, 1)), w.add(name, "LayerNorm")};
}

/// Layers of `width` tanh units; an example a column.
class watched_mlp {
 public:
  watched_mlp(watch& w, std::size_t width, std::size_t examples)
      : x_(matrix::Random(training::index(width), training::index(examples))) {
    for (int i = 0; i < 3; ++i)
      layers_.push_back(make_dense(w, "layer." + std::to_string(i), width, width));
  }

  /// `told`, if it is not null, is `w`, and learns of weights from their updates.
  void step(watch* w, watch* told, std::uint64_t number) {
    std::vector<matrix> seen{x_};
    for (dense const& each : layers_) {
      matrix y = each.layer().forward(seen.back());
      each.see(w, seen.back(), y);
      seen.push_back(y.array().tanh().matrix());
    }
    matrix d = (seen.back() - x_) / static_cast<float>(x_.cols());
    for (std::size_t i = layers_.size(); i-- > 0;) {
      d.array() *= 1 - seen[i + 1].array().square();
      d = layers_[i].backward(w, seen[i], d);
    }
    for (dense& each : layers_) each.update(told, number);
  }

 private:
  matrix x_;
  std::vector<dense> layers_;
};

/// A block as GPT-2 has them; a symbol a column.
class watched_block {
 public:
  watched_block(watch& w, std::size_t width, std::size_t length, std::size_t stretches)
      : attention_{width / 64, length},
        attention_place_(w.add("attention", "CausalAttention")),
        x_(matrix::Random(training::index(width), training::index(length * stretches))),
        norm1_(make_norm(w, "norm1", width)),
        qkv_(make_dense(w, "qkv", 3 * width, width)),
        attended_(make_dense(w, "attended", width, width)),
        norm2_(make_norm(w, "norm2", width)),
        up_(make_dense(w, "up", 4 * width, width)),
        down_(make_dense(w, "down", width, 4 * width)) {}

  /// `told`, if it is not null, is `w`, and learns of weights from their updates.
  void step(watch* w, watch* told, std::uint64_t number) {
    auto const a1 = norm1_.layer().forward(x_);
    norm1_.see(w, x_, a1.result);
    matrix const qkv = qkv_.layer().forward(a1.result);
    qkv_.see(w, a1.result, qkv);
    auto const a = attention_.forward(qkv);
    if (w != nullptr) w->forward(attention_place_).input(values(qkv)).output(values(a.result));
    matrix y = attended_.layer().forward(a.result);
    attended_.see(w, a.result, y);
    y += x_;
    auto const a2 = norm2_.layer().forward(y);
    norm2_.see(w, y, a2.result);
    matrix const up = up_.layer().forward(a2.result);
    up_.see(w, a2.result, up);
    matrix const gate = (1 + (-up.array()).exp()).inverse().matrix();
    matrix const hidden = (up.array() * gate.array()).matrix();
    matrix const out = down_.layer().forward(hidden);
    down_.see(w, hidden, out);

    matrix d = (out + y - x_) / static_cast<float>(x_.cols());
    matrix branch = down_.backward(w, hidden, d);
    branch.array() *= gate.array() * (1 + up.array() * (1 - gate.array()));
    branch = up_.backward(w, a2.result, branch);
    d += norm2_.backward(w, a2, branch);
    branch = attended_.backward(w, a.result, d);
    matrix const d_qkv = attention_.backward(qkv, a, branch);
    if (w != nullptr) w->backward(attention_place_).output(values(branch)).input(values(d_qkv));
    branch = qkv_.backward(w, a1.result, d_qkv);
    d += norm1_.backward(w, a1, branch);
    for (dense* each : {&qkv_, &attended_, &up_, &down_}) each->update(told, number);
    for (norm* each : {&norm1_, &norm2_}) each->update(told, number);
  }

 private:
  training::causal_attention<float> attention_;
  std::size_t attention_place_;
  matrix x_;
  norm norm1_;
  dense qkv_, attended_;
  norm norm2_;
  dense up_, down_;
};

}  // namespace bench
