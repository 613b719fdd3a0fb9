// SPDX-License-Identifier: Apache-2.0
// Quantization by recipes, beside a cast to MXFP8. A recipe that needs the tensor's largest
// magnitude is told it. Scales are left out of the traffic.
#include "harness/main.hpp"
#include "harness/suite.hpp"

#include <lowp/lowp.hpp>
#include <lowp/quantize.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace {

using lowp::float4_e2m1fn, lowp::float8_e4m3fn, lowp::float8_e8m0fnu;

/// Two elements at once, because a byte has two codes of 4 bits.
struct pairs : bench::traffic<bench::stream<8, bench::access::read>, bench::writes<std::uint8_t>> {
  static constexpr std::size_t elements = 2;
};
using bytes = bench::traffic<bench::reads<float>, bench::writes<float8_e4m3fn>>;

template <class Tensor>
void add(bench::suite& cases, std::string const& name, auto const& recipe, auto rounding) {
  using codes = decltype(Tensor::codes);
  using scale = typename Tensor::scale_type;
  constexpr bool is_packed = lowp::detail::packed_range<codes>;
  using traffic = std::conditional_t<is_packed, pairs, bytes>;
  cases.add<traffic>(name, [=](benchmark::State& state, std::size_t count) {
    std::size_t const n = count * traffic::elements;
    bench::data memory;
    std::span<float const> const in = memory.random<float>(n);
    auto const scales = memory.random<scale>(n / recipe.block, [](float) { return 1.0f; });
    auto const stored = memory.random<float8_e4m3fn>(count);
    Tensor out{{}, scales};
    if constexpr (is_packed)
      out.codes = codes(std::as_writable_bytes(stored), n);
    else
      out.codes = stored;
    lowp::quantize_options const options{.largest = lowp::measure(in).largest};
    for (auto _ : state) {
      lowp::quantize(in, out, recipe, rounding, options);
      benchmark::ClobberMemory();
    }
  });
}

void add_cases(bench::suite& cases) {
  using namespace lowp::recipes;
  lowp::nearest_even const nearest;
  lowp::stochastic_fast const draws{.seed = 1};
  cases.add<bytes>("block_cast/nearest_even", [](benchmark::State& state, std::size_t n) {
    bench::data memory;
    std::span<float const> const in = memory.random<float>(n);
    auto const codes = memory.random<float8_e4m3fn>(n);
    auto const scales = memory.random<float8_e8m0fnu>(n / 32, [](float) { return 1.0f; });
    for (auto _ : state) {
      lowp::block_cast(in, lowp::blocks_of<32>(codes, scales));
      benchmark::ClobberMemory();
    }
  });
  add<lowp::nvfp4>(cases, "te_nvfp4/nearest_even", te_2_20_nvfp4, nearest);
  add<lowp::nvfp4>(cases, "torchao_nvfp4/nearest_even", torchao_0_18_nvfp4_two_level, nearest);
  add<lowp::nvfp4>(cases, "nvfp4_unbiased/stochastic_fast", nvfp4_unbiased, draws);
  add<lowp::mxfp4>(cases, "torchao_mxfp4/nearest_even", torchao_0_18_rceil<float4_e2m1fn>, nearest);
  add<lowp::mxfp4>(cases, "torchao_mxfp4/stochastic_fast", torchao_0_18_rceil<float4_e2m1fn>,
                   draws);
  add<lowp::mxfp8<float8_e4m3fn>>(cases, "torchao_mxfp8/nearest_even",
                                  torchao_0_18_rceil<float8_e4m3fn>, nearest);
  add<lowp::mxfp8<float8_e4m3fn>>(cases, "torchao_mxfp8/stochastic_fast",
                                  torchao_0_18_rceil<float8_e4m3fn>, draws);
}

}  // namespace

int main(int argc, char** argv) { return bench::run_suite("quantize", argc, argv, add_cases); }
