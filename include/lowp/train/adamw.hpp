// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/train/optimizer.hpp>

#include <cstdint>

namespace lowp {

LOWP_EXACT_BEGIN

namespace detail {
/// Returns 1 - beta^step, by squaring.
LOWP_FN double bias_correction(double beta, std::uint64_t step) {
  double power = 1, square = as_float(beta);
  for (; step != 0; step >>= 1) {
    if (step & 1) power = lanes::mul(power, square);
    square = lanes::mul(square, square);
  }
  return lanes::sub(1.0, power);
}
}  // namespace detail

/// Adam with decoupled weight decay (I. Loshchilov, F. Hutter, "Decoupled weight decay
/// regularization", ICLR 2019), with the names, defaults and meaning of torch.optim.AdamW.
struct adamw {
  double lr = 1e-3, beta1 = .9, beta2 = .999, eps = 1e-8, weight_decay = 1e-2;

  static constexpr char const* name = "adamw";
  static constexpr char const* moments[] = {"m", "v"};
  static constexpr int least_moments = 2;
  LOWP_HOST_FN static bool uses_moments() { return true; }

  /// A step for one element. m and v enter unrounded; p is rounded once, after decay and step.
  struct element {
    float one_minus_beta1, one_minus_beta2, beta2, correction2, minus_step, minus_decay, eps;
    bool decays;

    LOWP_FN element(adamw const& rates, std::uint64_t step)
        : one_minus_beta1(detail::narrowed(1 - detail::as_float(rates.beta1))),
          one_minus_beta2(detail::narrowed(1 - detail::as_float(rates.beta2))),
          beta2(detail::narrowed(rates.beta2)),
          correction2(detail::narrowed(
              1 / detail::square_root(detail::bias_correction(rates.beta2, step)))),
          minus_step(detail::narrowed(-rates.lr / detail::bias_correction(rates.beta1, step))),
          minus_decay(detail::narrowed(-(rates.lr * rates.weight_decay))),
          eps(detail::narrowed(rates.eps)),
          decays(!detail::is_zero(rates.weight_decay)) {}

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
  };
};

LOWP_EXACT_END

namespace detail::inline LOWP_UNIT {

inline error_text check_optimizer(adamw const& a, std::uint64_t step, int) {
  return check_hyper_parameters(a.name, step,
                                {{"lr", a.lr},
                                 {"beta1", a.beta1, below_one},
                                 {"beta2", a.beta2, below_one},
                                 {"eps", a.eps},
                                 {"weight_decay", a.weight_decay}});
}

}  // namespace detail::inline LOWP_UNIT

}  // namespace lowp
