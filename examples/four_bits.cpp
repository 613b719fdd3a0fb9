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

  // Again after the random Hadamard transform, times its own transpose: what a kernel should give.
  lowp::quantize(lowp::rotated(weights, lowp::te_2_20_signs), q, lowp::recipes::te_2_20_nvfp4);
  std::vector<float> product(64 * 64);  // of 64 rows with 64 elements
  lowp::reference_matmul(q, q, product, 64, lowp::accumulation::exact);
  std::vector<lowp::float8_e4m3fn> tiles(lowp::scale_tiles_size(64, 4));
  lowp::to_scale_tiles(scales, 64, 4, tiles);  // as cuBLAS reads them
  std::printf("first row times itself and the second: %.9g, %.9g\n", product[0], product[1]);
}
