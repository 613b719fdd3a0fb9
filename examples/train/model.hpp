// SPDX-License-Identifier: Apache-2.0
// The language model: a table of embeddings and a layer of tanh units. It computes in float and
// knows nothing of how its weights are stored between steps.
//
//     x = embeddings of the last 8 bytes;  h = tanh(W1 x + b1);  P(next byte) = softmax(W2 h + b2)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "text.hpp"

/// All matrices are stored by columns.
struct tensor_shape {
  std::size_t rows, columns;
  float bound;  ///< initial weights are uniform in [-bound, bound)

  std::size_t size() const { return rows * columns; }
};

inline constexpr std::size_t tensor_count = 5;
using model_shape = std::array<tensor_shape, tensor_count>;
using tensors = std::array<std::vector<float>, tensor_count>;

model_shape shape_of_model(std::size_t vocabulary_size);
std::size_t size_of(model_shape const& shape);

/// A function of the seed.
tensors initial_weights(model_shape const& shape, std::uint64_t seed);

/// Mean cross-entropy in nats per byte.
double loss_of(tensors const& weights, model_shape const& shape, batch const& b);

/// The same, and its gradient into `gradients`.
double differentiate(tensors const& weights, model_shape const& shape, batch const& b,
                     tensors& gradients);
