// SPDX-License-Identifier: Apache-2.0
// float to every format and back.
#include "main.hpp"

#include <lowp/lowp.hpp>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace {

template <class From, class To, class Rounding = lowp::nearest_even>
void add_cast(bench::suite& cases, std::string const& name, Rounding rounding = {}) {
  cases.add<bench::traffic<bench::reads<From>, bench::writes<To>>>(
      name, [=](benchmark::State& state, std::size_t n) {
        bench::data data;
        auto const in = data.random<From>(
            n, [](float x) { return std::numeric_limits<From>::is_signed ? x : std::abs(x); });
        auto const out = data.random<To>(n);
        for (auto _ : state) {
          lowp::cast(in, out, rounding);
          benchmark::ClobberMemory();
        }
      });
}

template <class T>
void add_both_ways(bench::suite& cases, std::string const& format) {
  add_cast<float, T>(cases, "float->" + format + "/nearest_even");
  add_cast<T, float>(cases, format + "->float/exact");
}

template <class T>
void add_stochastic(bench::suite& cases, std::string const& format) {
  add_cast<float, T>(cases, "float->" + format + "/stochastic", lowp::stochastic{.seed = 1});
}

/// What one writes without a library.
inline std::uint16_t bfloat16_of(float x) {
  auto const bits = std::bit_cast<std::uint32_t>(x);
  auto const rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  auto const quiet_nan = bits >> 16 | 0x40;
  return static_cast<std::uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? quiet_nan : rounded);
}

void add_compilers_loop(bench::suite& cases, bench::registers width) {
  using traffic = bench::traffic<bench::reads<float>, bench::writes<std::uint16_t>>;
  cases.add_peer<traffic>(
      std::string("float->bfloat16/nearest_even/plain_loop_") + bench::name_of(width),
      [=](benchmark::State& state, std::size_t n) {
        bench::data data;
        float const* const in = data.random<float>(n).data();
        std::uint16_t* const out = data.random<std::uint16_t>(n).data();
        for (auto _ : state) {
          bench::run(
              width, [=]<bench::registers>() __attribute__((always_inline)) {
                for (std::size_t i = 0; i < n; ++i) out[i] = bfloat16_of(in[i]);
              });
          benchmark::ClobberMemory();
        }
      });
}

void add_casts(bench::suite& cases) {
  for (bench::registers width : bench::all_registers)
    if (available(width)) add_compilers_loop(cases, width);
  add_both_ways<lowp::bfloat16>(cases, "bfloat16");
  add_both_ways<lowp::float16>(cases, "float16");
  add_both_ways<lowp::float8_e5m2>(cases, "float8_e5m2");
  add_both_ways<lowp::float8_e4m3fn>(cases, "float8_e4m3fn");
  add_both_ways<lowp::float8_e4m3>(cases, "float8_e4m3");
  add_both_ways<lowp::float8_e3m4>(cases, "float8_e3m4");
  add_both_ways<lowp::float8_e4m3fnuz>(cases, "float8_e4m3fnuz");
  add_both_ways<lowp::float8_e5m2fnuz>(cases, "float8_e5m2fnuz");
  add_both_ways<lowp::float8_e4m3b11fnuz>(cases, "float8_e4m3b11fnuz");
  add_both_ways<lowp::float8_e8m0fnu>(cases, "float8_e8m0fnu");
  add_both_ways<lowp::float6_e2m3fn>(cases, "float6_e2m3fn");
  add_both_ways<lowp::float6_e3m2fn>(cases, "float6_e3m2fn");
  add_both_ways<lowp::float4_e2m1fn>(cases, "float4_e2m1fn");
  add_stochastic<lowp::bfloat16>(cases, "bfloat16");
  add_stochastic<lowp::float16>(cases, "float16");
  add_stochastic<lowp::float8_e4m3fn>(cases, "float8_e4m3fn");
}

}  // namespace

int main(int argc, char** argv) { return bench::run_suite("cast", argc, argv, add_casts); }
