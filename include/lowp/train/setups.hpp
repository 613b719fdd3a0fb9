// SPDX-License-Identifier: Apache-2.0
// The three ways in which Megatron-LM and FSDP keep weights that are used in a narrow format.
//
//     cast_per_use  fp32 weights, cast per use of a layer (FSDP's MixedPrecision(param_dtype))
//     cached_copy   fp32 weights, and a narrow copy for all micro-batches until the next update. An
//                   update writes it in its own pass, as Megatron-LM's
//                   Float16OptimizerWithFloat16Params
//     pure          only narrow weights, rounded stochastically or kept as kahan
//
//     update(setup.storage(), g, m, v, adamw, step, rounding);   the same for all three
//     forward(setup.working(scratch));
#pragma once

#include <lowp/ops/cast.hpp>
#include <lowp/ops/storage_operands.hpp>

namespace lowp {

/// `working` casts to nearest even into `scratch`, which layers may share, and throws as `cast`.
template <narrow Compute>
struct cast_per_use {
  std::span<float> weights;

  static constexpr std::size_t bytes = sizeof(float);            ///< kept for a parameter
  static constexpr std::size_t scratch_bytes = sizeof(Compute);  ///< for a parameter in use

  LOWP_HOST_FN std::span<float> storage() const { return weights; }
  LOWP_HOST_FN std::span<Compute const> working(std::span<Compute> scratch) const {
    cast(weights, scratch);
    return scratch;
  }
};

/// `refresh` makes the copy after weights have been loaded. Later updates keep it current.
template <narrow Compute>
struct cached_copy {
  std::span<float> weights;
  std::span<Compute> copy;

  static constexpr std::size_t bytes = sizeof(float) + sizeof(Compute);
  static constexpr std::size_t scratch_bytes = 0;

  LOWP_HOST_FN auto storage() const { return master{weights, copy}; }
  LOWP_HOST_FN void refresh() const { cast(weights, copy); }
  LOWP_HOST_FN std::span<Compute const> working(std::span<Compute> = {}) const { return copy; }
};

template <narrow Compute>
struct pure {
  std::span<Compute> weights;

  static constexpr std::size_t bytes = sizeof(Compute);
  static constexpr std::size_t scratch_bytes = 0;

  LOWP_HOST_FN std::span<Compute> storage() const { return weights; }
  LOWP_HOST_FN std::span<Compute const> working(std::span<Compute> = {}) const { return weights; }
};

namespace detail {
template <class Moment>
inline constexpr std::size_t bytes_of_moment = sizeof(Moment);
template <class T>
inline constexpr std::size_t bytes_of_moment<scaled<T>> = sizeof(T);

/// The first moment alone, or two of which the second is scaled or does not underflow.
template <class... Moment>
inline constexpr bool second_moment_holds_squares = true;
template <class M, element V>
inline constexpr bool second_moment_holds_squares<M, V> = holds_squares<std::span<V>>;
}  // namespace detail

/// The bytes that a training run keeps for a parameter: weights, a gradient, and the moments. A
/// second moment of float16 or of 8 bits is `scaled<float16>`: unscaled, it would underflow.
template <class Setup, element Gradient, class... Moment>
  requires detail::second_moment_holds_squares<Moment...>
inline constexpr std::size_t bytes_per_parameter =
    Setup::bytes + sizeof(Gradient) + (std::size_t{0} + ... + detail::bytes_of_moment<Moment>);

}  // namespace lowp
