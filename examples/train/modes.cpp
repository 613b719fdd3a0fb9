// SPDX-License-Identifier: Apache-2.0
#include "modes.hpp"

#include <fmt/core.h>

#include "problem.hpp"
#include "stored_parameters.hpp"

namespace {

template <class T>
std::unique_ptr<parameters> in(model_shape const& shape, tensors const& initial,
                               storage const& how) {
  return std::make_unique<parameters_in<T>>(shape, initial, how);
}

constexpr bool nearest = false, stochastic = true;
constexpr bool plain = false, scaled = true;

// Another mode is another line. A format has one colour (M. Okabe, K. Ito, "Color universal
// design", 2008, which colour-blind readers tell apart); stochastic rounding is drawn dashed.
constexpr mode modes[] = {
    {"fp32", "float", nearest, plain, "#a0a0a0", in<float>},
    {"bf16", "bfloat16", nearest, plain, "#0072b2", in<lowp::bfloat16>},
    {"bf16-sr", "bfloat16", stochastic, plain, "#0072b2", in<lowp::bfloat16>},
    {"fp16", "float16", nearest, plain, "#009e73", in<lowp::float16>},
    {"fp16-sr", "float16", stochastic, plain, "#009e73", in<lowp::float16>},
    {"fp8", "float8_e4m3fn", nearest, scaled, "#d55e00", in<lowp::float8_e4m3fn>},
    {"fp8-sr", "float8_e4m3fn", stochastic, scaled, "#d55e00", in<lowp::float8_e4m3fn>},
};

}  // namespace

std::span<mode const> all_modes() { return modes; }

std::string names_of_modes() {
  std::string names;
  for (mode const& m : modes) names.append(names.empty() ? "" : ", ").append(m.name);
  return names;
}

mode const& mode_named(std::string_view name) {
  for (mode const& m : modes)
    if (m.name == name) return m;
  throw problem(
      fmt::format("there is no mode '{}': choose among {} with --modes", name, names_of_modes()));
}
