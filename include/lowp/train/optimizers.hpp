// SPDX-License-Identifier: Apache-2.0
// The optimizers: each is one class, as train/optimizer.hpp says.
#pragma once

#include <lowp/train/optimizer.hpp>

namespace lowp {

LOWP_EXACT_BEGIN

/// Stochastic gradient descent, with the names, defaults and meaning of torch.optim.SGD. That
/// refuses nesterov without momentum or with dampening. Here the formula says what they do.
struct sgd {
  double lr, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false;

  static constexpr char const* name = "sgd";
  static constexpr char const* moments[] = {"momentum"};
  static constexpr int least_moments = 0;
  LOWP_HOST_FN bool uses_moments() const { return !detail::is_zero(momentum); }

  /// A step of SGD for one element. Without momentum the buffer is neither read nor written.
  struct element {
    float minus_lr, momentum, one_minus_dampening, weight_decay;
    bool decays, is_first, nesterov;

    LOWP_FN element(sgd const& rates, std::uint64_t step)
        : minus_lr(detail::narrowed(-rates.lr)),
          momentum(detail::narrowed(rates.momentum)),
          one_minus_dampening(detail::narrowed(1 - rates.dampening)),
          weight_decay(detail::narrowed(rates.weight_decay)),
          decays(!detail::is_zero(rates.weight_decay)),
          is_first(step == 1),
          nesterov(rates.nesterov) {}

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
      buffer = is_first ? d
                        : lanes::fma(mu, buffer,
                                     lanes::mul(lanes::broadcast<F>(one_minus_dampening), d));
      return descend(p, nesterov ? lanes::fma(mu, buffer, d) : buffer);
    }
  };
};

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

/// The rates of moving averages and of decoupled weight decay.
struct decoupled_rates {
  float one_minus_beta1, one_minus_beta2, minus_decay;
  bool decays;

  LOWP_FN explicit decoupled_rates(auto const& rates)
      : one_minus_beta1(narrowed(1 - as_float(rates.beta1))),
        one_minus_beta2(narrowed(1 - as_float(rates.beta2))),
        minus_decay(narrowed(-(rates.lr * rates.weight_decay))),
        decays(!is_zero(rates.weight_decay)) {}

  /// Adds u = q - lr weight_decay p to p. Returns u.
  template <class F>
  LOWP_FN F step(F& p, F const& q) const {
    using namespace lanes;
    F const u = decays ? fma(broadcast<F>(minus_decay), p, q) : q;
    p = add(p, u);
    return u;
  }
};

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
  struct element : detail::decoupled_rates {
    float beta2, correction2, minus_step, eps;

    LOWP_FN element(adamw const& rates, std::uint64_t step)
        : decoupled_rates(rates),
          beta2(detail::narrowed(rates.beta2)),
          correction2(
              detail::narrowed(1 / lane<double>::sqrt(detail::bias_correction(rates.beta2, step)))),
          minus_step(detail::narrowed(-rates.lr / detail::bias_correction(rates.beta1, step))),
          eps(detail::narrowed(rates.eps)) {}

    template <class F>
    LOWP_FN F operator()(F& p, F const& g, F& m, F& v) const {
      using namespace lanes;
      m = fma(broadcast<F>(one_minus_beta1), sub(g, m), m);
      F const h = mul(broadcast<F>(one_minus_beta2), g);  // (1 - beta2) g
      F const k = mul(broadcast<F>(beta2), v);            // beta2 v
      v = fma(h, g, k);
      // sqrt(v / (1 - beta2^step)) + eps
      F const denominator = fma(lanes::sqrt(v), broadcast<F>(correction2), broadcast<F>(eps));
      // -lr m / (1 - beta1^step) / denominator
      return this->step(p, div(mul(broadcast<F>(minus_step), m), denominator));
    }
  };
};

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
  struct element : detail::decoupled_rates {
    float minus_lr;

    LOWP_FN element(lion const& rates, std::uint64_t)
        : decoupled_rates(rates), minus_lr(detail::narrowed(-rates.lr)) {}

    template <class F>
    LOWP_FN F operator()(F& p, F const& g, F& m) const {
      using namespace lanes;
      F const change = sub(g, m);
      F const c = fma(broadcast<F>(one_minus_beta1), change, m);
      F const one = copysign(broadcast<F>(1), c);
      F const sign = select(mask_or(lanes::is_zero(c), lanes::is_nan(c)), c, one);
      m = fma(broadcast<F>(one_minus_beta2), change, m);
      return this->step(p, mul(broadcast<F>(minus_lr), sign));
    }
  };
};

/// An exponential moving average of weights: update(average, weights, ema{.decay = .9999}, step)
/// adds (1 - decay) * (weights - average) to the average, as torch.optim.swa_utils' get_ema_avg_fn
/// does. The average starts as a copy of the weights. Rounded to nearest, a bfloat16 stays while
/// |weights - average| is below |average| / (512 (1 - decay)): for .999, twice the average. Round
/// it stochastically, or keep it in a storage of more bits.
struct ema {
  double decay = .999;
  static constexpr double lr = 1;  // the unit of `update_of`, which chooses the average's storage

  static constexpr char const* name = "ema";
  static constexpr char const* ranges[] = {"average", "weights"};
  static constexpr std::array<char const*, 0> moments{};
  static constexpr int least_moments = 0;
  LOWP_HOST_FN static bool uses_moments() { return false; }

  struct element {
    float one_minus_decay;

    LOWP_FN element(ema const& rates, std::uint64_t)
        : one_minus_decay(detail::narrowed(1 - rates.decay)) {}

    template <class F>
    LOWP_FN F operator()(F& average, F const& weight) const {
      F const rate = lanes::broadcast<F>(one_minus_decay);
      F const change = lanes::sub(weight, average);
      average = lanes::fma(rate, change, average);
      return lanes::mul(rate, change);
    }
  };
};

LOWP_EXACT_END

namespace detail::inline LOWP_SHARED {

error_text check_optimizer(sgd const& s, std::uint64_t step, int moments);
error_text check_optimizer(ema const& e, std::uint64_t step, int);
error_text check_optimizer(adamw const& a, std::uint64_t step, int);
error_text check_optimizer(lion const& l, std::uint64_t step, int);

#if defined(LOWP_BODIES)

LOWP_EXACT_BEGIN

/// Returns the error text of what a step computes from its rates.
LOWP_OPAQUE inline error_text check_products(adamw const& a, double corrected_beta,
                                             std::uint64_t step) {
  double const corrected_lr = a.lr / bias_correction(corrected_beta, step);
  return check_numbers("", {{"lr * weight_decay", a.lr * a.weight_decay, any_number},
                            {"lr / (1 - beta1^step)", corrected_lr, any_number}});
}

LOWP_EXACT_END

/// @param corrected_beta  0 if the step does not divide lr
LOWP_NOINLINE inline error_text check_decoupled(char const* name, adamw const& a,
                                                double corrected_beta, std::uint64_t step) {
  error_text wrong = check_hyper_parameters(name, step,
                                            {{"lr", a.lr},
                                             {"beta1", a.beta1, below_one},
                                             {"beta2", a.beta2, below_one},
                                             {"eps", a.eps},
                                             {"weight_decay", a.weight_decay}});
  // Smaller rates have products and quotients by 2^-24 in the range of float.
  constexpr std::uint64_t large = magnitude_bits(0x1p63);
  if (!wrong.empty() || (magnitude_bits(a.lr) < large && magnitude_bits(a.weight_decay) < large))
    return wrong;
  default_environment const environment;
  wrong = check_products(a, corrected_beta, step);
  return wrong.empty() ? wrong : joined_text({"update: ", name, ": ", wrong});
}

LOWP_LIB error_text check_optimizer(sgd const& s, std::uint64_t step, int moments) {
  error_text wrong = check_hyper_parameters(s.name, step,
                                            {{"lr", s.lr},
                                             {"momentum", s.momentum},
                                             {"weight_decay", s.weight_decay},
                                             {"dampening", s.dampening, any_number}});
  if (wrong.empty() && moments == 0 && s.uses_moments())
    wrong = joined_text({"update: sgd: momentum is ", shortest_text(s.momentum).text,
                         ", and no momentum range was given"});
  return wrong;
}
LOWP_LIB error_text check_optimizer(ema const& e, std::uint64_t step, int) {
  return check_hyper_parameters(e.name, step, {{"decay", e.decay, below_one}});
}
LOWP_LIB error_text check_optimizer(adamw const& a, std::uint64_t step, int) {
  return check_decoupled(a.name, a, a.beta1, step);
}
LOWP_LIB error_text check_optimizer(lion const& l, std::uint64_t step, int) {
  return check_decoupled(l.name, {l.lr, l.beta1, l.beta2, 0, l.weight_decay}, 0, step);
}

#endif

}  // namespace detail::inline LOWP_SHARED

}  // namespace lowp
