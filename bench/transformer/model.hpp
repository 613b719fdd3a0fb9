// SPDX-License-Identifier: Apache-2.0
// A transformer of lowp's layers, forward and backward (A. Vaswani et al., arXiv:1706.03762). As in
// GPT-2, each half of a block begins with a norm, and GELU is the activation. Between layers,
// numbers are of type T: float or a narrow one. Eigen multiplies matrices in fp32.
#pragma once

#include <lowp/fused_add.hpp>
#include <lowp/nn.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "../training/corpus.hpp"
#include "../training/transformer_layout.hpp"
#include "products.hpp"
#include "row_matrix.hpp"

namespace transformers {

using training::tensors, training::tensor_shape;

template <class T>
class transformer : private training::transformer_layout {
 public:
  using transformer_layout::length;

  /// `text` and `rounding`, which may be null, outlive the model.
  transformer(training::corpus const& text, operand_rounding const* rounding)
      : vocabulary_(text.vocabulary_size()),
        rounding_(rounding),
        shapes_(transformer_layout::shapes(vocabulary_)) {}

  std::vector<tensor_shape> const& shapes() const { return shapes_; }

  /// Returns the mean loss, in nats. Gradients are written if there is room for them.
  double loss(tensors<float> const& weights, training::stretches const& batch, std::uint64_t seed,
              std::uint64_t step, tensors<float>* gradients) const {
    return pass{*this, weights, {seed, step, 0}, gradients}.run(batch);
  }

 private:
  static constexpr float eps = 1e-5f, scale = 0.25f;  // 1 / sqrt(width / heads)

  struct normalised {
    row_matrix<T> x, y;
    std::vector<float> mean, reciprocal_deviation;
  };
  struct activations {
    normalised norm1, norm2;
    row_matrix<T> qkv, shares, mixed, up, hidden;
  };

  // A forward pass, and the way back.
  struct pass {
    transformer const& model;
    tensors<float> const& weights;
    draw random;
    tensors<float>* gradients;

    auto w(std::size_t t) const { return training::view(model.shapes_, weights, t); }
    auto g(std::size_t t) const { return training::view(model.shapes_, *gradients, t); }
    matrix rounded(operand what, matrix m) {
      if (model.rounding_ != nullptr) model.rounding_->round(what, random, m);
      ++random.which;
      return m;
    }

    row_matrix<T> dense(std::size_t t, row_matrix<T> const& x) {
      matrix y = rounded(operand::weight, w(t).transpose()).transpose() *
                 rounded(operand::activation, x.floats());
      y.colwise() += w(t + 1).col(0);
      return row_matrix<T>(y);
    }
    row_matrix<T> dense_backward(std::size_t t, row_matrix<T> const& x, row_matrix<T> const& dy) {
      matrix const d = dy.floats();
      g(t + 1) = d.rowwise().sum();
      g(t).noalias() = rounded(operand::gradient_across, d.transpose()).transpose() *
                       rounded(operand::activation_across, x.floats().transpose());
      matrix const dx = rounded(operand::weight, w(t)).transpose() * rounded(operand::gradient, d);
      return row_matrix<T>(dx);
    }

    normalised norm(std::size_t t, row_matrix<T> const& x) const {
      normalised n{x, x, std::vector<float>(x.rows()), std::vector<float>(x.rows())};
      lowp::layer_norm(x.elements, weights[t], weights[t + 1], n.y.elements, x.columns, eps, n.mean,
                       n.reciprocal_deviation);
      return n;
    }
    row_matrix<T> norm_backward(std::size_t t, normalised const& n, row_matrix<T> const& dy) const {
      row_matrix<T> dx = dy;
      lowp::layer_norm_backward(n.x.elements, weights[t], dy.elements, n.mean,
                                n.reciprocal_deviation, dx.elements, (*gradients)[t],
                                (*gradients)[t + 1], dy.columns);
      return dx;
    }

    // Calls function(place, q, k, v), for each head of each stretch, with the place of its shares.
    // Queries, keys and values are thirds of the columns of qkv.
    template <class Function>
    static void for_each_head(Eigen::Index tokens, Function const& function) {
      auto const third = index(width), size = index(width / heads), stretch = index(length);
      Eigen::Index place = 0;
      for (Eigen::Index token = 0; token < tokens; token += stretch)
        for (Eigen::Index row = 0; row < third; row += size, place += stretch)
          function(place, [=](auto& m, Eigen::Index which) {
            return m.block(which * third + row, token, size, stretch);
          });
    }
    void attend(activations& a) const {
      matrix const of = a.qkv.floats();
      matrix scores(index(length), of.cols() * index(heads));
      for_each_head(of.cols(), [&](Eigen::Index place, auto const& part) {
        scores.middleCols(place, index(length)).noalias() = part(of, 1).transpose() * part(of, 0);
      });
      a.shares = row_matrix<T>(scores);
      lowp::scale_mask_softmax(a.shares.elements, lowp::causal_mask{length}, a.shares.elements,
                               length, scale);
      matrix const shares = a.shares.floats();
      matrix mixed(index(width), of.cols());
      for_each_head(of.cols(), [&](Eigen::Index place, auto const& part) {
        part(mixed, 0).noalias() = part(of, 2) * shares.middleCols(place, index(length));
      });
      a.mixed = row_matrix<T>(mixed);
    }
    row_matrix<T> attend_backward(activations const& a, row_matrix<T> const& dy) const {
      matrix const of = a.qkv.floats(), shares = a.shares.floats(), d = dy.floats();
      matrix result(of.rows(), of.cols()), d_shares(shares.rows(), shares.cols());
      for_each_head(of.cols(), [&](Eigen::Index place, auto const& part) {
        auto const p = shares.middleCols(place, index(length));
        part(result, 2).noalias() = part(d, 0) * p.transpose();
        d_shares.middleCols(place, index(length)).noalias() = part(of, 2).transpose() * part(d, 0);
      });
      row_matrix<T> scores(d_shares);
      lowp::scale_mask_softmax_backward(a.shares.elements, scores.elements, scores.elements, length,
                                        scale);
      matrix const ds = scores.floats();
      for_each_head(of.cols(), [&](Eigen::Index place, auto const& part) {
        auto const s = ds.middleCols(place, index(length));
        part(result, 0).noalias() = part(of, 1) * s;
        part(result, 1).noalias() = part(of, 0) * s.transpose();
      });
      return row_matrix<T>(result);
    }

    double run(training::stretches const& batch) {
      std::size_t const tokens = batch.contexts.size();
      row_matrix<T> x(embedded(batch.contexts));
      std::vector<activations> done;
      row_matrix<T> const none(0, 1);
      for (std::size_t t = 0; t < blocks * of_block; t += of_block) {
        activations& a = done.emplace_back(
            activations{norm(t + norm1, x), {none, none, {}, {}}, none, none, none, none, none});
        a.qkv = dense(t + qkv, a.norm1.y);
        attend(a);
        lowp::fused_add(x.elements, 1.0f, dense(t + attended, a.mixed).elements);
        a.norm2 = norm(t + norm2, x);
        a.up = dense(t + up, a.norm2.y);
        a.hidden = a.up;
        lowp::gelu_tanh(a.up.elements, a.hidden.elements);
        lowp::fused_add(x.elements, 1.0f, dense(t + down, a.hidden).elements);
      }
      normalised const last = norm(last_norm, x);
      row_matrix<T> d = dense(head, last.y);
      std::vector<std::int32_t> const labels(batch.targets.begin(), batch.targets.end());
      std::vector<float> losses(tokens);
      lowp::cross_entropy(d.elements, labels, model.vocabulary_, {}, losses, d.elements);
      double sum = 0;
      for (float const loss : losses) sum += static_cast<double>(loss);
      if (gradients != nullptr) go_back(batch, done, last, std::move(d));
      return sum / static_cast<double>(tokens);
    }

    void go_back(training::stretches const& batch, std::vector<activations> const& done,
                 normalised const& last, row_matrix<T> d) {
      d = norm_backward(last_norm, last, dense_backward(head, last.y, d));
      for (std::size_t i = blocks; i-- > 0;) {
        activations const& a = done[i];
        std::size_t const t = i * of_block;
        row_matrix<T> branch = dense_backward(t + down, a.hidden, d);
        lowp::gelu_tanh_backward(a.up.elements, branch.elements, branch.elements);
        branch = norm_backward(t + norm2, a.norm2, dense_backward(t + up, a.norm2.y, branch));
        lowp::fused_add(d.elements, 1.0f, branch.elements);
        branch = attend_backward(a, dense_backward(t + attended, a.mixed, d));
        branch = norm_backward(t + norm1, a.norm1, dense_backward(t + qkv, a.norm1.y, branch));
        lowp::fused_add(d.elements, 1.0f, branch.elements);
      }
      matrix const dx = d.floats();
      training::embed_backward<float>(batch.contexts, dx, g(0));
      g(1).setZero();
      for (Eigen::Index i = 0; i < dx.cols(); i += index(length))
        g(1) += dx.middleCols(i, index(length));
    }

    matrix embedded(std::span<std::uint8_t const> symbols) const {
      matrix x = training::embed<float>(w(0), symbols);
      for (Eigen::Index i = 0; i < x.cols(); i += index(length))
        x.middleCols(i, index(length)) += w(1);
      return x;
    }
  };

  std::size_t vocabulary_;
  operand_rounding const* rounding_;
  std::vector<tensor_shape> shapes_;
};

}  // namespace transformers
