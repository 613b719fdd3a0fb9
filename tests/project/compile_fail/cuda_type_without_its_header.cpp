// SPDX-License-Identifier: Apache-2.0
// CUDA's own type in a unit that lacks the header which knows it: the error names that header.
// expect: include_lowp_cuda_interop_cuh
#include <lowp/cuda/view.hpp>

#include <cstdint>

struct __attribute__((aligned(2))) cuda_bfloat16 {  // as __nv_bfloat16 is
  std::uint16_t code;
};

#ifdef CONTROL
template <>
struct lowp::value_type_of<cuda_bfloat16> {
  using type = lowp::bfloat16;
};
#endif

void use(cuda_bfloat16* data) {
  auto const elements = lowp::cuda::view(data, 3);
  static_cast<void>(elements);
}
