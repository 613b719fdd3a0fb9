// SPDX-License-Identifier: Apache-2.0
// p = round(fma(alpha, u, p)), with and without a report.
#include "fused_add.hpp"

#include "harness/main.hpp"

#include <lowp/lowp.hpp>

#include <span>
#include <string>

namespace {

template <class P, class U, class Rounding, class... Report>
void add_case(bench::suite& cases, std::string const& name, Rounding rounding, Report... report) {
  auto const add = [=](std::span<P> p, float alpha, std::span<U const> u) mutable {
    bench::on::fused_add(p, alpha, u, rounding, report...);
  };
  cases.add<bench::fused_add_traffic<P, U>>(name, bench::timed_fused_add<P, U>(add));
}

template <class P, class U>
void add_types(bench::suite& cases, std::string const& types) {
  lowp::stochastic const stochastic{.seed = 1};
  add_case<P, U>(cases, types + "/nearest_even", lowp::nearest_even{});
  add_case<P, U>(cases, types + "/nearest_even,report", lowp::nearest_even{},
                 lowp::update_report{});
  add_case<P, U>(cases, types + "/stochastic", stochastic);
  add_case<P, U>(cases, types + "/stochastic,report", stochastic, lowp::update_report{});
  add_case<P, U>(cases, types + "/stochastic_fast", lowp::stochastic_fast{.seed = 1});
}

void add_fused_adds(bench::suite& cases) {
  add_types<lowp::bfloat16, float>(cases, "bfloat16,float");
  add_types<lowp::bfloat16, lowp::bfloat16>(cases, "bfloat16,bfloat16");
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_suite("fused_add", argc, argv, add_fused_adds);
}
