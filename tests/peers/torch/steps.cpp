// SPDX-License-Identifier: Apache-2.0
// A step in float, and the tests' own transcription of PyTorch's, for steps_test.py to call.
#include <lowp/update.hpp>

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
  for (std::size_t i = 0; i < n; ++i) torch_formulas::adamw(p[i], g[i], m[i], v[i], a, step);
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

}  // extern "C"
