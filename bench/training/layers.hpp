// SPDX-License-Identifier: Apache-2.0
// The layers of the models, forward and backward. An activation has one column for each example. A
// backward function takes the derivative of the loss by its layer's result, and returns that by its
// layer's input.
#pragma once

// Eigen must not share one product among threads: how it cuts the sums would depend on how many
// there are.
#define EIGEN_DONT_PARALLELIZE

#include <Eigen/Core>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "task.hpp"

namespace training {

template <class Scalar>
using matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;

inline Eigen::Index index(std::size_t i) { return static_cast<Eigen::Index>(i); }

/// A model's tensors as matrices.
template <class Scalar>
auto view(std::vector<tensor_shape> const& shapes, tensors<Scalar> const& values, std::size_t t) {
  return Eigen::Map<matrix<Scalar> const>(values[t].data(), index(shapes[t].rows),
                                          index(shapes[t].columns));
}
template <class Scalar>
auto view(std::vector<tensor_shape> const& shapes, tensors<Scalar>& values, std::size_t t) {
  return Eigen::Map<matrix<Scalar>>(values[t].data(), index(shapes[t].rows),
                                    index(shapes[t].columns));
}

/// y = W x + b
template <class Scalar>
struct dense {
  Eigen::Map<matrix<Scalar> const> weight, bias;

  matrix<Scalar> forward(matrix<Scalar> const& x) const {
    matrix<Scalar> y = weight * x;
    y.colwise() += bias.col(0);
    return y;
  }
  matrix<Scalar> backward(matrix<Scalar> const& x, matrix<Scalar> const& dy,
                          Eigen::Map<matrix<Scalar>> d_weight,
                          Eigen::Map<matrix<Scalar>> d_bias) const {
    d_weight.noalias() = dy * x.transpose();
    d_bias = dy.rowwise().sum();
    return weight.transpose() * dy;
  }
};

/// Layer normalisation (J. L. Ba, J. R. Kiros, G. E. Hinton, arXiv:1607.06450) of each column, with
/// the epsilon of torch.nn.LayerNorm.
template <class Scalar>
struct layer_norm {
  Eigen::Map<matrix<Scalar> const> weight, bias;

  struct activation {
    matrix<Scalar> normal, result;
    Eigen::Matrix<Scalar, 1, Eigen::Dynamic> scale;  ///< 1 / standard deviation
  };

  activation forward(matrix<Scalar> const& x) const {
    activation a;
    a.normal = x.rowwise() - x.colwise().mean();
    a.scale =
        (a.normal.colwise().squaredNorm().array() / static_cast<Scalar>(x.rows()) + Scalar(1e-5))
            .rsqrt();
    a.normal.array().rowwise() *= a.scale.array();
    a.result = (a.normal.array().colwise() * weight.col(0).array()).matrix();
    a.result.colwise() += bias.col(0);
    return a;
  }
  matrix<Scalar> backward(activation const& a, matrix<Scalar> const& dy,
                          Eigen::Map<matrix<Scalar>> d_weight,
                          Eigen::Map<matrix<Scalar>> d_bias) const {
    d_weight = (dy.array() * a.normal.array()).rowwise().sum();
    d_bias = dy.rowwise().sum();
    matrix<Scalar> dx = (dy.array().colwise() * weight.col(0).array()).matrix();
    Eigen::Matrix<Scalar, 1, Eigen::Dynamic> const mean = dx.colwise().mean();
    Eigen::Matrix<Scalar, 1, Eigen::Dynamic> const along =
        (dx.array() * a.normal.array()).colwise().mean();
    dx.rowwise() -= mean;
    dx.array() -= a.normal.array().rowwise() * along.array();
    dx.array().rowwise() *= a.scale.array();
    return dx;
  }
};

/// Turns each column into exp(x) / sum(exp(x)), and returns the logarithms of the sums. It first
/// shifts the largest element to 0, so that no exponential overflows.
template <class Columns>
auto softmax(Columns&& x) {
  using row = Eigen::Matrix<typename std::remove_cvref_t<Columns>::Scalar, 1, Eigen::Dynamic>;
  row const largest = x.colwise().maxCoeff();
  x.rowwise() -= largest;
  x = x.array().exp().matrix();
  row const sum = x.colwise().sum();
  x.array().rowwise() /= sum.array();
  return row(sum.array().log() + largest.array());
}

/// The mean cross-entropy of softmax(logits), and `logits` become its derivative.
template <class Scalar>
double cross_entropy(matrix<Scalar>& logits, std::span<std::uint8_t const> targets) {
  double loss = 0;
  for (std::size_t i = 0; i < targets.size(); ++i)
    loss -= static_cast<double>(logits(targets[i], index(i)));
  loss += softmax(logits).template cast<double>().sum();
  for (std::size_t i = 0; i < targets.size(); ++i) logits(targets[i], index(i)) -= 1;
  logits /= static_cast<Scalar>(targets.size());
  return loss / static_cast<double>(targets.size());
}

/// Columns of a table, picked by symbol.
template <class Scalar>
matrix<Scalar> embed(Eigen::Map<matrix<Scalar> const> table,
                     std::span<std::uint8_t const> symbols) {
  matrix<Scalar> x(table.rows(), index(symbols.size()));
  for (std::size_t i = 0; i < symbols.size(); ++i) x.col(index(i)) = table.col(symbols[i]);
  return x;
}
template <class Scalar, class Columns>
void embed_backward(std::span<std::uint8_t const> symbols, Columns const& dx,
                    Eigen::Map<matrix<Scalar>> d_table) {
  d_table.setZero();
  for (std::size_t i = 0; i < symbols.size(); ++i) d_table.col(symbols[i]) += dx.col(index(i));
}

}  // namespace training
