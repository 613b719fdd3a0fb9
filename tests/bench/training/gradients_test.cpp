// SPDX-License-Identifier: Apache-2.0
// The gradients of bench/training against central differences of the loss, both in double. Every
// tensor is tried at its largest derivatives, at some others, and along a random direction.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "../../../bench/training/byte_mlp.hpp"
#include "../../../bench/training/digits.hpp"
#include "../../../bench/training/transformer.hpp"

namespace {

using training::tensors;

constexpr double half_step = 1e-4;

class derivatives {
 public:
  explicit derivatives(training::task<double> const& learned)
      : task_(learned),
        weights_(training::initial_weights<double>(learned.shapes(), 7)),
        gradients_(training::zeros<double>(learned.shapes())),
        scratch_(gradients_) {
    // Away from the initial values: biases that are 0 and norms that are 1 say little.
    std::mt19937 bits(5);
    std::uniform_real_distribution<double> shift(-0.1, 0.1);
    for (auto& tensor : weights_)
      for (double& w : tensor) w += shift(bits);
    loss_ = task_.differentiate(weights_, seed, step, gradients_);
  }

  void check() {
    EXPECT_GT(loss_, 0.5);
    std::mt19937 bits(9);
    for (std::size_t t = 0; t < weights_.size(); ++t) {
      SCOPED_TRACE(task_.shapes()[t].name);
      training::numbers<double> const& g = gradients_[t];
      std::vector<std::size_t> order(g.size());
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), bits);
      std::size_t const some = std::min<std::size_t>(4, order.size());
      for (std::size_t i = 0; i < some; ++i) check_along(t, {order[i]});
      std::partial_sort(
          order.begin(), order.begin() + static_cast<std::ptrdiff_t>(some), order.end(),
          [&](std::size_t a, std::size_t b) { return std::abs(g[a]) > std::abs(g[b]); });
      EXPECT_NE(g[order[0]], 0);
      for (std::size_t i = 0; i < some; ++i) check_along(t, {order[i]});
      check_along(t, order);
    }
  }

 private:
  static constexpr std::uint64_t seed = 3, step = 2;

  // Along a unit vector that has equal parts of these axes, with alternating signs.
  void check_along(std::size_t t, std::vector<std::size_t> const& axes) {
    double const part = 1 / std::sqrt(static_cast<double>(axes.size()));
    double expected = 0;
    tensors<double> above = weights_, below = weights_;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      double const along = i % 2 == 0 ? part : -part;
      expected += along * gradients_[t][axes[i]];
      above[t][axes[i]] += along * half_step;
      below[t][axes[i]] -= along * half_step;
    }
    double const difference = task_.differentiate(above, seed, step, scratch_) -
                              task_.differentiate(below, seed, step, scratch_);
    EXPECT_NEAR(difference / (2 * half_step), expected, 1e-8)
        << axes.size() << " axes from " << axes[0];
  }

  training::task<double> const& task_;
  tensors<double> weights_, gradients_, scratch_;
  double loss_;
};

training::corpus const& licence() {
  static training::corpus const text(LOWP_TESTS "/../LICENSE");
  return text;
}

TEST(gradients, of_byte_mlp) { derivatives(training::byte_mlp<double>(licence())).check(); }

TEST(gradients, of_transformer) { derivatives(training::transformer<double>(licence())).check(); }

TEST(gradients, of_digits) {
  training::labelled_images images;
  std::mt19937 bits(1);
  std::uniform_real_distribution<float> brightness(0, 1);
  for (std::size_t i = 0; i < 200; ++i) {
    for (std::size_t k = 0; k < images.pixels; ++k) images.images.push_back(brightness(bits));
    images.labels.push_back(static_cast<std::uint8_t>(i % 10));
  }
  derivatives(training::digits<double>(images)).check();
}

// The held-out loss is of the same data at every call, and of no data that a batch has.
TEST(tasks, same_seed_same_data) {
  training::transformer<float> const task(licence());
  auto const weights = training::initial_weights<float>(task.shapes(), 1);
  auto a = training::zeros<float>(task.shapes()), b = a, c = a, d = a;
  EXPECT_EQ(task.differentiate(weights, 1, 5, a), task.differentiate(weights, 1, 5, b));
  EXPECT_EQ(a, b);
  task.differentiate(weights, 1, 6, c);
  EXPECT_NE(a, c);
  task.differentiate(weights, 2, 5, d);
  EXPECT_NE(a, d);
  EXPECT_EQ(task.held_out_loss(weights), task.held_out_loss(weights));
  EXPECT_NE(weights, training::initial_weights<float>(task.shapes(), 2));
}

TEST(tasks, refuse_a_file_of_another_kind) {
  EXPECT_THROW(training::corpus("/nowhere"), std::runtime_error);
  EXPECT_THROW(training::read_digits("/nowhere"), std::runtime_error);
  EXPECT_THROW(training::read_digits(LOWP_TESTS "/../LICENSE"), std::exception);
}

}  // namespace
