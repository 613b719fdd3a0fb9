// SPDX-License-Identifier: Apache-2.0
// Maratyszcza's FP16: one function per element.
#include "operations/cast.hpp"

#include <fp16.h>

#include <cstddef>
#include <span>

namespace {

void encode(std::span<float const> in, std::span<lowp::float16> out) {
  auto* const to = bench::codes(out);
  for (std::size_t i = 0; i < in.size(); ++i) to[i] = fp16_ieee_from_fp32_value(in[i]);
}
void decode(std::span<lowp::float16 const> in, std::span<float> out) {
  auto const* const from = bench::codes(in);
  for (std::size_t i = 0; i < in.size(); ++i) out[i] = fp16_ieee_to_fp32_value(from[i]);
}

bench::peer const fp16("cast", [](bench::suite& cases) {
  lowp::nearest_even const nearest;
  // A NaN loses its payload.
  bench::add_cast_peer<float, lowp::float16>(cases, "float->float16/nearest_even/fp16", nearest,
                                             encode, {.nan_codes = true});
  bench::add_cast_peer<lowp::float16, float>(cases, "float16->float/exact/fp16", nearest, decode);
});

}  // namespace
