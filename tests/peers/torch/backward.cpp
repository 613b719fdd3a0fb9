// SPDX-License-Identifier: Apache-2.0
// Derivatives over plain arrays, for backward_test.py to call.
#include <lowp/nn.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace {

/// Rows of T; what an operation does not have is null.
struct call {
  void *x, *dy, *dx;
  void* weight;
  float *dweight, *dbias, *losses;
  std::int64_t* labels;
  double* batch;  // the mean loss, and the labels that count
  std::size_t rows, columns;
  float eps, label_smoothing;
};

template <class T>
struct arrays {
  std::span<T> x, dy, dx, weight;
  std::span<float> dweight, dbias;
  std::vector<float> mean, deviation;
  std::vector<T> y;

  explicit arrays(call const& c)
      : x(of(c.x, c.rows * c.columns)),
        dy(of(c.dy, c.rows * c.columns)),
        dx(of(c.dx, c.rows * c.columns)),
        weight(of(c.weight, c.columns)),
        dweight(c.dweight, c.columns),
        dbias(c.dbias, c.columns),
        mean(c.rows),
        deviation(c.rows),
        y(c.rows * c.columns) {}

 private:
  static std::span<T> of(void* data, std::size_t size) { return {static_cast<T*>(data), size}; }
};

template <class T>
void softmax(call const& c) {
  arrays<T> const a(c);
  lowp::softmax_backward(a.x, a.dy, a.dx, c.columns);
}
template <class T>
void log_softmax(call const& c) {
  arrays<T> const a(c);
  lowp::log_softmax_backward(a.x, a.dy, a.dx, c.columns);
}
template <class T>
void rms_norm(call const& c) {
  arrays<T> a(c);
  lowp::rms_norm(a.x, a.weight, a.y, c.columns, c.eps, a.deviation);
  lowp::rms_norm_backward(a.x, a.weight, a.dy, a.deviation, a.dx, a.dweight, c.columns);
}
template <class T>
void layer_norm(call const& c) {
  arrays<T> a(c);
  std::vector<T> const bias(c.columns);
  lowp::layer_norm(a.x, a.weight, bias, a.y, c.columns, c.eps, a.mean, a.deviation);
  lowp::layer_norm_backward(a.x, a.weight, a.dy, a.mean, a.deviation, a.dx, a.dweight, a.dbias,
                            c.columns);
}
template <class T>
void gelu_tanh(call const& c) {
  arrays<T> const a(c);
  lowp::gelu_tanh_backward(a.x, a.dy, a.dx);
}
template <class T>
void gelu(call const& c) {
  arrays<T> const a(c);
  lowp::gelu_backward(a.x, a.dy, a.dx);
}
template <class T>
void silu(call const& c) {
  arrays<T> const a(c);
  lowp::silu_backward(a.x, a.dy, a.dx);
}
// The functions themselves; the result lies in dx.
template <class T>
void value_of_gelu(call const& c) {
  arrays<T> const a(c);
  lowp::gelu(a.x, a.dx);
}
template <class T>
void value_of_silu(call const& c) {
  arrays<T> const a(c);
  lowp::silu(a.x, a.dx);
}
template <class T>
void cross_entropy(call const& c) {
  arrays<T> const a(c);
  lowp::sum_report loss;
  lowp::cross_entropy(a.x, std::span(c.labels, c.rows), c.columns,
                      {.label_smoothing = c.label_smoothing}, std::span(c.losses, c.rows), a.dx,
                      loss);
  c.batch[0] = loss.mean();
  c.batch[1] = static_cast<double>(loss.count);
}

}  // namespace

#define LOWP_BOTH_TYPES(name)                                        \
  extern "C" void name##_float32(call const* c) { name<float>(*c); } \
  extern "C" void name##_bfloat16(call const* c) { name<lowp::bfloat16>(*c); }

LOWP_BOTH_TYPES(softmax)
LOWP_BOTH_TYPES(log_softmax)
LOWP_BOTH_TYPES(rms_norm)
LOWP_BOTH_TYPES(layer_norm)
LOWP_BOTH_TYPES(gelu_tanh)
LOWP_BOTH_TYPES(gelu)
LOWP_BOTH_TYPES(silu)
LOWP_BOTH_TYPES(value_of_gelu)
LOWP_BOTH_TYPES(value_of_silu)
LOWP_BOTH_TYPES(cross_entropy)
