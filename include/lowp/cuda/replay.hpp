// SPDX-License-Identifier: Apache-2.0
// Arguments that lie in device memory and are read when a kernel runs, so that a captured CUDA graph
// can be replayed with others.
#pragma once

#include <lowp/cuda/kernel_operand.hpp>
#include <lowp/measure/gradients.hpp>
#include <lowp/ops/fused_add.hpp>
#include <lowp/ops/scaled_cast.hpp>
#include <lowp/train/update.hpp>

#include <cstdint>

namespace lowp::cuda {

/// In device memory: what changes from one step to the next. `lr` takes the place of the optimizer's,
/// and `stream` of that of every stochastic mode; as everywhere, `step` counts from 1 and is put into
/// the stream's low half. What is wrong with them nobody can say before the kernel runs: a step of 0
/// or an lr that is not finite and positive gives what the formulas give.
struct step_state {
  double lr;
  std::uint64_t step;
  std::uint64_t stream = 0;
};

/// A stochastic mode in device memory.
struct stored_rounding {
  stochastic const* at;

  static constexpr bool is_stochastic = true;
  LOWP_FN constexpr bool inward(bool) const { return false; }
  LOWP_FN stochastic mode_when_settled() const { return {0}; }
  LOWP_FN random_origin settled() const { return {true, *at}; }
  void const* stored_at() const { return at; }
};

/// A mode whose step and stream lie in device memory.
template <class R>
struct stepped_rounding {
  R mode;
  step_state const* state;

  static constexpr bool is_stochastic = true;
  LOWP_FN constexpr bool inward(bool negative) const { return mode.inward(negative); }
  LOWP_FN R const& mode_when_settled() const { return mode; }
  LOWP_FN random_origin settled() const {
    random_origin origin = origin_of(mode);
    origin.source = origin.source.with_stream(state->stream).at(state->step);
    return origin;
  }
  void const* stored_at() const { return state; }
};

/// Makes an optimizer's element function in device code: by one thread of a block, for it takes some
/// hundred instructions.
template <class Element, class Optimizer>
struct make_stored_step {
  static constexpr bool is_costly = true;

  Optimizer optimizer;
  step_state const* state;

  LOWP_FN Element operator()() const {
    Optimizer now = optimizer;
    now.lr = state->lr;
    return Element(now, state->step);
  }
  void const* stored_at() const { return state; }
};

struct make_stored_addition {
  float const* alpha;
  LOWP_FN detail::scaled_addition operator()() const { return {*alpha}; }
  void const* stored_at() const { return alpha; }
};

struct make_stored_scaling {
  float const* scale;
  LOWP_FN detail::scaling operator()() const { return {*scale}; }
  void const* stored_at() const { return scale; }
};

struct make_stored_unscaling {
  float const* inverse_scale;
  LOWP_FN detail::unscaling operator()() const { return {*inverse_scale}; }
  void const* stored_at() const { return inverse_scale; }
};

/// A step that is known when it runs: see detail::at_step.
struct at_stored_step {
  step_state const* state;

  template <class Optimizer>
  [[nodiscard]] detail::error_text invalid(Optimizer optimizer) const {
    optimizer.lr = 0;
    return detail::invalid(optimizer, 1);
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

/// Any place, at a step that is known when it runs.
template <class Executor>
struct when_stored : Executor {
  step_state const* state;
  at_stored_step when() const { return {state}; }
};

}  // namespace lowp::cuda
