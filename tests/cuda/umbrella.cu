// SPDX-License-Identifier: Apache-2.0
// The host side in a CUDA unit, and the value types in device code.
#include <lowp/openmp.hpp>

#include <vector>

#include "support/backends.hpp"
#include "support/tour.hpp"

template <class T>
__global__ void arithmetic(T const* x, T* y, bool* less) {
  T const a = x[threadIdx.x];
  T const b = T::from_bits(x[0].bits());
  y[threadIdx.x] = sqrt(a * b + T(1.5f)) - a / b;
  less[threadIdx.x] = a < b && a != b && !isnan(a);
  y[threadIdx.x] += lowp::convert<T>(float(a), lowp::toward_zero{}) + T(blockIdx.x);
}

template __global__ void arithmetic(lowp::bfloat16 const*, lowp::bfloat16*, bool*);
template __global__ void arithmetic(lowp::float16 const*, lowp::float16*, bool*);
template __global__ void arithmetic(lowp::float8_e4m3fn const*, lowp::float8_e4m3fn*, bool*);
template __global__ void arithmetic(lowp::float8_e5m2 const*, lowp::float8_e5m2*, bool*);
using real = lowp::implicit<lowp::bfloat16>;
template __global__ void arithmetic(real const*, real*, bool*);

// An element function that only this unit knows.
namespace {
struct twice {
  template <class F>
  LOWP_FN F operator()(F const& x) const {
    return lowp::lanes::add(x, x);
  }
};
}  // namespace

int main() {
  std::vector<float> x(4);
  lowp::transform(twice{}, lowp::nearest_even{}, x, x);
  lowp::openmp::transform(twice{}, lowp::nearest_even{}, x, x);
  fingerprint f;
  tour(f);
  return f.value() == fingerprint().value();
}
