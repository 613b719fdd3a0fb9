// Answers of the CUDA headers' host code, for make_vectors.py.
//
// Reads lines `preset format float_bits_hex` and writes the same line with the code appended.
// Build: g++ -std=c++20 -O1 -isystem $CUDA_HOME/include cuda_vectors.cpp -o cuda_vectors
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>
#include <cuda_runtime_api.h>

#include <bit>
#include <cstdint>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

// The header has no nearest mode for e8m0: its own constructors round toward +infinity.
std::uint32_t encode(std::string_view format, float x, __nv_saturation_t saturation) {
  if (format == "bfloat16") return __nv_bfloat16_raw(__float2bfloat16_rn(x)).x;
  if (format == "float16") return __half_raw(__float2half_rn(x)).x;
  if (format == "float8_e5m2") return __nv_cvt_float_to_fp8(x, saturation, __NV_E5M2);
  if (format == "float8_e4m3fn") return __nv_cvt_float_to_fp8(x, saturation, __NV_E4M3);
  if (format == "float8_e8m0fnu") return __nv_cvt_float_to_e8m0(x, saturation, cudaRoundPosInf);
  if (format == "float6_e2m3fn") return __nv_cvt_float_to_fp6(x, __NV_E2M3, cudaRoundNearest);
  if (format == "float6_e3m2fn") return __nv_cvt_float_to_fp6(x, __NV_E3M2, cudaRoundNearest);
  if (format == "float4_e2m1fn") return __nv_cvt_float_to_fp4(x, __NV_E2M1, cudaRoundNearest);
  throw std::invalid_argument("no CUDA conversion to " + std::string(format));
}

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  std::string preset;
  std::string format;
  std::uint32_t bits = 0;
  while (std::cin >> preset >> format >> std::hex >> bits) {
    auto const saturation = preset == "cuda" ? __NV_SATFINITE : __NV_NOSAT;
    std::cout << preset << ' ' << format << ' ' << std::hex << bits << ' '
              << encode(format, std::bit_cast<float>(bits), saturation) << '\n';
  }
}
