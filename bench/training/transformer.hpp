// SPDX-License-Identifier: Apache-2.0
// A transformer that continues a text (A. Vaswani et al., arXiv:1706.03762; normalised before each
// half of a block, as GPT-2). Its norm weights start at exactly 1.
#pragma once

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "corpus.hpp"
#include "layers.hpp"
#include "transformer_layout.hpp"

namespace training {

/// Each symbol looks at itself and at those before it in its stretch. Queries, keys and values are
/// the three thirds of the rows of `qkv`; heads are cut from each of them.
template <class Scalar>
struct causal_attention {
  std::size_t heads, length;

  struct activation {
    std::vector<matrix<Scalar>> shares;  ///< of each key, by query; for each stretch and head
    matrix<Scalar> result;
  };

  activation forward(matrix<Scalar> const& qkv) const {
    activation a;
    a.result.resize(qkv.rows() / 3, qkv.cols());
    for_each_head(qkv, [&](auto const& part) {
      matrix<Scalar>& p = a.shares.emplace_back(scale(qkv) * part(1).transpose() * part(0));
      for (Eigen::Index query = 0; query < p.cols(); ++query)
        p.col(query).tail(p.rows() - 1 - query).setConstant(-1e9f);
      softmax(p);
      part.of(a.result, 0).noalias() = part(2) * p;
    });
    return a;
  }
  matrix<Scalar> backward(matrix<Scalar> const& qkv, activation const& a,
                          matrix<Scalar> const& dy) const {
    matrix<Scalar> d_qkv(qkv.rows(), qkv.cols());
    auto share = a.shares.begin();
    for_each_head(qkv, [&](auto const& part) {
      matrix<Scalar> const& p = *share++;
      part.of(d_qkv, 2).noalias() = part.of(dy, 0) * p.transpose();
      matrix<Scalar> ds = part(2).transpose() * part.of(dy, 0);
      Eigen::Matrix<Scalar, 1, Eigen::Dynamic> const along =
          (ds.array() * p.array()).colwise().sum();
      ds.rowwise() -= along;
      ds.array() *= scale(qkv) * p.array();
      part.of(d_qkv, 0).noalias() = part(1) * ds;
      part.of(d_qkv, 1).noalias() = part(0) * ds.transpose();
    });
    return d_qkv;
  }

 private:
  // Part of a matrix that stacks `third` of them: one head of one stretch.
  struct part_of {
    matrix<Scalar> const& qkv;
    Eigen::Index row, width, column, length;

    auto operator()(Eigen::Index third) const {
      return qkv.block(third * (qkv.rows() / 3) + row, column, width, length);
    }
    template <class Matrix>
    auto of(Matrix& m, Eigen::Index third) const {
      return m.block(third * (qkv.rows() / 3) + row, column, width, length);
    }
  };

  Scalar scale(matrix<Scalar> const& qkv) const {
    return 1 / std::sqrt(static_cast<Scalar>(qkv.rows()) / static_cast<Scalar>(3 * heads));
  }

  template <class Function>
  void for_each_head(matrix<Scalar> const& qkv, Function const& function) const {
    Eigen::Index const width = qkv.rows() / index(3 * heads);
    for (Eigen::Index column = 0; column < qkv.cols(); column += index(length))
      for (Eigen::Index head = 0; head < index(heads); ++head)
        function(part_of{qkv, head * width, width, column, index(length)});
  }
};

template <class Scalar>
class transformer final : public task<Scalar>, private transformer_layout {
 public:
  /// `text` outlives the task.
  explicit transformer(corpus const& text)
      : text_(text),
        held_out_(spaced(text.held_out_part(), held_out_size, length, true)),
        shapes_(transformer_layout::shapes(text.vocabulary_size())) {}

  std::vector<tensor_shape> const& shapes() const override { return shapes_; }

  double differentiate(tensors<Scalar> const& weights, std::uint64_t seed, std::uint64_t step,
                       tensors<Scalar>& gradients) const override {
    return loss(weights, drawn(text_.training_part(), batch_size, length, true, seed, step),
                &gradients);
  }
  double held_out_loss(tensors<Scalar> const& weights) const override {
    return loss(weights, held_out_, nullptr);
  }

 private:
  static constexpr std::size_t batch_size = 8, held_out_size = 128;

  struct activations {
    typename layer_norm<Scalar>::activation norm1, norm2;
    matrix<Scalar> qkv, up, gate;
    typename causal_attention<Scalar>::activation attention;
  };

  double loss(tensors<Scalar> const& weights, stretches const& b,
              tensors<Scalar>* gradients) const {
    auto const w = [&](std::size_t t) { return view(shapes_, weights, t); };
    auto const layer = [&](std::size_t t) { return dense<Scalar>{w(t), w(t + 1)}; };
    auto const norm = [&](std::size_t t) { return layer_norm<Scalar>{w(t), w(t + 1)}; };
    causal_attention<Scalar> const attention{heads, length};

    matrix<Scalar> x = embed<Scalar>(w(0), b.contexts);
    for (Eigen::Index i = 0; i < x.cols(); i += index(length))
      x.middleCols(i, index(length)) += w(1);
    std::vector<activations> done(blocks);
    for (std::size_t i = 0; i < blocks; ++i) {
      activations& a = done[i];
      std::size_t const t = i * of_block;
      a.norm1 = norm(t + norm1).forward(x);
      a.qkv = layer(t + qkv).forward(a.norm1.result);
      a.attention = attention.forward(a.qkv);
      x += layer(t + attended).forward(a.attention.result);
      a.norm2 = norm(t + norm2).forward(x);
      a.up = layer(t + up).forward(a.norm2.result);
      a.gate = (1 + (-a.up.array()).exp()).inverse().matrix();  // SiLU: up * gate
      x += layer(t + down).forward((a.up.array() * a.gate.array()).matrix());
    }
    auto const last = norm(last_norm).forward(x);
    matrix<Scalar> d = layer(head).forward(last.result);
    double const result = cross_entropy(d, b.targets);
    if (gradients == nullptr) return result;

    auto const g = [&](std::size_t t) { return view(shapes_, *gradients, t); };
    d = layer(head).backward(last.result, d, g(head), g(head + 1));
    d = norm(last_norm).backward(last, d, g(last_norm), g(last_norm + 1));
    for (std::size_t i = blocks; i-- > 0;) {
      activations const& a = done[i];
      std::size_t const t = i * of_block;
      auto const back = [&](auto const& of, auto const& at, matrix<Scalar> const& dy,
                            std::size_t which) {
        return of.backward(at, dy, g(which), g(which + 1));
      };
      matrix<Scalar> branch =
          back(layer(t + down), matrix<Scalar>(a.up.array() * a.gate.array()), d, t + down);
      branch.array() *= a.gate.array() * (1 + a.up.array() * (1 - a.gate.array()));
      branch = back(layer(t + up), a.norm2.result, branch, t + up);
      d += back(norm(t + norm2), a.norm2, branch, t + norm2);
      branch = back(layer(t + attended), a.attention.result, d, t + attended);
      branch = attention.backward(a.qkv, a.attention, branch);
      branch = back(layer(t + qkv), a.norm1.result, branch, t + qkv);
      d += back(norm(t + norm1), a.norm1, branch, t + norm1);
    }
    embed_backward<Scalar>(b.contexts, d, g(0));
    g(1).setZero();
    for (Eigen::Index i = 0; i < d.cols(); i += index(length))
      g(1) += d.middleCols(i, index(length));
    return result;
  }

  corpus const& text_;
  stretches held_out_;
  std::vector<tensor_shape> shapes_;
};

}  // namespace training
