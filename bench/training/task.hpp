// SPDX-License-Identifier: Apache-2.0
// A problem to learn. A task computes in one floating-point type: `float` in the program, and
// `double` in the test that compares gradients with differences. It knows nothing of how weights
// are stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "numbers.hpp"
#include "random.hpp"

namespace training {

/// A matrix, stored by columns. Initial values are uniform in [centre - bound, centre + bound).
struct tensor_shape {
  std::string name;
  std::size_t rows, columns;
  float bound;
  float centre = 0;

  std::size_t size() const { return rows * columns; }
};

/// A vector for each tensor of a model.
template <class Scalar>
using tensors = std::vector<numbers<Scalar>>;

template <class Scalar>
class task {
 public:
  virtual ~task() = default;

  virtual std::vector<tensor_shape> const& shapes() const = 0;
  /// The mean loss, in nats, over the batch that is drawn for (seed, step), and its gradient. The
  /// gradient has the shapes of the weights before and after.
  virtual double differentiate(tensors<Scalar> const& weights, std::uint64_t seed,
                               std::uint64_t step, tensors<Scalar>& gradients) const = 0;
  /// The mean loss, in nats, over data that no batch has, the same data at every call.
  virtual double held_out_loss(tensors<Scalar> const& weights) const = 0;
};

/// A function of the seed, the same in every scalar type.
template <class Scalar>
tensors<Scalar> initial_weights(std::vector<tensor_shape> const& shapes, std::uint64_t seed) {
  tensors<Scalar> weights;
  for (tensor_shape const& shape : shapes) {
    auto const which = static_cast<std::uint32_t>(weights.size());
    numbers<Scalar>& values = weights.emplace_back();
    for (std::size_t i = 0; i < shape.size(); ++i) {
      std::uint32_t const word = random_word(seed, purpose::initial_weights, which, i);
      // 24 bits, as many as fit a float: uniform in [-1, 1).
      float const uniform = static_cast<float>(word >> 8) * 0x1p-23f - 1;
      values.push_back(static_cast<Scalar>(shape.centre + shape.bound * uniform));
    }
  }
  return weights;
}

template <class Scalar>
tensors<Scalar> zeros(std::vector<tensor_shape> const& shapes) {
  tensors<Scalar> values;
  for (tensor_shape const& shape : shapes) values.emplace_back(shape.size());
  return values;
}

}  // namespace training
