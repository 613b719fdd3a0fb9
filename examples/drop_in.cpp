// SPDX-License-Identifier: Apache-2.0
// A narrow type as the scalar of a template that was written for float: what breaks.
#include <lowp/value.hpp>

#include <cmath>
#include <cstdio>
#include <random>

using lowp::bfloat16, lowp::float16;

// Adam's second moment after one gradient, as a library writes it.
template <class Scalar, class Number>
Scalar corrected(Scalar gradient, Number beta) {
  Scalar const moment = Scalar((Number(1) - beta) * gradient * gradient);
  return Scalar(moment / (Number(1) - beta));
}

// A number from 0 to 1, as a library writes it.
template <class Scalar, class Number>
Scalar uniform(std::mt19937& random) {
  return Scalar(Number(random()) / Number(random.max()));
}

// A line of a program that says `typedef float real;`.
typedef lowp::implicit<bfloat16> real;
real logistic(real x) { return 1.0 / (1.0 + std::exp(-x)); }

template <class T>
constexpr bool has_conditional = requires(T x, bool is_kept) { is_kept ? x : 0; };

int main() {
  std::printf("0.999 is %g: Adam's moment %g, with a float beta %g\n", double(bfloat16(0.999)),
              double(corrected(bfloat16(0.5), bfloat16(0.999))),
              double(corrected(bfloat16(0.5), 0.999f)));
  std::mt19937 random(1);
  double const broken(uniform<float16, float16>(random)), sound(uniform<float16, float>(random));
  std::printf("2^32 is %g: a uniform number %g, by float %g\n", double(float16(random.max())),
              broken, sound);
  std::printf("256 + 1 is %g, 1 + 1 / 256.0f is %g\n", double(bfloat16(256) + bfloat16(1)),
              double(bfloat16(1) + bfloat16(1) / 256.0f));
  std::printf("logistic(0.5) is %g\n", double(logistic(0.5)));
  std::printf("is_kept ? x : 0 compiles: float %d, bfloat16 %d, implicit<bfloat16> %d\n",
              has_conditional<float>, has_conditional<bfloat16>, has_conditional<real>);
}
