// SPDX-License-Identifier: Apache-2.0
// Arguments in device memory, which a kernel reads when it runs: a captured CUDA graph can be
// replayed with others.
#pragma once

#include <lowp/cuda/kernel_operand.hpp>

namespace lowp::cuda {

/// The state in device memory that changes from step to step. `lr` replaces the optimizer's, and
/// `stream` that of every stochastic mode. As everywhere, `step` counts from 1 and enters the
/// stream's low half. A step of 0 writes nothing. No check is possible before the kernel runs: a
/// wrong lr gives what the formulas give, as does one that is, alone or in a product, no float.
struct step_state {
  double lr;
  std::uint64_t step;
  std::uint64_t stream = 0;
};

/// A stochastic mode in device memory.
template <detail::draws_bits R>
struct stored_rounding {
  R const* at;

  static constexpr bool is_stochastic = true;
  LOWP_FN constexpr bool inward(bool) const { return false; }
  LOWP_FN R mode_on_device() const { return {0}; }
  LOWP_FN detail::random_origin origin_on_device() const { return at->origin(); }
  R const* stored_at() const { return at; }
};

/// A mode whose step and stream lie in device memory.
template <class R>
struct stepped_rounding {
  R mode;
  step_state const* state;

  static constexpr bool is_stochastic = true;
  LOWP_FN constexpr bool inward(bool negative) const { return mode.inward(negative); }
  LOWP_FN R const& mode_on_device() const { return mode; }
  LOWP_FN detail::random_origin origin_on_device() const {
    detail::random_origin origin = origin_of(mode);
    origin.set_stream(state->stream, state->step);
    return origin;
  }
  step_state const* stored_at() const { return state; }
};

/// Makes an optimizer's element function in device code. One thread of a block makes it, because it
/// takes some hundred instructions.
template <class Element, class Optimizer>
struct make_stored_step {
  static constexpr bool is_costly = true;

  Optimizer optimizer;
  step_state const* state;

  struct element : Element {
    bool is_idle;
  };
  LOWP_FN element operator()() const {
    Optimizer now = optimizer;
    now.lr = state->lr;
    return {Element(now, state->step), state->step == 0};
  }
  step_state const* stored_at() const { return state; }
};

/// A number in device memory: an alpha, a scale or an inverse scale. No check is possible before
/// the kernel reads it: an infinity or NaN there reaches every element.
struct stored_number {
  float const* at;

  LOWP_FN float value() const { return *at; }
  float const* stored_at() const { return at; }
};

/// A step number that only a kernel reads: see detail::known_step.
struct at_stored_step {
  step_state const* state;

  /// Returns what is known of a step before it runs: all of the optimizer but its rate.
  template <class Optimizer>
  [[nodiscard]] std::pair<Optimizer, std::uint64_t> known(Optimizer optimizer) const {
    optimizer.lr = 0;
    return {optimizer, 1};
  }
  template <class Element, class Optimizer>
  make_stored_step<Element, Optimizer> make(Optimizer const& optimizer) const {
    return {optimizer, state};
  }
  template <class R>
  stepped_rounding<R> rounding(R const& mode) const {
    return {mode, state};
  }
};

}  // namespace lowp::cuda
