// SPDX-License-Identifier: Apache-2.0
// float to every format and back.
#include "cast.hpp"

#include "harness/main.hpp"

#include <lowp/lowp.hpp>

#include <span>
#include <string>

namespace {

template <class From, class To, class Rounding = lowp::nearest_even>
void add_cast(bench::suite& cases, std::string const& name, Rounding rounding = {}) {
  auto const cast = [=](std::span<From const> in, std::span<To> out) {
    bench::on::cast(in, out, rounding);
  };
  cases.add<bench::cast_traffic<From, To>>(name, bench::timed_cast<From, To>(cast));
}

template <class T>
void add_both_ways(bench::suite& cases, std::string const& format) {
  add_cast<float, T>(cases, "float->" + format + "/nearest_even");
  add_cast<T, float>(cases, format + "->float/exact");
}

template <class T>
void add_stochastic(bench::suite& cases, std::string const& format) {
  add_cast<float, T>(cases, "float->" + format + "/stochastic", lowp::stochastic{.seed = 1});
  add_cast<float, T>(cases, "float->" + format + "/stochastic_fast",
                     lowp::stochastic_fast{.seed = 1});
}

void add_casts(bench::suite& cases) {
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
  add_cast<double, lowp::bfloat16>(cases, "double->bfloat16/nearest_even");
  add_cast<double, lowp::float16>(cases, "double->float16/nearest_even");
  add_stochastic<lowp::bfloat16>(cases, "bfloat16");
  add_stochastic<lowp::float16>(cases, "float16");
  add_stochastic<lowp::float8_e5m2>(cases, "float8_e5m2");
  add_stochastic<lowp::float8_e4m3fn>(cases, "float8_e4m3fn");
}

}  // namespace

int main(int argc, char** argv) { return bench::run_suite("cast", argc, argv, add_casts); }
