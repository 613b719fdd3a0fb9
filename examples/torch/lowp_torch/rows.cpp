// SPDX-License-Identifier: Apache-2.0
// Rows for functional.py. LOWP_TORCH_ELEMENT is float32, bfloat16 or float16: each has a library.
#include "memory.hpp"

#include <memory>

namespace {

using float32 = float;
using lowp::bfloat16, lowp::float16;
using T = LOWP_TORCH_ELEMENT;
namespace team {
LOWP_TEAM_CALL(cross_entropy)
LOWP_TEAM_CALL(softmax)
LOWP_TEAM_CALL(log_softmax)
LOWP_TEAM_CALL(softmax_backward)
LOWP_TEAM_CALL(log_softmax_backward)
LOWP_TEAM_CALL(rms_norm)
LOWP_TEAM_CALL(rms_norm_backward)
LOWP_TEAM_CALL(add_rms_norm)
LOWP_TEAM_CALL(layer_norm)
LOWP_TEAM_CALL(layer_norm_backward)
LOWP_TEAM_CALL(gelu)
LOWP_TEAM_CALL(gelu_backward)
LOWP_TEAM_CALL(gated_gelu)
LOWP_TEAM_CALL(gated_gelu_backward)
LOWP_TEAM_CALL(gelu_tanh)
LOWP_TEAM_CALL(gelu_tanh_backward)
LOWP_TEAM_CALL(gated_gelu_tanh)
LOWP_TEAM_CALL(gated_gelu_tanh_backward)
LOWP_TEAM_CALL(silu)
LOWP_TEAM_CALL(silu_backward)
LOWP_TEAM_CALL(gated_silu)
LOWP_TEAM_CALL(gated_silu_backward)
}  // namespace team

using rows_of_matrix = lowp::strided_rows<T const>;

/// Returns rows that begin `stride` apart. The last one ends with its last element.
rows_of_matrix rows_of(T const* data, size stride, size rows, size columns) {
  return {{data, (rows - 1) * stride + columns}, stride};
}
#define LOWP_ACTIVATION_CALLS(name)                                                \
  struct calls_of_##name {                                                         \
    static void value(auto... a) { team::name(a...); }                             \
    static void backward(auto... a) { team::name##_backward(a...); }               \
    static void gated(auto... a) { team::gated_##name(a...); }                     \
    static void gated_backward(auto... a) { team::gated_##name##_backward(a...); } \
  };
LOWP_ACTIVATION_CALLS(gelu)
LOWP_ACTIVATION_CALLS(gelu_tanh)
LOWP_ACTIVATION_CALLS(silu)
#undef LOWP_ACTIVATION_CALLS

/// Calls function(calls) with the calls of an activation by its number in _ACTIVATIONS.
void with_activation(int activation, auto const& function) {
  if (activation == 0) return function(calls_of_gelu{});
  if (activation == 1) return function(calls_of_gelu_tanh{});
  if (activation == 2) return function(calls_of_silu{});
  throw std::invalid_argument("no activation: " + std::to_string(activation));
}

#ifndef __CUDACC__
/// Refuses a wrong label before anything is written, and names its row.
void check_labels(std::int64_t const* labels, size rows, size columns, std::int64_t ignore_index) {
  for (size i = 0; i < rows; ++i)
    if (labels[i] != ignore_index && static_cast<size>(labels[i]) >= columns)
      throw std::invalid_argument("cross_entropy: the label of row " + std::to_string(i) + " is " +
                                  std::to_string(labels[i]) + ", not from 0 to " +
                                  std::to_string(columns - 1) + " or ignore_index, " +
                                  std::to_string(ignore_index));
}

#endif

/// The options of a call: the derivative of a row has the scale of its loss's derivative.
lowp::cross_entropy_options loss_of(std::int64_t ignore_index, float label_smoothing,
                                    float const* dlosses = nullptr) {
  return {ignore_index, label_smoothing, lowp::loss_reduction::summed, 1, dlosses};
}

}  // namespace

// Each function gets at least one row of at least one column.
extern "C" {

char const* lowp_softmax(T const* in, size stride, T* out, size rows, size columns, bool is_log) {
  return error_of([&] {
    auto const x = rows_of(in, stride, rows, columns);
    std::span const y(out, rows * columns);
    is_log ? team::log_softmax(x, y, columns) : team::softmax(x, y, columns);
  });
}
char const* lowp_softmax_backward(T const* y, T const* dy, T* dx, size rows, size columns,
                                  bool is_log) {
  return error_of([&] {
    size const n = rows * columns;
    std::span const value(y, n), derivative(dy, n);
    if (is_log)
      team::log_softmax_backward(value, derivative, std::span(dx, n), columns);
    else
      team::softmax_backward(value, derivative, std::span(dx, n), columns);
  });
}

char const* lowp_rms_norm(T const* in, size stride, T const* weight, T* out, float* rms, size rows,
                          size columns, double eps) {
  return error_of([&] {
    team::rms_norm(rows_of(in, stride, rows, columns), std::span(weight, columns),
                   std::span(out, rows * columns), columns, eps, std::span(rms, rows));
  });
}
char const* lowp_rms_norm_backward(T const* x, size stride, T const* weight, T const* dy,
                                   float const* rms, T* dx, float* dweight, size rows, size columns,
                                   bool adds) {
  return error_of([&] {
    auto const call = [&](auto to) {
      team::rms_norm_backward(rows_of(x, stride, rows, columns), std::span(weight, columns),
                              std::span(dy, rows * columns), std::span(rms, rows), to,
                              std::span(dweight, columns), columns);
    };
    std::span const to(dx, rows * columns);
    adds ? call(lowp::added_to{to}) : call(to);
  });
}
/// Computes sum = round(x + u) and out = rms_norm of the sum, of rows without a stride.
char const* lowp_add_rms_norm(T const* x, T const* u, T const* weight, T* sum, T* out, float* rms,
                              size rows, size columns, double eps) {
  return error_of([&] {
#ifdef __CUDACC__
    std::span const all(sum, rows * columns);
    copy(x, sum, all.size_bytes());
    team::add_rms_norm(all, std::span(u, all.size()), std::span(weight, columns),
                       std::span(out, all.size()), columns, eps, std::span(rms, rows));
#else
    for_each_piece(rows, std::max<size>(1, piece / columns), [&](size first, size count) {
      size const at = first * columns, n = count * columns;
      std::copy_n(x + at, n, sum + at);
      lowp::add_rms_norm(std::span(sum + at, n), std::span(u + at, n), std::span(weight, columns),
                         std::span(out + at, n), columns, eps, std::span(rms + first, count));
    });
#endif
  });
}
char const* lowp_layer_norm(T const* in, size stride, T const* weight, T const* bias, T* out,
                            float* mean, float* deviation, size rows, size columns, double eps) {
  return error_of([&] {
    team::layer_norm(rows_of(in, stride, rows, columns), std::span(weight, columns),
                     std::span(bias, columns), std::span(out, rows * columns), columns, eps,
                     std::span(mean, rows), std::span(deviation, rows));
  });
}
char const* lowp_layer_norm_backward(T const* x, size stride, T const* weight, T const* dy,
                                     float const* mean, float const* deviation, T* dx,
                                     float* dweight, float* dbias, size rows, size columns) {
  return error_of([&] {
    team::layer_norm_backward(rows_of(x, stride, rows, columns), std::span(weight, columns),
                              std::span(dy, rows * columns), std::span(mean, rows),
                              std::span(deviation, rows), std::span(dx, rows * columns),
                              std::span(dweight, columns), std::span(dbias, columns), columns);
  });
}

char const* lowp_activation(int activation, T const* in, T* out, size n) {
  return error_of([&] {
    with_activation(activation, [&](auto f) { f.value(std::span(in, n), std::span(out, n)); });
  });
}
char const* lowp_activation_backward(int activation, T const* x, T const* dy, T* dx, size n) {
  return error_of([&] {
    with_activation(activation, [&](auto f) {
      f.backward(std::span(x, n), std::span(dy, n), std::span(dx, n));
    });
  });
}
/// Rows of gate and up may be halves of the rows of one matrix.
char const* lowp_gated(int activation, T const* gate, size gate_stride, T const* up, size up_stride,
                       T* out, size rows, size columns) {
  return error_of([&] {
    with_activation(activation, [&](auto f) {
      if (gate_stride == columns && up_stride == columns) {
        size const n = rows * columns;
        return f.gated(std::span(gate, n), std::span(up, n), std::span(out, n));
      }
#ifdef __CUDACC__
      throw std::invalid_argument("rows of gate and up have strides");
#else
      for_each_piece(rows, std::max<size>(1, piece / columns), [&](size first, size count) {
        for (size i = first; i < first + count; ++i)
          f.gated(std::span(gate + i * gate_stride, columns),
                  std::span(up + i * up_stride, columns), std::span(out + i * columns, columns));
      });
#endif
    });
  });
}
char const* lowp_gated_backward(int activation, T const* gate, T const* up, T const* dy, T* dgate,
                                T* dup, size n) {
  return error_of([&] {
    with_activation(activation, [&](auto f) {
      f.gated_backward(std::span(gate, n), std::span(up, n), std::span(dy, n), std::span(dgate, n),
                       std::span(dup, n));
    });
  });
}

/// The derivative goes to memory that stays in a core's cache. A GPU has `scratch`.
char const* lowp_cross_entropy(T const* logits, size stride, std::int64_t const* labels,
                               float* losses, [[maybe_unused]] T* scratch,
                               [[maybe_unused]] size rows_of_scratch, size rows, size columns,
                               std::int64_t ignore_index, float label_smoothing) {
  return error_of([&] {
    auto const options = loss_of(ignore_index, label_smoothing);
    auto const take = [&](auto const& call, T* to, size first, size count) {
      call(rows_of(logits + first * stride, stride, count, columns),
           std::span(labels + first, count), columns, options, std::span(losses + first, count),
           std::span(to, count * columns));
    };
#ifdef __CUDACC__
    for (size i = 0; i < rows; i += rows_of_scratch)
      take([](auto const&... a) { team::cross_entropy(a...); }, scratch, i,
           std::min(rows_of_scratch, rows - i));
#else
    check_labels(labels, rows, columns, ignore_index);
    size const in_piece = std::max<size>(1, 4 * piece / columns);
    for_each_piece(rows, in_piece, [&](size first, size count) {
      auto const mine = std::make_unique_for_overwrite<float[]>(count * columns);
      take(lowp::cross_entropy, reinterpret_cast<T*>(mine.get()), first, count);
    });
#endif
  });
}
char const* lowp_cross_entropy_backward(float const* dlosses, T const* logits, size stride,
                                        std::int64_t const* labels, float* losses, T* dlogits,
                                        size rows, size columns, std::int64_t ignore_index,
                                        float label_smoothing) {
  return error_of([&] {
    team::cross_entropy(rows_of(logits, stride, rows, columns), std::span(labels, rows), columns,
                        loss_of(ignore_index, label_smoothing, dlosses), std::span(losses, rows),
                        std::span(dlogits, rows * columns));
  });
}

}  // extern "C"
