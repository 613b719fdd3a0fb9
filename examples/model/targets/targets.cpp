// SPDX-License-Identifier: Apache-2.0
#include "targets/targets.hpp"

#include <fmt/core.h>

#include "targets/make_facts.hpp"
#include "targets/target_list.hpp"

namespace {

constexpr target const* list[] = {
    &float16_target,         &bfloat16_target,
    &float8_e4m3fn_target,   &float8_e5m2_target,
    &float8_e4m3fnuz_target, &float8_e5m2fnuz_target,
    &float32_target,         &float8_e4m3_target,
    &float8_e3m4_target,     &float8_e4m3b11fnuz_target,
    &float6_e2m3fn_target,   &float6_e3m2fn_target,
    &float4_e2m1fn_target,   &nvfp4_compressed_tensors_target,
    &nvfp4_modelopt_target,  &mxfp4_compressed_tensors_target,
};

constexpr format_facts float64_facts = make_facts<double>();

}  // namespace

format_facts const& narrower(format_facts const& a, format_facts const& b) {
  return a.significand_bits < b.significand_bits ? a : b;
}

format_facts const* facts_of(lowp::safetensors::dtype type) {
  if (type == lowp::safetensors::dtype::f64) return &float64_facts;
  for (target const* const each : list)
    if (each->type == type) return &each->facts;
  return nullptr;
}

std::span<target const* const> all_targets() { return list; }

std::string names_of_targets() {
  std::string names;
  for (target const* const each : list) names.append(names.empty() ? "" : ", ").append(each->name);
  return names;
}

target const* target_named(std::string_view name) {
  for (target const* const each : list)
    if (each->name == name) return each;
  return nullptr;
}
