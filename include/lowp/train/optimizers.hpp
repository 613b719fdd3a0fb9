// SPDX-License-Identifier: Apache-2.0
// The arithmetic of an optimizer step: hyper-parameters, values made from them once per call, and
// element functions. Each statement is one fused multiply-add or one single operation.
#pragma once

#include <lowp/lanes/lanes.hpp>

#include <cstdint>

namespace lowp {

/// Stochastic gradient descent. Names, defaults and meaning are those of torch.optim.SGD.
struct sgd {
  double lr, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false;
};

/// Adam with decoupled weight decay (I. Loshchilov, F. Hutter, "Decoupled weight decay
/// regularization", ICLR 2019). Names, defaults and meaning are those of torch.optim.AdamW.
struct adamw {
  double lr = 1e-3, beta1 = .9, beta2 = .999, eps = 1e-8, weight_decay = 1e-2;
};

namespace detail {

/// Returns true if x is zero, also if the caller's environment flushes subnormals.
LOWP_FN bool is_zero(double x) { return __builtin_bit_cast(std::uint64_t, x) << 1 == 0; }

LOWP_EXACT_BEGIN

LOWP_FN float narrowed(double x) { return lane<float>::narrowed(x); }
/// Returns the value that the element function sees.
LOWP_FN double as_float(double x) { return lane<float>::widen(narrowed(x)); }

/// The step of one element by SGD. Without momentum the buffer is neither read nor written.
struct sgd_element {
  float minus_lr, momentum, one_minus_dampening, weight_decay;
  bool decays, is_first, nesterov;

  LOWP_FN sgd_element(sgd const& s, std::uint64_t step)
      : minus_lr(narrowed(-s.lr)),
        momentum(narrowed(s.momentum)),
        one_minus_dampening(narrowed(1 - s.dampening)),
        weight_decay(narrowed(s.weight_decay)),
        decays(!is_zero(s.weight_decay)),
        is_first(step == 1),
        nesterov(s.nesterov) {}

  template <class F>
  LOWP_FN F decayed(F const& p, F const& g) const {
    return decays ? lanes::fma(lanes::broadcast<F>(weight_decay), p, g) : g;
  }
  template <class F>
  LOWP_FN F descend(F& p, F const& direction) const {
    F const rate = lanes::broadcast<F>(minus_lr);
    p = lanes::fma(rate, direction, p);
    return lanes::mul(rate, direction);
  }

  template <class F>
  LOWP_FN F operator()(F& p, F const& g) const {
    return descend(p, decayed(p, g));
  }
  template <class F>
  LOWP_FN F operator()(F& p, F const& g, F& buffer) const {
    F const d = decayed(p, g);
    F const mu = lanes::broadcast<F>(momentum);
    buffer = is_first
                 ? d
                 : lanes::fma(mu, buffer, lanes::mul(lanes::broadcast<F>(one_minus_dampening), d));
    return descend(p, nesterov ? lanes::fma(mu, buffer, d) : buffer);
  }
};

/// Returns 1 - beta^step, by squaring.
LOWP_FN double bias_correction(double beta, std::uint64_t step) {
  double power = 1, square = as_float(beta);
  for (; step != 0; step >>= 1) {
    if (step & 1) power = lanes::mul(power, square);
    square = lanes::mul(square, square);
  }
  return lanes::sub(1.0, power);
}

/// The step of one element by AdamW. It uses m and v unrounded. Weight decay, step and parameter
/// meet in one rounding.
struct adamw_element {
  float one_minus_beta1, one_minus_beta2, beta2, correction2, minus_step, minus_decay, eps;
  bool decays;

  LOWP_FN adamw_element(adamw const& a, std::uint64_t step)
      : one_minus_beta1(complement(a.beta1)),
        one_minus_beta2(complement(a.beta2)),
        beta2(narrowed(a.beta2)),
        correction2(narrowed(1 / square_root(bias_correction(a.beta2, step)))),
        minus_step(narrowed(-a.lr / bias_correction(a.beta1, step))),
        minus_decay(narrowed(-(a.lr * a.weight_decay))),
        eps(narrowed(a.eps)),
        decays(!is_zero(a.weight_decay)) {}

  template <class F>
  LOWP_FN F operator()(F& p, F const& g, F& m, F& v) const {
    using namespace lanes;
    m = fma(broadcast<F>(one_minus_beta1), sub(g, m), m);
    F const h = mul(broadcast<F>(one_minus_beta2), g);
    F const k = mul(broadcast<F>(beta2), v);
    v = fma(h, g, k);
    F const denominator = fma(lanes::sqrt(v), broadcast<F>(correction2), broadcast<F>(eps));
    F const q = div(mul(broadcast<F>(minus_step), m), denominator);
    F const u = decays ? fma(broadcast<F>(minus_decay), p, q) : q;
    p = add(p, u);
    return u;
  }

 private:
  LOWP_FN static float complement(double beta) { return narrowed(1 - as_float(beta)); }
};

/// Makes the element function at a point where no floating-point flag of the caller is in force.
template <class Element, class Settings>
struct make_step {
  Settings settings;
  std::uint64_t step;
  LOWP_FN Element operator()() const { return Element(settings, step); }
};

LOWP_EXACT_END

}  // namespace detail

}  // namespace lowp
