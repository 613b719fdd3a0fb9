// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/train/optimizer.hpp>

#include <cstdint>

namespace lowp {

LOWP_EXACT_BEGIN

/// Stochastic gradient descent, with the names, defaults and meaning of torch.optim.SGD.
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

LOWP_EXACT_END

namespace detail::inline LOWP_UNIT {

inline error_text check_optimizer(sgd const& s, std::uint64_t step, int moments) {
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

}  // namespace detail::inline LOWP_UNIT

}  // namespace lowp
