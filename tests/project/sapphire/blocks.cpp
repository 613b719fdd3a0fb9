// SPDX-License-Identifier: Apache-2.0
// Packed codes, recipes of quantization, moments of bitsandbytes and Lion: a hash of their bits. A
// block of 16 codes is shorter than a register of AVX-512.
#include <lowp/lowp.hpp>
#include <lowp/quantize.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <span>
#include <vector>

namespace {

using bytes = std::vector<std::uint8_t>;

std::uint64_t hash = 0xcbf29ce484222325;

template <class T>
void add(std::vector<T> const& values) {
  for (std::byte const each : std::as_bytes(std::span(values)))
    hash = (hash ^ std::to_integer<std::uint64_t>(each)) * 0x100000001b3;
}

std::vector<float> numbers(std::size_t count) {
  std::vector<float> x(count);
  for (std::size_t i = 0; i < count; ++i)
    x[i] = std::ldexp(static_cast<float>(i * 2654435761U % 4099) - 2000,
                      static_cast<int>(i % 23) - 12);
  return x;
}

template <class Rounding>
void quantize(std::vector<float> const& x, Rounding const& rounding) {
  bytes codes((x.size() + 1) / 2);
  std::vector<lowp::float8_e4m3fn> scales((x.size() + 15) / 16);
  lowp::nvfp4 q{lowp::packed<lowp::float4_e2m1fn>(codes, x.size()), scales};
  for (auto const& recipe : {lowp::recipes::te_2_20_nvfp4, lowp::recipes::modelopt_0_47_nvfp4,
                             lowp::recipes::nvfp4_unbiased}) {
    lowp::quantization_report report;
    lowp::quantize(x, q, recipe, rounding, {.report = &report});
    add(codes);
    add(scales);
    add(std::vector{report.clipped, report.saturated_scales, report.underflowed_scales});
    std::vector<float> back(x.size());
    lowp::dequantize(q, back);
    add(back);
  }
}

template <class Rounding>
void pack(std::vector<float> const& x, Rounding const& rounding) {
  bytes codes((x.size() * 6 + 7) / 8);
  lowp::packed<lowp::float6_e3m2fn> const view(codes, x.size());
  lowp::cast(x, view, rounding);
  add(codes);
  std::vector<float> back(x.size());
  lowp::cast(view, back);
  add(back);
}

template <class Rounding>
void step(std::vector<float> const& g, Rounding const& rounding) {
  std::vector<lowp::bfloat16> p(g.size());
  bytes m(g.size(), lowp::signed_dynamic_blocks::zero), v(g.size());
  std::vector<float> of_m((g.size() + 255) / 256), of_v(of_m), momentum(g.size());
  for (unsigned t = 1; t <= 3; ++t)
    lowp::update(p, g, lowp::signed_dynamic_blocks{m, of_m}, lowp::unsigned_dynamic_blocks{v, of_v},
                 lowp::adamw{}, t, rounding);
  lowp::update(p, g, momentum, lowp::lion{}, 1, rounding);
  add(p);
  add(m);
  add(v);
  add(of_m);
  add(of_v);
  add(momentum);
}

}  // namespace

int main() {
  for (std::size_t const count : {1, 15, 16, 17, 33, 255, 257, 1000, 5003}) {
    auto const x = numbers(count);
    auto const all = [&](auto const& rounding) {
      quantize(x, rounding);
      pack(x, rounding);
      step(x, rounding);
    };
    all(lowp::nearest_even{});
    all(lowp::stochastic_fast{.seed = 3});
  }
  std::printf("isa %s\n%016llx\n", lowp::isa().data(), static_cast<unsigned long long>(hash));
}
