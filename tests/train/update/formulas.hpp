// SPDX-License-Identifier: Apache-2.0
// The optimizers as PyTorch computes them: torch/optim/adamw.py and sgd.py, the single-tensor
// versions, and Lion as its authors do, in Real. Scalars are Python floats, that is double, and
// become Real when they meet a tensor.
#pragma once

#include <lowp/train/update.hpp>

#include <cmath>
#include <cstdint>

namespace torch_formulas {

struct bias_corrections {
  bias_corrections(lowp::adamw const& a, std::uint64_t step)
      : first(1 - std::pow(a.beta1, static_cast<double>(step))),
        second(1 - std::pow(a.beta2, static_cast<double>(step))) {}
  double first, second;
};

template <class Real>
void adamw(Real& p, float gradient, Real& m, Real& v, lowp::adamw const& a,
           bias_corrections const& corrections) {
  auto const real = [](double x) { return static_cast<Real>(x); };
  Real const g = gradient;
  p = p * real(1 - a.lr * a.weight_decay);  // param.mul_(1 - lr * weight_decay)
  double const weight = 1 - a.beta1;        // exp_avg.lerp_(grad, 1 - beta1)
  m = weight < 0.5 ? m + real(weight) * (g - m) : g - (g - m) * (1 - real(weight));
  v = v * real(a.beta2);              // exp_avg_sq.mul_(beta2)
  v = v + real(1 - a.beta2) * g * g;  //   .addcmul_(grad, grad, value=1 - beta2)
  Real const root = std::sqrt(v) / real(std::sqrt(corrections.second));
  Real const denominator = root + real(a.eps);  // exp_avg_sq.sqrt().div_(...).add_(eps)
  p = p + real(-(a.lr / corrections.first)) * m / denominator;  // param.addcdiv_(..., -step_size)
}

template <class Real>
void sgd(Real& p, float gradient, Real& buffer, lowp::sgd const& s, std::uint64_t step) {
  auto const real = [](double x) { return static_cast<Real>(x); };
  Real g = gradient;
  if (s.weight_decay != 0) g = g + real(s.weight_decay) * p;
  if (s.momentum != 0) {
    buffer = step == 1 ? g : buffer * real(s.momentum) + real(1 - s.dampening) * g;
    g = s.nesterov ? g + real(s.momentum) * buffer : buffer;
  }
  p = p + real(-s.lr) * g;
}

// google/automl, lion/lion_pytorch.py: three products and sums.
template <class Real>
void lion(Real& p, float gradient, Real& m, lowp::lion const& l) {
  auto const real = [](double x) { return static_cast<Real>(x); };
  Real const g = gradient;
  p = p * real(1 - l.lr * l.weight_decay);
  Real const c = m * real(l.beta1) + g * real(1 - l.beta1);
  Real const sign = c > 0 ? Real(1) : c < 0 ? Real(-1) : Real(0);
  p = p + real(-l.lr) * sign;
  m = m * real(l.beta2) + g * real(1 - l.beta2);
}

}  // namespace torch_formulas
