// SPDX-License-Identifier: Apache-2.0
// Handwritten digits of 8 x 8 pixels (E. Alpaydin, C. Kaynak, UCI machine learning repository,
// 1998), as scikit-learn has them: 1797 lines of 64 numbers from 0 to 16 and the digit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "mlp.hpp"

namespace training {

struct labelled_images {
  static constexpr std::size_t pixels = 64, classes = 10;

  std::vector<float> images;  ///< pixels for each image, from 0 to 1
  std::vector<std::uint8_t> labels;
};

/// @throws std::runtime_error  there is no such file, or a line that is not as above
labelled_images read_digits(std::string const& path);

template <class Scalar>
class digits final : public task<Scalar> {
 public:
  /// Every fifth image is held out. `data` outlives the task.
  explicit digits(labelled_images const& data) : data_(data) {
    for (std::size_t i = 0; i < data.labels.size(); ++i)
      (i % 5 == 4 ? held_out_ : training_).push_back(i);
    append_mlp(shapes_, std::array{data.pixels, hidden_size, hidden_size, data.classes});
  }

  std::vector<tensor_shape> const& shapes() const override { return shapes_; }

  double differentiate(tensors<Scalar> const& weights, std::uint64_t seed, std::uint64_t step,
                       tensors<Scalar>& gradients) const override {
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < batch_size; ++i)
      chosen.push_back(training_[random_below(training_.size(), seed, step, i)]);
    return loss(weights, chosen, &gradients);
  }
  double held_out_loss(tensors<Scalar> const& weights) const override {
    return loss(weights, held_out_, nullptr);
  }

 private:
  static constexpr std::size_t hidden_size = 128, batch_size = 64;

  double loss(tensors<Scalar> const& weights, std::vector<std::size_t> const& chosen,
              tensors<Scalar>* gradients) const {
    matrix<Scalar> x(index(data_.pixels), index(chosen.size()));
    std::vector<std::uint8_t> labels;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      float const* const image = data_.images.data() + chosen[i] * data_.pixels;
      for (std::size_t k = 0; k < data_.pixels; ++k)
        x(index(k), index(i)) = static_cast<Scalar>(image[k]);
      labels.push_back(data_.labels[chosen[i]]);
    }
    return mlp_loss(shapes_, weights, 0, x, labels, gradients);
  }

  labelled_images const& data_;
  std::vector<std::size_t> training_, held_out_;
  std::vector<tensor_shape> shapes_;
};

}  // namespace training
