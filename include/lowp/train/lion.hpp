// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/train/optimizer.hpp>

#include <cstdint>

namespace lowp {

LOWP_EXACT_BEGIN

/// Lion: the sign of an interpolated momentum, with decoupled weight decay (X. Chen et al.,
/// "Symbolic discovery of optimization algorithms", NeurIPS 2023). Names and defaults are those of
/// google/automl. Both interpolations are PyTorch's lerp.
struct lion {
  double lr = 1e-4, beta1 = .9, beta2 = .99, weight_decay = 0;

  static constexpr char const* name = "lion";
  static constexpr char const* moments[] = {"m"};
  static constexpr int least_moments = 1;
  LOWP_HOST_FN static bool uses_moments() { return true; }

  /// A step for one element. If the interpolation is NaN, p becomes NaN; if 0, it only decays.
  struct element {
    float one_minus_beta1, one_minus_beta2, minus_lr, minus_decay;
    bool decays;

    LOWP_FN element(lion const& rates, std::uint64_t)
        : one_minus_beta1(detail::narrowed(1 - detail::as_float(rates.beta1))),
          one_minus_beta2(detail::narrowed(1 - detail::as_float(rates.beta2))),
          minus_lr(detail::narrowed(-rates.lr)),
          minus_decay(detail::narrowed(-(rates.lr * rates.weight_decay))),
          decays(!detail::is_zero(rates.weight_decay)) {}

    template <class F>
    LOWP_FN F operator()(F& p, F const& g, F& m) const {
      using namespace lanes;
      F const change = sub(g, m);
      F const c = fma(broadcast<F>(one_minus_beta1), change, m);
      F const one = copysign(broadcast<F>(1), c);
      F const sign = select(mask_or(lanes::is_zero(c), lanes::is_nan(c)), c, one);
      F const q = mul(broadcast<F>(minus_lr), sign);
      F const u = decays ? fma(broadcast<F>(minus_decay), p, q) : q;
      m = fma(broadcast<F>(one_minus_beta2), change, m);
      p = add(p, u);
      return u;
    }
  };
};

LOWP_EXACT_END

namespace detail::inline LOWP_UNIT {

inline error_text check_optimizer(lion const& l, std::uint64_t step, int) {
  return check_hyper_parameters(l.name, step,
                                {{"lr", l.lr},
                                 {"beta1", l.beta1, below_one},
                                 {"beta2", l.beta2, below_one},
                                 {"weight_decay", l.weight_decay}});
}

}  // namespace detail::inline LOWP_UNIT

}  // namespace lowp
