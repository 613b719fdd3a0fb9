// SPDX-License-Identifier: Apache-2.0
// A step in float, and the tests' own transcription of PyTorch's, for steps_test.py to call.
#include <lowp/lowp.hpp>
#include <lowp/measure.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

#include "train/update/formulas.hpp"

extern "C" {

void lowp_adamw(float* p, float* g, float* m, float* v, std::size_t n, double lr, double beta1,
                double beta2, double eps, double weight_decay, std::uint64_t step) {
  lowp::update(std::span(p, n), std::span(g, n), std::span(m, n), std::span(v, n),
               lowp::adamw{lr, beta1, beta2, eps, weight_decay}, step);
}
void formula_adamw(float* p, float* g, float* m, float* v, std::size_t n, double lr, double beta1,
                   double beta2, double eps, double weight_decay, std::uint64_t step) {
  lowp::adamw const a{lr, beta1, beta2, eps, weight_decay};
  for (std::size_t i = 0; i < n; ++i) torch_formulas::adamw(p[i], g[i], m[i], v[i], a, {a, step});
}

void lowp_lion(float* p, float* g, float* m, std::size_t n, double lr, double beta1, double beta2,
               double weight_decay, std::uint64_t step) {
  lowp::update(std::span(p, n), std::span(g, n), std::span(m, n),
               lowp::lion{lr, beta1, beta2, weight_decay}, step);
}
void formula_lion(float* p, float* g, float* m, std::size_t n, double lr, double beta1,
                  double beta2, double weight_decay, std::uint64_t) {
  for (std::size_t i = 0; i < n; ++i)
    torch_formulas::lion(p[i], g[i], m[i], lowp::lion{lr, beta1, beta2, weight_decay});
}

void lowp_sgd(float* p, float* g, float* buffer, std::size_t n, double lr, double momentum,
              double dampening, double weight_decay, bool nesterov, std::uint64_t step) {
  lowp::update(std::span(p, n), std::span(g, n), std::span(buffer, n),
               lowp::sgd{lr, momentum, dampening, weight_decay, nesterov}, step);
}
void formula_sgd(float* p, float* g, float* buffer, std::size_t n, double lr, double momentum,
                 double dampening, double weight_decay, bool nesterov, std::uint64_t step) {
  lowp::sgd const s{lr, momentum, dampening, weight_decay, nesterov};
  for (std::size_t i = 0; i < n; ++i) torch_formulas::sgd(p[i], g[i], buffer[i], s, step);
}

/// A matrix has moments of its rows; a vector, with rows = 0, has one of its elements.
void lowp_adafactor(float* p, float* g, float* row_var, float* column_var, float* u,
                    std::size_t rows, std::size_t columns, double lr, double beta2_decay,
                    double eps1, double eps2, double d, double weight_decay, std::uint64_t step) {
  std::size_t const n = rows == 0 ? columns : rows * columns;
  std::span const parameters(p, n), gradients(g, n), direction(u, n), column(column_var, columns);
  lowp::adafactor const a{lr, beta2_decay, eps1, eps2, d, weight_decay};
  if (rows == 0)
    lowp::adafactor_direction(gradients, column, direction, columns, a, step);
  else
    lowp::adafactor_direction(gradients, std::span(row_var, rows), column, direction, columns, a,
                              step);
  lowp::update(parameters, direction,
               a.along(lowp::norm(parameters), lowp::norm(direction), n, step), step);
}

}  // extern "C"
