// SPDX-License-Identifier: Apache-2.0
// Layers of tanh units and one of logits.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "layers.hpp"

namespace training {

/// Weight and bias of each layer, uniform within 1 / sqrt(fan in), as torch.nn.Linear's.
inline void append_mlp(std::vector<tensor_shape>& shapes, std::span<std::size_t const> widths) {
  for (std::size_t l = 0; l + 1 < widths.size(); ++l) {
    float const bound = 1 / std::sqrt(static_cast<float>(widths[l]));
    std::string const name = "layer" + std::to_string(l + 1);
    shapes.push_back({name + ".weight", widths[l + 1], widths[l], bound});
    shapes.push_back({name + ".bias", widths[l + 1], 1, bound});
  }
}

/// The loss of those layers, which are the tensors from `first` to the last. If there are
/// gradients, they are written, and `x` becomes the derivative by the input.
template <class Scalar>
double mlp_loss(std::vector<tensor_shape> const& shapes, tensors<Scalar> const& weights,
                std::size_t first, matrix<Scalar>& x, std::span<std::uint8_t const> targets,
                tensors<Scalar>* gradients) {
  std::size_t const layers = (shapes.size() - first) / 2;
  auto const layer = [&](std::size_t l) {
    return dense<Scalar>{view(shapes, weights, first + 2 * l),
                         view(shapes, weights, first + 2 * l + 1)};
  };
  std::vector<matrix<Scalar>> inputs{x};
  for (std::size_t l = 0; l < layers; ++l) {
    inputs.push_back(layer(l).forward(inputs.back()));
    if (l + 1 < layers) inputs.back() = inputs.back().array().tanh().matrix();
  }
  matrix<Scalar> dy = std::move(inputs.back());
  double const loss = cross_entropy(dy, targets);
  if (gradients == nullptr) return loss;
  for (std::size_t l = layers; l-- > 0;) {
    if (l + 1 < layers) dy.array() *= 1 - inputs[l + 1].array().square();
    dy = layer(l).backward(inputs[l], dy, view(shapes, *gradients, first + 2 * l),
                           view(shapes, *gradients, first + 2 * l + 1));
  }
  x = std::move(dy);
  return loss;
}

}  // namespace training
