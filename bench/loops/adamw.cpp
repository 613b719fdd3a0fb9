// SPDX-License-Identifier: Apache-2.0
// In float throughout, one square root and one division an element: what does not depend on the
// element is computed before.
#include "operations/adamw.hpp"

#include "loop.hpp"

#include <cmath>
#include <cstddef>
#include <span>
#include <string>

namespace {

struct constants {
  float o1, o2, b2, r2, ns, nw, e;

  static constants of(lowp::adamw const& a) {
    double const beta1 = static_cast<float>(a.beta1), beta2 = static_cast<float>(a.beta2);
    auto const power = [](double base) {
      double result = 1;
      for (auto n = bench::step; n != 0; n /= 2, base *= base)
        if (n % 2 == 1) result *= base;
      return result;
    };
    auto const to_float = [](double x) { return static_cast<float>(x); };
    return {to_float(1 - beta1),
            to_float(1 - beta2),
            to_float(beta2),
            to_float(1 / std::sqrt(1 - power(beta2))),
            to_float(-a.lr / (1 - power(beta1))),
            to_float(-(a.lr * a.weight_decay)),
            to_float(a.eps)};
  }
};

void step(constants const& c, float& p, float g, float& m, float& v) {
  m = __builtin_fmaf(c.o1, g - m, m);
  v = __builtin_fmaf(c.o2 * g, g, c.b2 * v);
  float const denominator = __builtin_fmaf(__builtin_sqrtf(v), c.r2, c.e);
  p += __builtin_fmaf(c.nw, p, c.ns * m / denominator);
}

void steps(constants c, float* __restrict p, float const* __restrict g, float* __restrict m,
           float* __restrict v, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) step(c, p[i], g[i], m[i], v[i]);
}

bench::peer const loops("update", [](bench::suite& cases) {
  using floats = std::span<float>;
  auto const add = [&](std::string const& loop, bench::registers width) {
    auto const update = [=](floats p, std::span<float const> g, floats m, floats v) {
      auto const c = constants::of({});
      bench::run(width, [=]<bench::registers>() __attribute__((always_inline)) {
        steps(c, p.data(), g.data(), m.data(), v.data(), p.size());
      });
    };
    bench::add_adamw_peer(cases, loop, update);
  };
  bench::for_each_loop("adamw/float,float,float,float/nearest_even", add);
});

}  // namespace
