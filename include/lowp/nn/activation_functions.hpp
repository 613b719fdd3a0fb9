// SPDX-License-Identifier: Apache-2.0
// Activations as element functions. Each is a class NAME_function with
//
//     F operator()(F const& x) const
//     static activated<F> with_slope(F const& x)    the derivative too
//
// and stands in LOWP_ACTIVATIONS, from which activation.hpp makes its operations. nn/README.md has
// error bounds.
#pragma once

#include <lowp/lanes/exponential.hpp>

#define LOWP_ACTIVATIONS(X, ...) X(gelu_tanh, __VA_ARGS__) X(gelu, __VA_ARGS__) X(silu, __VA_ARGS__)

namespace lowp::detail {

/// The value of an activation and its derivative.
template <class F>
struct activated {
  F value, slope;
};

/// The polynomial 2 sqrt(2/pi) (x + 0.044715 x^3), and its derivative.
inline constexpr float gelu_linear = 0x1.988454p0f, gelu_cubic = 0x1.2444f2p-4f,
                       gelu_three_cubic = 0x1.b6676cp-3f;

/// x/2 (1 + tanh(u)), u = sqrt(2/pi) (x + 0.044715 x^3): D. Hendrycks, K. Gimpel, "Gaussian Error
/// Linear Units (GELUs)", arXiv:1606.08415, section 2. It is x s with s = 1 / (1 + e^-y), y = 2u.
/// That takes one exp of -|y|, so that neither end cancels: for negative x, e^-|y| is a factor. The
/// form cubes its argument: in float16 the cube is infinite beyond 40. Here no intermediate value
/// leaves the range of float. PyTorch calls it approximate='tanh', T5 gelu_new.
struct gelu_tanh_function {
  template <class F>
  LOWP_FN F operator()(F const& x) const {
    using namespace lanes;
    using U = word<F>;
    constexpr std::uint32_t minus_infinity = binary32_infinity | binary32_sign;
    F const a = from_bits<F>(hidden(lanes::magnitude(x)));
    F const slope = horner(mul(a, a), broadcast<F>(gelu_cubic), gelu_linear);
    F const e = exp_of_minus(mul(a, slope));  // 0 if the square is infinite
    // e is 0 there, as for any x below -11; -infinity times 0 would be NaN.
    F const finite = select(equal(bits(x), broadcast<U>(minus_infinity)), broadcast<F>(-128), x);
    F const factor = select(greater(broadcast<U>(0), bits(x)), mul(finite, e), x);
    return div(factor, add(broadcast<F>(1), e));
  }

  /// Takes one exp. Beyond 16 it is 0, and no square is large.
  template <class F>
  LOWP_FN static activated<F> with_slope(F const& x) {
    using namespace lanes;
    F const one = broadcast<F>(1);
    F const a = smaller_or_nan(from_bits<F>(hidden(lanes::magnitude(x))), broadcast<F>(16));
    F const square = mul(a, a);
    F const e =
        exp_of_minus(mul(a, fma(square, broadcast<F>(gelu_cubic), broadcast<F>(gelu_linear))));
    F const r = div(one, add(one, e));
    auto const is_negative = greater(broadcast<word<F>>(0), bits(x));
    F const s = mul(select(is_negative, e, one), r);
    F const growth = mul(a, fma(square, broadcast<F>(gelu_three_cubic), broadcast<F>(gelu_linear)));
    F const rest = mul(mul(e, r), mul(growth, r));
    return {mul(select(is_negative, negative(a), x), s),
            add(s, select(is_negative, negative(rest), rest))};
  }
};

/// An f with f(x) - f(-x) = x, as x S(x) is if S(x) + S(-x) = 1: its left side gives both.
///
/// @tparam Left  has at(a) for 0 <= a <= end: -f(-a) and f'(-a), both 0 at `end`
template <class Left>
struct symmetric_activation {
  template <class F>
  LOWP_FN static activated<F> with_slope(F const& x) {
    using namespace lanes;
    F const a = smaller_or_nan(from_bits<F>(hidden(lanes::magnitude(x))), broadcast<F>(Left::end));
    activated<F> const left = Left::at(a);
    auto const is_negative = greater(broadcast<word<F>>(0), bits(x));
    F const zero = broadcast<F>(-0.0f);
    F positive_part = select(is_negative, zero, x);  // of a NaN any, since left's is NaN
    if constexpr (requires { F::lanes, lane<F>::maximum_number(zero, x); })
      positive_part = lane<F>::maximum_number(zero, x);  // x86: x if both are zeros
    return {sub(positive_part, left.value),
            select(is_negative, left.slope, sub(broadcast<F>(1), left.slope))};
  }
  LOWP_FN auto operator()(auto const& x) const { return with_slope(x).value; }
};

/// a Q(a), Q(a) = erfc(a / sqrt(2)) / 2 = e^(-a^2/2) M(a). M falls from 1/2 as 0.4 / a does. Here
/// it is a quotient of polynomials with positive coefficients, so that nothing cancels. It has the
/// smallest greatest relative error, as do those of W. J. Cody, "Rational Chebyshev Approximations
/// for the Error Function", Math. Comp. 23 (1969). With coefficients rounded to float, that is
/// 0.3 * 2^-24.
///
/// @tparam IsShort  says that a's square is exact, as that of a 16-bit number is
template <bool IsShort>
struct left_of_gelu {
  static constexpr float end = 14.5f;

  template <class F>
  LOWP_FN static activated<F> at(F const& a) {
    using namespace lanes;
    F const half_square = mul(mul(a, broadcast<F>(0.5f)), a);
    // It is up to 105, and half a unit in its last place would be 32 in the exponential's.
    F const surplus = fma(mul(a, broadcast<F>(-0.5f)), a, half_square);
    F const e =
        IsShort ? bounded_exp<of_minus>(half_square) : bounded_exp<of_minus>(half_square, surplus);
    F p = broadcast<F>(0x1.0bbc9cp-8f);
    p = horner(p, a, 0x1.4b4932p-5f);
    p = horner(p, a, 0x1.7623ap-3f);
    p = horner(p, a, 0x1.c0174p-2f);
    p = horner(p, a, 0.5f);
    F q = broadcast<F>(0x1.4f8de4p-7f);
    q = horner(q, a, 0x1.9f3b72p-4f);
    q = horner(q, a, 0x1.df3e8p-2f);
    q = horner(q, a, 0x1.33455ap0f);
    q = horner(q, a, 0x1.ac4dcep0f);
    q = horner(q, a, 1);
    F const m = div(p, q);
    constexpr float minus_density_at_0 = -0x1.988454p-2f;  // -1 / sqrt(2 pi)
    return {mul(mul(a, m), e), mul(fma(a, broadcast<F>(minus_density_at_0), m), e)};
  }
};

/// x Phi(x), Phi(x) = (1 + erf(x / sqrt(2))) / 2: the GELU of arXiv:1606.08415, BERT's, and
/// PyTorch's default. A negative x keeps the digits that 1 + erf loses.
struct gelu_function : symmetric_activation<left_of_gelu<false>> {};

/// a / (1 + e^a) from h = e^(-a/2): h^2 is subnormal where the result is not yet.
struct left_of_silu {
  static constexpr float end = 2 * minus_exp_bound;

  template <class F>
  LOWP_FN static activated<F> at(F const& a) {
    using namespace lanes;
    F const one = broadcast<F>(1);
    F const h = bounded_exp<of_minus>(mul(a, broadcast<F>(0.5f)));
    F const r = div(one, fma(h, h, one));
    F const hr = mul(h, r);
    return {mul(mul(a, hr), h), mul(mul(hr, sub(one, mul(a, r))), h)};
  }
};

/// x s, s = 1 / (1 + e^-x): the SiLU of arXiv:1606.08415, also called swish.
struct silu_function : symmetric_activation<left_of_silu> {};

}  // namespace lowp::detail
