// SPDX-License-Identifier: Apache-2.0
// The fused operations of A9 for one element, line by line, on float patterns. The scalars are
// computed on double patterns, so that no compiler flag has a say in them either.
#pragma once

#include <bit>
#include <cstdint>

#include "softfloat.hpp"

namespace oracle {

inline constexpr std::uint32_t canonical_nan_bits = 0x7fc00000U;

// The results for one element: `w` before it is rounded to storage, the moments likewise, and the
// update `u` for a report. A moment that the operation does not touch is passed through.
struct element {
  std::uint32_t w = 0;
  std::uint32_t m = 0;
  std::uint32_t v = 0;
  std::uint32_t u = 0;
};

// Stored NaNs are canonical even if a value reaches storage without an operation.
constexpr std::uint32_t canonical(std::uint32_t x) {
  return from_float_bits(x).what == kind::nan ? canonical_nan_bits : x;
}

constexpr std::uint64_t f64_negate(std::uint64_t x) { return x ^ 0x8000000000000000U; }

// A9's f(): one rounding of a double to float.
constexpr std::uint32_t to_float(std::uint64_t double_bits) {
  return encode(binary32, from_double_bits(double_bits), mode::nearest_even, policy::infinity);
}
constexpr std::uint64_t bits_of(double x) { return std::bit_cast<std::uint64_t>(x); }
inline constexpr std::uint64_t one_double = bits_of(1.0);
constexpr bool is_zero(double x) { return bits_of(x) << 1 == 0; }

// w = fma(alpha, u, p). The update that was wanted is the product, rounded to float.
constexpr element fused_add(std::uint32_t p, std::uint32_t alpha, std::uint32_t u) {
  return {.w = f32_fma(alpha, u, p), .u = f32_mul(alpha, u)};
}

struct adamw_settings {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 1e-2;
};

struct adamw_scalars {
  std::uint32_t o1, o2, b2, r2, ns, nw, e;
  bool decays;
};

// B = double(float(beta))
constexpr std::uint64_t through_float(double beta) {
  return encode_wide(binary64, from_float_bits(to_float(bits_of(beta))), mode::nearest_even,
                     policy::infinity);
}

// c = 1 - r, r the power by repeated squaring from the lowest bit of step
constexpr std::uint64_t one_minus_power(std::uint64_t base, std::uint64_t step) {
  std::uint64_t r = one_double;
  for (std::uint64_t b = base; step != 0; step >>= 1, b = f64_mul(b, b)) {
    if ((step & 1) != 0) r = f64_mul(r, b);
  }
  return f64_sub(one_double, r);
}

constexpr adamw_scalars prepare(adamw_settings const& s, std::uint64_t step) {
  std::uint64_t const B1 = through_float(s.beta1);
  std::uint64_t const B2 = through_float(s.beta2);
  std::uint64_t const c1 = one_minus_power(B1, step);
  std::uint64_t const c2 = one_minus_power(B2, step);
  std::uint64_t const lr = bits_of(s.lr);
  return {.o1 = to_float(f64_sub(one_double, B1)),
          .o2 = to_float(f64_sub(one_double, B2)),
          .b2 = to_float(B2),
          .r2 = to_float(f64_div(one_double, f64_sqrt(c2))),
          .ns = to_float(f64_div(f64_negate(lr), c1)),
          .nw = to_float(f64_negate(f64_mul(lr, bits_of(s.weight_decay)))),
          .e = to_float(bits_of(s.eps)),
          .decays = !is_zero(s.weight_decay)};
}

constexpr element adamw(std::uint32_t p, std::uint32_t g, std::uint32_t m, std::uint32_t v,
                        adamw_scalars const& s) {
  element out;
  std::uint32_t const d = f32_sub(g, m);
  out.m = f32_fma(s.o1, d, m);
  std::uint32_t const h = f32_mul(s.o2, g);
  std::uint32_t const k = f32_mul(s.b2, v);
  out.v = f32_fma(h, g, k);
  std::uint32_t const D = f32_fma(f32_sqrt(out.v), s.r2, s.e);
  std::uint32_t const a = f32_mul(s.ns, out.m);
  std::uint32_t const q = f32_div(a, D);
  out.u = s.decays ? f32_fma(s.nw, p, q) : q;
  out.w = f32_add(p, out.u);
  return out;
}

struct lion_settings {
  double lr = 1e-4;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double weight_decay = 0;
};

struct lion_scalars {
  std::uint32_t o1, o2, nr, nw;
  bool decays;
};

constexpr lion_scalars prepare(lion_settings const& s) {
  return {.o1 = to_float(f64_sub(one_double, through_float(s.beta1))),
          .o2 = to_float(f64_sub(one_double, through_float(s.beta2))),
          .nr = to_float(f64_negate(bits_of(s.lr))),
          .nw = to_float(f64_negate(f64_mul(bits_of(s.lr), bits_of(s.weight_decay)))),
          .decays = !is_zero(s.weight_decay)};
}

constexpr element lion(std::uint32_t p, std::uint32_t g, std::uint32_t m, lion_scalars const& s) {
  element out;
  std::uint32_t const d = f32_sub(g, m);
  std::uint32_t const c = f32_fma(s.o1, d, m);
  out.m = f32_fma(s.o2, d, m);
  auto const value = from_float_bits(c);
  bool const has_sign = value.what != kind::nan && value.what != kind::zero;
  std::uint32_t const a = f32_mul(s.nr, has_sign ? 0x3f800000U | (c & 0x80000000U) : c);
  out.u = s.decays ? f32_fma(s.nw, p, a) : a;
  out.w = f32_add(p, out.u);
  return out;
}

// An exponential moving average: p the average, w the weight.
struct ema_scalars {
  std::uint32_t one_minus_decay;
};
constexpr ema_scalars prepare_ema(double decay) {
  return {to_float(f64_sub(one_double, bits_of(decay)))};
}
constexpr element ema(std::uint32_t p, std::uint32_t w, ema_scalars const& s) {
  std::uint32_t const d = f32_sub(w, p);
  return {.w = f32_fma(s.one_minus_decay, d, p), .u = f32_mul(s.one_minus_decay, d)};
}

struct sgd_settings {
  double lr = 0;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
};

struct sgd_scalars {
  std::uint32_t minus_lr, momentum, undamped, weight_decay;
  bool decays, has_momentum, first_step, nesterov;
};

constexpr sgd_scalars prepare(sgd_settings const& s, std::uint64_t step) {
  return {.minus_lr = to_float(f64_negate(bits_of(s.lr))),
          .momentum = to_float(bits_of(s.momentum)),
          .undamped = to_float(f64_sub(one_double, bits_of(s.dampening))),
          .weight_decay = to_float(bits_of(s.weight_decay)),
          .decays = !is_zero(s.weight_decay),
          .has_momentum = !is_zero(s.momentum),
          .first_step = step == 1,
          .nesterov = s.nesterov};
}

constexpr element sgd(std::uint32_t p, std::uint32_t g, std::uint32_t b, sgd_scalars const& s) {
  element out;
  std::uint32_t const d = s.decays ? f32_fma(s.weight_decay, p, g) : g;
  std::uint32_t x = d;
  out.m = b;  // A11: without momentum its range is not touched
  if (s.has_momentum) {
    out.m = s.first_step ? canonical(d) : f32_fma(s.momentum, b, f32_mul(s.undamped, d));
    x = s.nesterov ? f32_fma(s.momentum, out.m, d) : out.m;
  }
  out.w = f32_fma(s.minus_lr, x, p);
  out.u = f32_mul(s.minus_lr, x);
  return out;
}

}  // namespace oracle
