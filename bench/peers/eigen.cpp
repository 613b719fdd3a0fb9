// SPDX-License-Identifier: Apache-2.0
// Eigen: Array::cast.
#include "operations/cast.hpp"

#include <Eigen/Core>
#include <cstddef>
#include <span>
#include <string>

namespace {

template <class FromEigen, class ToEigen, class From, class To>
void add_cast(bench::suite& cases, std::string const& name) {
  auto const cast = [](std::span<From const> in, std::span<To> out) {
    using input = Eigen::Array<FromEigen, Eigen::Dynamic, 1>;
    using output = Eigen::Array<ToEigen, Eigen::Dynamic, 1>;
    auto const n = static_cast<Eigen::Index>(in.size());
    Eigen::Map<input const> const from(reinterpret_cast<FromEigen const*>(in.data()), n);
    Eigen::Map<output> to(reinterpret_cast<ToEigen*>(out.data()), n);
    to = from.template cast<ToEigen>();
  };
  // A NaN loses its payload, or stays a signalling one.
  bench::add_cast_peer<From, To>(cases, name + "/eigen", lowp::nearest_even{}, cast,
                                 {.nan_codes = true});
}

bench::peer const eigen("cast", [](bench::suite& cases) {
  using lowp::bfloat16, lowp::float16;
  bench::note_version("Eigen", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION);
  add_cast<float, Eigen::bfloat16, float, bfloat16>(cases, "float->bfloat16/nearest_even");
  add_cast<Eigen::bfloat16, float, bfloat16, float>(cases, "bfloat16->float/exact");
  add_cast<float, Eigen::half, float, float16>(cases, "float->float16/nearest_even");
  add_cast<Eigen::half, float, float16, float>(cases, "float16->float/exact");
});

}  // namespace
