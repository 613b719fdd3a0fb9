// SPDX-License-Identifier: Apache-2.0
// The operations of cuda/lowp.cuh for programs without exceptions: each returns a status.
#pragma once

#include <lowp/cuda/call.cuh>
#include <lowp/measure/abs_range.hpp>
#include <lowp/measure/census/census.hpp>
#include <lowp/nn/gelu.hpp>
#include <lowp/nn/masked_softmax.hpp>
#include <lowp/nn/normalization.hpp>
#include <lowp/ops/block_cast.hpp>
#include <lowp/ops/cast.hpp>
#include <lowp/ops/split.hpp>
#include <lowp/ops/transform.hpp>

#include <cstddef>

namespace lowp::cuda {

/// As lowp::cast.
template <class In, class Out, class... Rest>
[[nodiscard]] status try_cast(cudaStream_t stream, In&& in, Out&& out, Rest&&... rest) {
  return run_on(stream, [&](auto const& executor) {
    return detail::cast_on(executor, viewed(in), viewed(out), argument(rest)...);
  });
}

/// As lowp::scaled_cast.
template <class In, class Out, class Scale, class... Rest>
[[nodiscard]] status try_scaled_cast(cudaStream_t stream, In&& in, Out&& out, Scale scale,
                                     Rest&&... rest) {
  return run_on(stream, [&](auto const& executor) {
    return detail::scaled_cast_on(executor, viewed(in), viewed(out), scaling_by(scale),
                                  argument(rest)...);
  });
}

/// As lowp::block_cast, there and back; codes and scales are spans of device memory.
template <class In, class T, int Block, class... Rest>
[[nodiscard]] status try_block_cast(cudaStream_t stream, In&& in, block_scaled<T, Block> const& out,
                                    Rest&&... rest) {
  return run_on(stream, [&](auto const& executor) {
    return detail::block_cast_on(executor, viewed(in), out, argument(rest)...);
  });
}
template <class T, int Block, class Out, class... Rest>
[[nodiscard]] status try_block_cast(cudaStream_t stream, block_scaled<T, Block> const& in,
                                    Out&& out, Rest&&... rest) {
  return run_on(stream, [&](auto const& executor) {
    return detail::block_cast_from(executor, in, viewed(out), argument(rest)...);
  });
}

/// As lowp::fused_add.
template <class P, class Alpha, class U, class... Rest>
  requires(!tensor_list<std::remove_cvref_t<P>>)
[[nodiscard]] status try_fused_add(cudaStream_t stream, P&& p, Alpha alpha, U&& u, Rest&&... rest) {
  return run_on(stream, [&](auto const& executor) {
    return detail::fused_add_on(executor, viewed(p), addition_of(alpha), viewed(u),
                                argument(rest)...);
  });
}
template <tensor_list List, class Alpha, class... Rest>
[[nodiscard]] status try_fused_add(cudaStream_t stream, List const& list, Alpha alpha,
                                   Rest&&... rest) {
  return run_list_on(
      stream, "fused_add", list,
      [&](auto const& executor, auto const& t, auto&&... each) {
        return detail::fused_add_on(executor, t.p, addition_of(alpha), t.u, each...);
      },
      rest...);
}

/// As lowp::update. The step is a number or a step_state const*.
template <class P, class G, class Step, class... Rest>
[[nodiscard]] status try_update(cudaStream_t stream, P&& p, G&& g, sgd const& optimizer, Step step,
                                Rest&&... rest) {
  return run_on(stream, [&](auto const& grid) {
    return with_step(grid, step, [&](auto const& executor, std::uint64_t number) {
      return detail::update_on(executor, viewed(p), viewed(g), optimizer, number,
                               argument(rest)...);
    });
  });
}
template <class P, class G, class M, class Step, class... Rest>
[[nodiscard]] status try_update(cudaStream_t stream, P&& p, G&& g, M&& momentum,
                                sgd const& optimizer, Step step, Rest&&... rest) {
  return run_on(stream, [&](auto const& grid) {
    return with_step(grid, step, [&](auto const& executor, std::uint64_t number) {
      return detail::update_on(executor, viewed(p), viewed(g), viewed(momentum), optimizer, number,
                               argument(rest)...);
    });
  });
}
template <class P, class G, class M, class V, class Step, class... Rest>
[[nodiscard]] status try_update(cudaStream_t stream, P&& p, G&& g, M&& m, V&& v,
                                adamw const& optimizer, Step step, Rest&&... rest) {
  return run_on(stream, [&](auto const& grid) {
    return with_step(grid, step, [&](auto const& executor, std::uint64_t number) {
      return detail::update_on(executor, viewed(p), viewed(g), viewed(m), viewed(v), optimizer,
                               number, argument(rest)...);
    });
  });
}
template <tensor_list List, class Optimizer, class Step, class... Rest>
[[nodiscard]] status try_update(cudaStream_t stream, List const& list, Optimizer const& optimizer,
                                Step step, Rest&&... rest) {
  return run_list_on(
      stream, "update", list,
      [&](auto const& grid, auto const& tensor, auto&&... each) {
        return with_step(grid, step, [&](auto const& executor, std::uint64_t number) {
          return update_tensor(executor, tensor, optimizer, number, each...);
        });
      },
      rest...);
}

/// As lowp::split and lowp::join.
template <class In, class High, class Low, class... Rest>
[[nodiscard]] status try_split(cudaStream_t stream, In&& in, High&& high, Low&& low,
                               Rest&&... rest) {
  return run_on(stream, [&](auto const& executor) {
    return detail::split_on(executor, viewed(in), viewed(high), viewed(low), argument(rest)...);
  });
}
template <class High, class Low, class Out>
[[nodiscard]] status try_join(cudaStream_t stream, High&& high, Low&& low, Out&& out) {
  return run_on(stream, [&](auto const& executor) {
    return detail::join_on(executor, viewed(high), viewed(low), viewed(out));
  });
}

/// As lowp::unscale.
template <class G, class InverseScale, class Report, class... Rest>
[[nodiscard]] status try_unscale(cudaStream_t stream, G&& g, InverseScale inverse_scale,
                                 Report&& report, Rest&&... rest) {
  return run_on(stream, [&](auto const& executor) {
    return detail::unscale_on(executor, viewed(g), unscaling_by(inverse_scale), argument(report),
                              argument(rest)...);
  });
}

/// As lowp::measure, but that it adds to a report in device memory.
template <class G, class Report>
[[nodiscard]] status try_measure(cudaStream_t stream, G&& g, Report&& report) {
  return run_on(stream, [&](auto const& executor) {
    return detail::measure_on(executor, viewed(g), argument(report));
  });
}

/// As lowp::sum and lowp::dot, but that they add to a report in device memory.
template <class X, class Report>
[[nodiscard]] status try_sum(cudaStream_t stream, X&& x, Report&& report) {
  return run_on(stream, [&](auto const& executor) {
    return detail::sum_on(executor, viewed(x), argument(report));
  });
}
template <class A, class B, class Report>
[[nodiscard]] status try_dot(cudaStream_t stream, A&& a, B&& b, Report&& report) {
  return run_on(stream, [&](auto const& executor) {
    return detail::dot_on(executor, viewed(a), viewed(b), argument(report));
  });
}

/// As lowp::census, but that it adds to a census_report<To> in device memory.
template <class In, class Report>
[[nodiscard]] status try_census(cudaStream_t stream, In&& in, Report&& report) {
  return run_on(stream, [&](auto const& executor) {
    return detail::census_on(executor, viewed(in), argument(report));
  });
}

/// As lowp::abs_range_of, but that it adds to an abs_range_report<To> in device memory.
template <class In, class Report>
[[nodiscard]] status try_abs_range_of(cudaStream_t stream, In&& in, Report&& report) {
  return run_on(stream, [&](auto const& executor) {
    return detail::abs_range_on(executor, viewed(in), argument(report));
  });
}

/// As lowp::gelu_tanh and lowp::gated_gelu_tanh.
template <class In, class Out, class... Rest>
[[nodiscard]] status try_gelu_tanh(cudaStream_t stream, In&& in, Out&& out, Rest&&... rest) {
  return run_on(stream, [&](auto const& executor) {
    return detail::gelu_tanh_on(executor, viewed(in), viewed(out), argument(rest)...);
  });
}
template <class Gate, class Up, class Out, class... Rest>
[[nodiscard]] status try_gated_gelu_tanh(cudaStream_t stream, Gate&& gate, Up&& up, Out&& out,
                                         Rest&&... rest) {
  return run_on(stream, [&](auto const& executor) {
    return detail::gated_gelu_tanh_on(executor, viewed(gate), viewed(up), viewed(out),
                                      argument(rest)...);
  });
}

/// As lowp::clamp_overflow, with a report in device memory that must be empty: a second kernel reads it.
template <class X, class Report>
[[nodiscard]] status try_clamp_overflow(cudaStream_t stream, X&& x, Report&& report) {
  return run_on(stream, [&](auto const& executor) {
    detail::error_text wrong = detail::find_overflow_on(executor, viewed(x), argument(report));
    if (wrong.empty()) detail::clamp_found_on(executor, viewed(x), argument(report));
    return wrong;
  });
}

/// As lowp::scale_by_power_of_two.
template <class In, class Out, class... Report>
[[nodiscard]] status try_scale_by_power_of_two(cudaStream_t stream, In&& in, Out&& out,
                                               int exponent, Report&&... report) {
  return run_on(stream, [&](auto const& executor) {
    return detail::power_of_two_on(executor, viewed(in), viewed(out), exponent,
                                   argument(report)...);
  });
}

/// As lowp::transform.
template <class Function, class R, class Out, class... In>
[[nodiscard]] status try_transform(cudaStream_t stream, Function const& function, R rounding,
                                   Out&& out, In&&... in) {
  return run_on(stream, [&](auto const& executor) {
    return detail::transform_on(executor, function, argument(rounding), viewed(out), viewed(in)...);
  });
}

/// As lowp::rms_norm and lowp::layer_norm: a warp a row, or a block a long one.
template <class In, class Weight, class Out>
[[nodiscard]] status try_rms_norm(cudaStream_t stream, In&& in, Weight&& weight, Out&& out,
                                  std::size_t columns, float eps) {
  return run_on(stream, [&](auto const& executor) {
    return detail::rms_norm_on(executor, viewed(in), viewed(weight), viewed(out), columns, eps);
  });
}
template <class In, class Weight, class Bias, class Out>
[[nodiscard]] status try_layer_norm(cudaStream_t stream, In&& in, Weight&& weight, Bias&& bias,
                                    Out&& out, std::size_t columns, float eps) {
  return run_on(stream, [&](auto const& executor) {
    return detail::layer_norm_on(executor, viewed(in), viewed(weight), viewed(bias), viewed(out),
                                 columns, eps);
  });
}

/// As lowp::softmax and lowp::log_softmax: a warp a row, or a block a long one.
template <class In, class Out>
[[nodiscard]] status try_softmax(cudaStream_t stream, In&& in, Out&& out, std::size_t columns) {
  return run_on(stream, [&](auto const& executor) {
    return detail::softmax_on(executor, viewed(in), viewed(out), columns);
  });
}
template <class In, class Out>
[[nodiscard]] status try_log_softmax(cudaStream_t stream, In&& in, Out&& out, std::size_t columns) {
  return run_on(stream, [&](auto const& executor) {
    return detail::log_softmax_on(executor, viewed(in), viewed(out), columns);
  });
}

/// As lowp::scale_mask_softmax; a mask is a causal_mask, or an attention_mask of a span of device memory.
template <class In, score_mask Mask, class Out>
[[nodiscard]] status try_scale_mask_softmax(cudaStream_t stream, In&& in, Mask const& mask,
                                            Out&& out, std::size_t columns, float scale) {
  return run_on(stream, [&](auto const& executor) {
    return detail::scale_mask_softmax_on(executor, viewed(in), mask, viewed(out), columns, scale);
  });
}

}  // namespace lowp::cuda
