// SPDX-License-Identifier: Apache-2.0
// Encoder blocks as those of T5 v1.1 and FLAN-T5 are (huggingface/transformers,
// models/t5/modeling_t5.py): pre-norm attention with an additive mask, gated tanh-GELU, residuals.
// Every intermediate is kept as T, sums of products are in float, as tensor cores have them. Four
// places overflow in float16, and each has its cure.
#pragma once

#include <lowp/cast.hpp>
#include <lowp/fused_add.hpp>
#include <lowp/measure.hpp>
#include <lowp/nn.hpp>
#include <lowp/update.hpp>
#include <lowp/value.hpp>
#include <lowp/watch.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace cases::flan_t5 {

using matrix = Eigen::MatrixXf;

inline constexpr int width = 64, heads = 4, key_width = width / heads, hidden = 160, blocks = 2;
inline constexpr int tokens = 32, sequences = 6, columns = tokens * sequences;
/// Real tokens of each sequence, the rest is padding; the last one fills up the batch.
inline constexpr std::array lengths{32, 20, 27, 9, 14, 0};

template <class M>
std::span<float const> span_of(M const& m) {
  return {m.data(), static_cast<std::size_t>(m.size())};
}

/// A tensor kept as T: a column for each token, one after another.
template <class T>
class tensor {
 public:
  tensor(Eigen::Index rows, Eigen::Index count)
      : rows_(rows), values_(static_cast<std::size_t>(rows * count)) {}
  explicit tensor(matrix const& m) : tensor(m.rows(), m.cols()) { lowp::cast(span_of(m), values_); }

  std::vector<T>& values() { return values_; }
  std::vector<T> const& values() const { return values_; }
  T& operator()(Eigen::Index row, Eigen::Index column) {
    return values_[static_cast<std::size_t>(column * rows_ + row)];
  }
  T operator()(Eigen::Index row, Eigen::Index column) const {
    return values_[static_cast<std::size_t>(column * rows_ + row)];
  }
  Eigen::Index rows() const { return rows_; }
  Eigen::Index count() const { return static_cast<Eigen::Index>(values_.size()) / rows_; }
  matrix floats() const {
    matrix m(rows_, count());
    lowp::cast(values_, std::span(m.data(), values_.size()));
    return m;
  }

 private:
  Eigen::Index rows_;
  std::vector<T> values_;
};

/// W x, summed in float and kept as T.
template <class T>
tensor<T> product(matrix const& w, tensor<T> const& x) {
  return tensor<T>(w * x.floats());
}

/// In a format that T's weights fit; floats that are values of T.
struct block_weights {
  matrix q, k, v, o, wi_0, wi_1, wo, attention_norm, layer_norm;
  float bias[heads][tokens];  ///< of a relative position
};
struct model {
  matrix embedded;  ///< of the tokens, padding being all the same
  matrix final_norm;
  std::array<block_weights, blocks> block;
};

/// The cured places, of four.
struct cures {
  bool mask = false, gelu = false, projection = false, residual = false;
  std::array<int, blocks> exponent{};  ///< of the projection's scale
};

/// Places at which a watch sees the blocks, and the output of each: nothing if it was not reached.
struct places {
  using watch_type = lowp::overflow_watch<>;

  places(watch_type& w, std::vector<lowp::abs_range>& outputs) : watch(w), made(outputs) {
    for (std::size_t b = 0; b < blocks; ++b) {
      std::string const name = "block." + std::to_string(b) + ".layer.";
      scores[b] = w.add(name + "0.SelfAttention.scores", "Add");
      softmax[b] = w.add(name + "0.SelfAttention.attn_weights", "Softmax");
      attention[b] = w.add(name + "0.SelfAttention.o", "Linear");
      first[b] = w.add(name + "0.residual", "Add");
      gate[b] = w.add(name + "1.DenseReluDense.wi_0", "Linear");
      up[b] = w.add(name + "1.DenseReluDense.wi_1", "Linear");
      cube[b] = w.add(name + "1.DenseReluDense.act", "Pow");
      gated[b] = w.add(name + "1.DenseReluDense.gated", "Mul");
      down[b] = w.add(name + "1.DenseReluDense.wo", "Linear");
      second[b] = w.add(name + "1.residual", "Add");
    }
    made.resize(w.places().size());
  }
  watch_type& watch;
  std::vector<lowp::abs_range>& made;
  std::array<std::size_t, blocks> scores{}, softmax{}, attention{}, first{}, gate{}, up{}, cube{},
      gated{}, down{}, second{};

  template <class Out, class... In>
  void see(std::size_t place, Out const& out, In const&... in) const {
    auto const frame = watch.forward(place);
    (frame.input(in), ...);
    frame.output(out);
    made[place] = lowp::abs_range_of(out);
  }
};

/// gelu_new as it is written down, each operation rounded to T; `cube` is what it makes of x^3.
template <class T>
tensor<T> usual_gelu(tensor<T> const& x, tensor<T>& cube) {
  T const cubic(0.044715f), scale(0.7978845608f), half(0.5f), one(1);
  tensor<T> y = x;
  for (std::size_t i = 0; i < y.values().size(); ++i) {
    T const each = x.values()[i];
    cube.values()[i] = each * each * each;
    T const argument = scale * (each + cubic * cube.values()[i]);
    y.values()[i] = half * each * (one + T(std::tanh(static_cast<float>(argument))));
  }
  return y;
}

/// e^(x - max) / sum in float, as torch's: a row of -inf alone is NaN.
inline void usual_softmax(std::vector<float>& row) {
  float const largest = *std::max_element(row.begin(), row.end());
  float sum = 0;
  for (float& each : row) sum += each = std::exp(each - largest);
  for (float& each : row) each /= sum;
}

/// The results of a run of the encoder.
template <class Stream>
struct run {
  tensor<Stream> stream;                  ///< after the last block
  matrix states;                          ///< its final norm
  std::array<lowp::amax, blocks> down{};  ///< the largest of each down-projection,
  std::array<double, blocks>
      deviation{};              ///< its standard deviation, both as it came out of the product
  lowp::scaling_report lost{};  ///< by scaling what goes into it
};

template <class T>
class encoder {
 public:
  encoder(model const& m, cures const& cured, places const& at)
      : model_(m), cured_(cured), at_(at) {}

  /// The residual stream is kept as Stream: T, or float.
  template <class Stream>
  run<Stream> forward() const {
    run<Stream> r{.stream = tensor<Stream>(model_.embedded), .states = {}};
    for (std::size_t b = 0; b < blocks; ++b) {
      block_weights const& w = model_.block[b];
      add(at_.first[b], r.stream, attended(b, normal(w.attention_norm, r.stream)), 0);
      int const exponent = cured_.projection ? cured_.exponent[b] : 0;
      tensor<T> const y = projected(b, normal(w.layer_norm, r.stream), exponent, r);
      add(at_.second[b], r.stream, y, exponent);
    }
    r.states = normal(model_.final_norm, r.stream).floats();
    return r;
  }

 private:
  template <class Stream>
  tensor<T> normal(matrix const& weight, tensor<Stream> const& x) const {
    tensor<T> y(width, columns);
    lowp::rms_norm(x.values(), span_of(weight), y.values(), width, 1e-6f);
    return y;
  }

  /// stream += 2^exponent y, rounded once to what the stream is kept as.
  template <class Stream>
  void add(std::size_t place, tensor<Stream>& stream, tensor<T> const& y, int exponent) const {
    tensor<Stream> const before = stream;
    lowp::fused_add(stream.values(), std::ldexp(1.0f, exponent), y.values());
    at_.see(place, stream.values(), before.values(), y.values());
  }

  tensor<T> attended(std::size_t b, tensor<T> const& x) const {
    block_weights const& w = model_.block[b];
    matrix const q = product(w.q, x).floats(), k = product(w.k, x).floats(),
                 v = product(w.v, x).floats();
    T const masked = cured_.mask ? lowp::mask_value<T> : std::numeric_limits<T>::lowest();
    tensor<T> before(tokens, heads * columns), scores = before, shares = before;
    tensor<T> mixed(width, columns);
    for (int s = 0; s < sequences; ++s)
      for (int h = 0; h < heads; ++h) {
        Eigen::Index const first = s * tokens, row = h * key_width;
        auto const part = [&](matrix const& all) {
          return all.block(row, first, key_width, tokens);
        };
        tensor<T> const raw(matrix(part(k).transpose() * part(q)));  // a column for each query
        Eigen::Index const at = (s * heads + h) * tokens;
        for (int i = 0; i < tokens; ++i)
          for (int j = 0; j < tokens; ++j) {
            before(j, at + i) = raw(j, i);
            T const bias(w.bias[h][std::abs(i - j)]);
            T const mask = j < lengths[static_cast<std::size_t>(s)] ? T(0) : masked;
            scores(j, at + i) = before(j, at + i) + (bias + mask);
          }
      }
    at_.see(at_.scores[b], scores.values(), before.values());
    share_out(scores, shares);
    at_.see(at_.softmax[b], shares.values(), scores.values());
    matrix const weights = shares.floats();
    for (int s = 0; s < sequences; ++s)
      for (int h = 0; h < heads; ++h) {
        matrix const values = v.block(h * key_width, s * tokens, key_width, tokens);
        tensor<T> head(matrix(values * weights.middleCols((s * heads + h) * tokens, tokens)));
        for (int i = 0; i < tokens; ++i)
          for (int c = 0; c < key_width; ++c) mixed(h * key_width + c, s * tokens + i) = head(c, i);
      }
    tensor<T> y = product(w.o, mixed);
    at_.see(at_.attention[b], y.values(), mixed.values());
    return y;
  }
  void share_out(tensor<T> const& scores, tensor<T>& shares) const {
    if (cured_.mask) return lowp::softmax(scores.values(), shares.values(), tokens);
    matrix const all = scores.floats();
    matrix result = all;
    for (Eigen::Index i = 0; i < all.cols(); ++i) {
      std::vector<float> row(all.col(i).begin(), all.col(i).end());
      usual_softmax(row);
      std::copy(row.begin(), row.end(), result.col(i).begin());
    }
    shares = tensor<T>(result);
  }

  /// 2^-exponent wo (gelu(wi_0 x) * wi_1 x)
  template <class Run>
  tensor<T> projected(std::size_t b, tensor<T> const& x, int exponent, Run& r) const {
    block_weights const& w = model_.block[b];
    tensor<T> const gate = product(w.wi_0, x), up = product(w.wi_1, x);
    at_.see(at_.gate[b], gate.values(), x.values());
    at_.see(at_.up[b], up.values(), x.values());
    tensor<T> gated(hidden, columns);
    if (cured_.gelu) {
      lowp::gated_gelu_tanh(gate.values(), up.values(), gated.values());
    } else {
      tensor<T> cube(hidden, columns);
      tensor<T> const activated = usual_gelu(gate, cube);
      at_.see(at_.cube[b], cube.values(), gate.values());
      for (std::size_t i = 0; i < gated.values().size(); ++i)
        gated.values()[i] = activated.values()[i] * up.values()[i];
    }
    at_.see(at_.gated[b], gated.values(), gate.values());
    lowp::scale_by_power_of_two(gated.values(), gated.values(), -exponent, r.lost);
    matrix const exact = w.wo * gated.floats();
    r.down[b] = lowp::measure(span_of(exact)).largest;
    double const mean = lowp::mean(span_of(exact));
    r.deviation[b] =
        std::sqrt(lowp::dot(span_of(exact), span_of(exact)) / static_cast<double>(exact.size()) -
                  mean * mean);
    tensor<T> y(exact);
    at_.see(at_.down[b], y.values(), gated.values());
    return y;
  }

  model const& model_;
  cures cured_;
  places const& at_;
};

}  // namespace cases::flan_t5
