// SPDX-License-Identifier: Apache-2.0
// Muon: momentum in bfloat16, made orthogonal by Eigen's products, and a step along that direction.
#include <lowp/lowp.hpp>

#include <Eigen/Dense>
#include <cmath>
#include <cstdio>
#include <vector>

using lowp::bfloat16;
using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct lerp {
  float weight;

  template <class F>
  F operator()(F const& from, F const& to) const {
    return lowp::lanes::fma(lowp::lanes::broadcast<F>(weight), lowp::lanes::sub(to, from), from);
  }
};

/// Pushes the singular values of a matrix with more columns than rows toward 1. It takes five steps
/// of Newton and Schulz, with the coefficients of torch.optim.Muon.
matrix orthogonalized(matrix x) {
  x /= x.norm() + 1e-7f;
  for (int step = 0; step < 5; ++step) {
    matrix const a = x * x.transpose(), b = -4.7750f * a + 2.0315f * a * a;
    x = 3.4445f * x + b * x;
  }
  return x;
}

int main() {
  constexpr int rows = 32, columns = 64;
  constexpr float momentum = 0.95f;
  std::vector<bfloat16> w(rows * columns), m(w.size());
  std::vector<float> g(w.size()), target(w.size()), u(w.size());
  for (std::size_t i = 0; i < w.size(); ++i) target[i] = std::sin(float(i * i % 1013));
  auto const distance = [&] {  // and the gradient of its square, halved
    for (std::size_t i = 0; i < w.size(); ++i) g[i] = float(w[i]) - target[i];
    return lowp::norm(g);
  };
  std::printf("distance %.0f", distance());
  for (std::uint64_t step = 1; step <= 400; ++step) {
    lowp::stochastic const random{.seed = 1, .stream = lowp::stream_of(1, step)};
    lowp::transform(lerp{1 - momentum}, random, m, m, g);  // bfloat16 keeps what it can
    lowp::transform(lerp{1 - momentum}, random, u, m, g);  // Nesterov's look ahead, in float
    Eigen::Map<matrix> direction(u.data(), rows, columns);
    direction = orthogonalized(direction);
    if (step == 1) {
      auto const values = direction.jacobiSvd().singularValues();
      std::printf(", singular values of a direction %.1f to %.1f", values.minCoeff(),
                  values.maxCoeff());
    }
    double const lr = 0.05 * (1 - double(step) / 401);
    lowp::update(w, u, lowp::sgd{.lr = lr, .weight_decay = 1e-4}, step,
                 lowp::stochastic{.seed = 2});
    distance();
  }
  std::printf(", distance after 400 steps %.1f\n", distance());
}
