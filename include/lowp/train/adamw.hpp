// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/train/optimizer.hpp>

#include <cstdint>

namespace lowp {

namespace detail {
struct adamw_element;
}  // namespace detail

/// Adam with decoupled weight decay (I. Loshchilov, F. Hutter, "Decoupled weight decay
/// regularization", ICLR 2019), with the names, defaults and meaning of torch.optim.AdamW.
struct adamw {
  double lr = 1e-3, beta1 = .9, beta2 = .999, eps = 1e-8, weight_decay = 1e-2;

  static constexpr char const* name = "adamw";
  static constexpr char const* moments[] = {"m", "v"};
  static constexpr int least_moments = 2;
  using element = detail::adamw_element;
  LOWP_HOST_FN static bool uses_moments() { return true; }
};

namespace detail {

LOWP_EXACT_BEGIN

/// Returns 1 - beta^step, by squaring.
LOWP_FN double bias_correction(double beta, std::uint64_t step) {
  double power = 1, square = as_float(beta);
  for (; step != 0; step >>= 1) {
    if (step & 1) power = lanes::mul(power, square);
    square = lanes::mul(square, square);
  }
  return lanes::sub(1.0, power);
}

/// A step of AdamW for one element. m and v enter unrounded. p is rounded once, after decay and
/// step.
struct adamw_element {
  float one_minus_beta1, one_minus_beta2, beta2, correction2, minus_step, minus_decay, eps;
  bool decays;

  LOWP_FN adamw_element(adamw const& rates, std::uint64_t step)
      : one_minus_beta1(complement(rates.beta1)),
        one_minus_beta2(complement(rates.beta2)),
        beta2(narrowed(rates.beta2)),
        correction2(narrowed(1 / square_root(bias_correction(rates.beta2, step)))),
        minus_step(narrowed(-rates.lr / bias_correction(rates.beta1, step))),
        minus_decay(narrowed(-(rates.lr * rates.weight_decay))),
        eps(narrowed(rates.eps)),
        decays(!is_zero(rates.weight_decay)) {}

  template <class F>
  LOWP_FN F operator()(F& p, F const& g, F& m, F& v) const {
    using namespace lanes;
    m = fma(broadcast<F>(one_minus_beta1), sub(g, m), m);
    F const h = mul(broadcast<F>(one_minus_beta2), g);  // (1 - beta2) g
    F const k = mul(broadcast<F>(beta2), v);            // beta2 v
    v = fma(h, g, k);
    // sqrt(v / (1 - beta2^step)) + eps
    F const denominator = fma(lanes::sqrt(v), broadcast<F>(correction2), broadcast<F>(eps));
    // q = -lr m / (1 - beta1^step) / denominator, u = q - lr weight_decay p
    F const q = div(mul(broadcast<F>(minus_step), m), denominator);
    F const u = decays ? fma(broadcast<F>(minus_decay), p, q) : q;
    p = add(p, u);
    return u;
  }

 private:
  LOWP_FN static float complement(double beta) { return narrowed(1 - as_float(beta)); }
};

LOWP_EXACT_END

inline namespace LOWP_UNIT {

inline error_text check_optimizer(adamw const& a, std::uint64_t step, int) {
  return check_hyper_parameters(a.name, step,
                                {{"lr", a.lr},
                                 {"beta1", a.beta1, true},
                                 {"beta2", a.beta2, true},
                                 {"eps", a.eps},
                                 {"weight_decay", a.weight_decay}});
}

}  // namespace LOWP_UNIT

}  // namespace detail

}  // namespace lowp
