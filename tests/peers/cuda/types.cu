// SPDX-License-Identifier: Apache-2.0
// Mixes CUDA's narrow types and ours, on the host and in device code, and views the former on the
// host. Every operator is that of float. Prints the number of wrong answers.
#include <lowp/cast.hpp>
#include <lowp/cuda/interop.cuh>
#include <lowp/value.hpp>

#include <concepts>
#include <cstdio>

namespace {

template <class T, class Native>
__host__ __device__ int wrong_mixtures(T x, Native native) {
  static_assert(std::same_as<decltype(x * native), float>);
  static_assert(std::same_as<decltype(native - x), float>);
  int wrong = 0;
  wrong += x * native != 3.0f;
  wrong += native - x != 0.5f;
  wrong += x / native != 0.75f;
  wrong += native + x != 3.5f;
  wrong += !(x < native && native > x && x != native && x <= native && native >= x);
  wrong += x == native;
  x += native;
  wrong += float(x) != 3.5f;
  wrong += float(T(native)) != 2.0f;
  wrong += float(Native(float(x))) != 3.5f;
  native *= x;
  wrong += float(native) != 7.0f;
  return wrong;
}

template <class T, class Native>
__global__ void on_device(T x, Native native, int* wrong) {
  *wrong = wrong_mixtures(x, native);
}

template <class T, class Native>
int wrong_answers() {
  static_cast<void>(&on_device<T, Native>);  // compiles
  Native natives[2]{Native(2.0f), Native(2.0f)};
  auto const ours = lowp::view(natives, 2);
  static_assert(std::same_as<typename decltype(ours)::value_type, lowp::cuda::value_type<Native>>);
  int wrong = ours[1] != 2;
  ours[1] = 3;
  wrong += float(natives[1]) != 3.0f;
  return wrong + wrong_mixtures(T(1.5f), natives[0]);
}

}  // namespace

int main() {
  int const wrong =
      wrong_answers<lowp::float16, __half>() + wrong_answers<lowp::bfloat16, __nv_bfloat16>() +
      wrong_answers<lowp::float8_e5m2, __half>() + wrong_answers<lowp::bfloat16, __half>() +
      wrong_answers<lowp::bfloat16, __nv_fp8_e4m3>() +
      wrong_answers<lowp::float16, __nv_fp8_e5m2>();
  std::printf("%d wrong answers\n", wrong);
  return wrong;
}
