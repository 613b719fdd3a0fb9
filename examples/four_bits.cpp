// Quantizes a matrix to NVFP4 as Transformer Engine does, and reads it back.
#include <lowp/quantize.hpp>

#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

int main() {
  std::vector<float> weights(4096), back(4096);
  std::mt19937 random(1);
  for (float& each : weights) each = static_cast<float>(random() % 2001) / 1000 - 1;

  std::vector<std::uint8_t> bytes(4096 / 2);
  std::vector<lowp::float8_e4m3fn> scales(4096 / 16);
  lowp::nvfp4 q{lowp::packed<lowp::float4_e2m1fn>(bytes, 4096), scales};
  lowp::quantization_report report;
  lowp::quantize(weights, q, lowp::recipes::te_2_20_nvfp4, lowp::nearest_even{},
                 {.report = &report});
  lowp::dequantize(q, back);

  std::printf("%g became %g, %g became %g\n", weights[0], back[0], weights[1], back[1]);
  std::printf("%d elements beyond the largest code\n", static_cast<int>(report.clipped));
}
