// SPDX-License-Identifier: Apache-2.0
// CUDA's own types, with their operators and conversions taken away: every code both ways on the
// host, and in device code.
#define __CUDA_NO_HALF_OPERATORS__
#define __CUDA_NO_HALF_CONVERSIONS__
#define __CUDA_NO_HALF2_OPERATORS__
#define __CUDA_NO_BFLOAT16_OPERATORS__
#define __CUDA_NO_BFLOAT16_CONVERSIONS__
#define __CUDA_NO_BFLOAT162_OPERATORS__
#include <lowp/cuda/interop.cuh>
#include <lowp/cuda/lowp.cuh>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <type_traits>

namespace {

template <class Native>
__global__ void doubled(Native const* x, Native* y) {
  auto const value = lowp::cuda::from_native(x[threadIdx.x]);
  y[threadIdx.x] = lowp::cuda::to_native(value + value);
}
template __global__ void doubled(__half const*, __half*);
template __global__ void doubled(__nv_bfloat16 const*, __nv_bfloat16*);
template __global__ void doubled(__nv_fp8_e4m3 const*, __nv_fp8_e4m3*);
template __global__ void doubled(__nv_fp8_e5m2 const*, __nv_fp8_e5m2*);

template <class T>
int wrong_codes() {
  int wrong = 0;
  for (std::uint32_t code = 0; code < 1U << (8 * sizeof(T)); ++code) {
    T const x = T::from_bits(static_cast<typename T::storage>(code));
    auto const native = lowp::cuda::to_native(x);
    typename T::storage bits = 0;
    std::memcpy(&bits, &native, sizeof bits);
    if (bits != code || lowp::cuda::from_native(native).bits() != code) ++wrong;
  }
  return wrong;
}

// nvcc hands the host's compiler another text: a double is rounded once there too.
bool rounds_once() {
  double const above_a_tie = 1 + 0x1p-8 + 0x1p-40;
  return lowp::bfloat16(above_a_tie).bits() == 0x3f81 &&
         lowp::convert<float>(0x1p-1074, lowp::upward{}) == 0x1p-149f;
}

}  // namespace

void casts(cudaStream_t stream, float const* in, std::span<__nv_bfloat16> out);
void casts(cudaStream_t stream, float const* in, std::span<__nv_bfloat16> out) {
  lowp::cuda::cast(stream, lowp::cuda::view(in, out.size()), out);
}

// A user's type and buffer. The buffer's size is signed, and it converts to a pointer.
namespace user {
struct half {
  std::uint16_t bits;
};
int view(half*, std::size_t);  // for argument-dependent lookup
template <class T>
struct buffer {
  T* data() const { return nullptr; }
  int size() const { return 0; }
  operator T*() const { return nullptr; }
};
}  // namespace user
template <>
struct lowp::value_type_of<user::half> {
  using type = lowp::float16;
};
static_assert(std::is_invocable_v<decltype(lowp::cuda::cast), cudaStream_t, user::buffer<float>&,
                                  user::buffer<user::half> const&>);
// A buffer of bytes, and one of handles.
static_assert(!std::is_invocable_v<decltype(lowp::cuda::cast), cudaStream_t, user::buffer<float>&,
                                   user::buffer<void>&>);
static_assert(!std::is_invocable_v<decltype(lowp::cuda::cast), cudaStream_t,
                                   user::buffer<struct handle>&, user::buffer<float>&>);
// Elements of implicit<T> are those of T.
using real = lowp::implicit<lowp::bfloat16>;
static_assert(std::is_same_v<decltype(lowp::cuda::view(std::declval<real*>(), 1)),
                             std::span<lowp::bfloat16>>);
static_assert(std::is_same_v<decltype(lowp::cuda::to_native(real())), __nv_bfloat16>);

int main() {
  int const wrong = wrong_codes<lowp::float16>() + wrong_codes<lowp::bfloat16>() +
                    wrong_codes<lowp::float8_e4m3fn>() + wrong_codes<lowp::float8_e5m2>();
  std::printf("%d wrong codes\n", wrong);
  return wrong != 0 || !rounds_once();
}
