// Answers of ml_dtypes' C++ saturating mode, which Python does not expose, for make_vectors.py.
//
// Reads lines `preset format float_bits_hex` and writes the same line with the code appended.
// Build, in the unpacked source package of ml_dtypes:
//   g++ -std=c++20 -O1 -isystem . -isystem third_party/eigen ml_dtypes_vectors.cpp
#include <bit>
#include <cstdint>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "ml_dtypes/include/float8.h"
#include "ml_dtypes/include/mxfloat.h"

namespace {

template <class To>
std::uint32_t saturate_to(float x) {
  return To::template ConvertFrom</*kSaturate=*/true>(x).rep();
}

std::uint32_t encode(std::string_view format, float x) {
  using namespace ml_dtypes;
  // 16-bit formats are Eigen's: they have no saturating mode.
  if (format == "bfloat16") return std::bit_cast<std::uint16_t>(Eigen::bfloat16(x));
  if (format == "float8_e5m2") return saturate_to<float8_e5m2>(x);
  if (format == "float8_e4m3fn") return saturate_to<float8_e4m3fn>(x);
  if (format == "float8_e4m3") return saturate_to<float8_e4m3>(x);
  if (format == "float8_e3m4") return saturate_to<float8_e3m4>(x);
  if (format == "float8_e4m3fnuz") return saturate_to<float8_e4m3fnuz>(x);
  if (format == "float8_e5m2fnuz") return saturate_to<float8_e5m2fnuz>(x);
  if (format == "float8_e4m3b11fnuz") return saturate_to<float8_e4m3b11fnuz>(x);
  if (format == "float8_e8m0fnu") return saturate_to<float8_e8m0fnu>(x);
  if (format == "float6_e2m3fn") return saturate_to<float6_e2m3fn>(x);
  if (format == "float6_e3m2fn") return saturate_to<float6_e3m2fn>(x);
  if (format == "float4_e2m1fn") return saturate_to<float4_e2m1fn>(x);
  throw std::invalid_argument("no ml_dtypes conversion to " + std::string(format));
}

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  std::string preset;
  std::string format;
  std::uint32_t bits = 0;
  while (std::cin >> preset >> format >> std::hex >> bits) {
    std::cout << preset << ' ' << format << ' ' << std::hex << bits << ' '
              << encode(format, std::bit_cast<float>(bits)) << '\n';
  }
}
