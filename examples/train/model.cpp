// SPDX-License-Identifier: Apache-2.0
// Eigen must not share one product among threads: its cuts of the sums would then depend on their
// number. It still cuts sums by the sizes of the caches, and works in the vectors that the build
// allows. So bits are promised for one machine and build, not across machines.
#define EIGEN_DONT_PARALLELIZE

#include "model.hpp"

#include <Eigen/Core>
#include <cmath>

#include "random.hpp"

namespace {

constexpr std::size_t embedding_size = 24, hidden_size = 128;

using matrix = Eigen::MatrixXf;
using weight_matrix = Eigen::Map<matrix const>;
using gradient_matrix = Eigen::Map<matrix>;

Eigen::Index index(std::size_t i) { return static_cast<Eigen::Index>(i); }

struct activations {
  matrix inputs, hidden, probabilities;  // one column for each target
  double loss;
};

activations forward(tensors const& weights, model_shape const& shape, batch const& b) {
  auto const tensor = [&](std::size_t t) {
    return weight_matrix(weights[t].data(), index(shape[t].rows), index(shape[t].columns));
  };
  activations a;
  a.inputs.resize(index(context_size * embedding_size), index(b.size()));
  for (std::size_t i = 0; i < b.contexts.size(); ++i)
    a.inputs.reshaped(index(embedding_size), index(b.contexts.size())).col(index(i)) =
        tensor(0).col(b.contexts[i]);

  a.hidden.noalias() = tensor(1) * a.inputs;
  a.hidden.colwise() += tensor(2).col(0);
  a.hidden = a.hidden.array().tanh();

  matrix& p = a.probabilities;
  p.noalias() = tensor(3) * a.hidden;
  p.colwise() += tensor(4).col(0);
  a.loss = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    auto column = p.col(index(i));
    // The largest logit becomes 0, so that no exponential overflows.
    column.array() -= column.maxCoeff();
    float const logit = column[b.targets[i]];
    column = column.array().exp();
    float const sum = column.sum();
    a.loss += std::log(static_cast<double>(sum)) - static_cast<double>(logit);
    column /= sum;
  }
  a.loss /= static_cast<double>(b.size());
  return a;
}

}  // namespace

model_shape shape_of_model(std::size_t vocabulary_size) {
  // Initialised like torch.nn.Linear: uniform within 1 / sqrt(fan in), biases too. No tensor starts
  // at zero, which would say nothing about its scale.
  constexpr std::size_t input_size = context_size * embedding_size;
  float const first = 1 / std::sqrt(static_cast<float>(input_size));
  float const second = 1 / std::sqrt(static_cast<float>(hidden_size));
  return {{{embedding_size, vocabulary_size, 1},
           {hidden_size, input_size, first},
           {hidden_size, 1, first},
           {vocabulary_size, hidden_size, second},
           {vocabulary_size, 1, second}}};
}

std::size_t size_of(model_shape const& shape) {
  std::size_t size = 0;
  for (tensor_shape const& t : shape) size += t.size();
  return size;
}

tensors initial_weights(model_shape const& shape, std::uint64_t seed) {
  tensors weights;
  for (std::uint32_t t = 0; t < tensor_count; ++t) {
    for (std::size_t i = 0; i < shape[t].size(); ++i) {
      std::uint32_t const word = random_word(seed, purpose::initial_weights, t, i);
      // 24 bits, as many as fit a float: uniform in [-1, 1).
      float const uniform = static_cast<float>(word >> 8) * 0x1p-23f - 1;
      weights[t].push_back(shape[t].bound * uniform);
    }
  }
  return weights;
}

double loss_of(tensors const& weights, model_shape const& shape, batch const& b) {
  return forward(weights, shape, b).loss;
}

double differentiate(tensors const& weights, model_shape const& shape, batch const& b,
                     tensors& gradients) {
  activations a = forward(weights, shape, b);
  auto const weight = [&](std::size_t t) {
    return weight_matrix(weights[t].data(), index(shape[t].rows), index(shape[t].columns));
  };
  auto const gradient = [&](std::size_t t) {
    gradients[t].resize(shape[t].size());
    return gradient_matrix(gradients[t].data(), index(shape[t].rows), index(shape[t].columns));
  };

  matrix& d_logits = a.probabilities;
  for (std::size_t i = 0; i < b.size(); ++i) d_logits(b.targets[i], index(i)) -= 1;
  d_logits /= static_cast<float>(b.size());
  gradient(3).noalias() = d_logits * a.hidden.transpose();
  gradient(4) = d_logits.rowwise().sum();

  matrix d_hidden = weight(3).transpose() * d_logits;
  d_hidden.array() *= 1 - a.hidden.array().square();
  gradient(1).noalias() = d_hidden * a.inputs.transpose();
  gradient(2) = d_hidden.rowwise().sum();

  matrix const d_inputs = weight(1).transpose() * d_hidden;
  auto const columns = d_inputs.reshaped(index(embedding_size), index(b.contexts.size()));
  gradient_matrix d_embeddings = gradient(0);
  d_embeddings.setZero();
  for (std::size_t i = 0; i < b.contexts.size(); ++i)
    d_embeddings.col(b.contexts[i]) += columns.col(index(i));
  return a.loss;
}
