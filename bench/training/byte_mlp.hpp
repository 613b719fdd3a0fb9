// SPDX-License-Identifier: Apache-2.0
// The next byte of a text from the embeddings of the last eight, by a layer of tanh units
// (Y. Bengio, R. Ducharme, P. Vincent, C. Jauvin, "A neural probabilistic language model", 2003).
#pragma once

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "corpus.hpp"
#include "mlp.hpp"

namespace training {

template <class Scalar>
class byte_mlp final : public task<Scalar> {
 public:
  /// `text` outlives the task.
  explicit byte_mlp(corpus const& text)
      : text_(text), held_out_(spaced(text.held_out_part(), held_out_size, context_size, false)) {
    shapes_.push_back({"embedding", embedding_size, text.vocabulary_size(), 1});
    append_mlp(shapes_,
               std::array{context_size * embedding_size, hidden_size, text.vocabulary_size()});
  }

  std::vector<tensor_shape> const& shapes() const override { return shapes_; }

  double differentiate(tensors<Scalar> const& weights, std::uint64_t seed, std::uint64_t step,
                       tensors<Scalar>& gradients) const override {
    return loss(weights, drawn(text_.training_part(), batch_size, context_size, false, seed, step),
                &gradients);
  }
  double held_out_loss(tensors<Scalar> const& weights) const override {
    return loss(weights, held_out_, nullptr);
  }

 private:
  static constexpr std::size_t context_size = 8, embedding_size = 16, hidden_size = 256;
  static constexpr std::size_t batch_size = 64, held_out_size = 4096;

  double loss(tensors<Scalar> const& weights, stretches const& b,
              tensors<Scalar>* gradients) const {
    matrix<Scalar> embedded = embed<Scalar>(view(shapes_, weights, 0), b.contexts);
    matrix<Scalar> x =
        embedded.reshaped(index(context_size * embedding_size), index(b.targets.size()));
    double const result = mlp_loss(shapes_, weights, 1, x, b.targets, gradients);
    if (gradients != nullptr)
      embed_backward<Scalar>(b.contexts,
                             x.reshaped(index(embedding_size), index(b.contexts.size())),
                             view(shapes_, *gradients, 0));
    return result;
  }

  corpus const& text_;
  stretches held_out_;
  std::vector<tensor_shape> shapes_;
};

}  // namespace training
