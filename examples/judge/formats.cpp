// SPDX-License-Identifier: Apache-2.0
#include "formats.hpp"

#include <array>
#include <lowp/format/basic_float.hpp>

#include "model/files/problem.hpp"

namespace judge {

namespace {

template <class T>
lowp::special_codes special_in(lowp::overflow policy) {
  return lowp::special_codes_of<T::descriptor>(policy);
}
template <int ExponentBits, int SignificandBits>
lowp::special_codes special_in_wide(lowp::overflow policy) {
  static_assert(ExponentBits == 8, "codes of 32 bits");
  constexpr std::uint32_t infinity = ((1u << ExponentBits) - 1) << SignificandBits;
  constexpr std::uint32_t quiet = infinity | 1u << (SignificandBits - 1);
  bool const saturates = policy == lowp::overflow::saturate;
  std::uint32_t const beyond = saturates ? infinity - 1 : infinity;
  return {beyond, beyond, {quiet, quiet | 1u << 31}, quiet - infinity + (quiet - infinity - 1), 0};
}

#define JUDGE_TYPE(name) \
  number_type { #name, lowp::name::descriptor, special_in<lowp::name> }
constexpr std::array types{number_type{"float32", {8, 23, 127}, special_in_wide<8, 23>},
                           number_type{"float64", {11, 52, 1023}, nullptr},  // a source alone
                           JUDGE_TYPE(float16),
                           JUDGE_TYPE(bfloat16),
                           JUDGE_TYPE(float8_e4m3fn),
                           JUDGE_TYPE(float8_e5m2),
                           JUDGE_TYPE(float8_e4m3),
                           JUDGE_TYPE(float8_e3m4),
                           JUDGE_TYPE(float8_e4m3fnuz),
                           JUDGE_TYPE(float8_e5m2fnuz),
                           JUDGE_TYPE(float8_e4m3b11fnuz),
                           JUDGE_TYPE(float8_e8m0fnu),
                           JUDGE_TYPE(float8_ue5m3),
                           JUDGE_TYPE(float6_e2m3fn),
                           JUDGE_TYPE(float6_e3m2fn),
                           JUDGE_TYPE(float4_e2m1fn)};
#undef JUDGE_TYPE

constexpr std::array names{
    named_policy{lowp::overflow::infinity, "overflow::infinity", "IEEE 754; F16C for float16"},
    named_policy{lowp::overflow::saturate, "overflow::saturate", "OCP"},
    named_policy{lowp::overflow::torch, "overflow::torch", "PyTorch 2.12 and newer"},
    named_policy{lowp::overflow::torch_2_11, "overflow::torch_2_11", "PyTorch up to 2.11"},
    named_policy{lowp::overflow::ml_dtypes, "overflow::ml_dtypes", "ml_dtypes, JAX"},
    named_policy{lowp::overflow::ml_dtypes_saturate, "overflow::ml_dtypes_saturate",
                 "ml_dtypes, saturating"},
    named_policy{lowp::overflow::cuda, "overflow::cuda", "cuda_fp8.h, __NV_SATFINITE"},
    named_policy{lowp::overflow::cuda_nosat, "overflow::cuda_nosat", "cuda_fp8.h, __NV_NOSAT"},
    named_policy{lowp::overflow::onnx, "overflow::onnx", "ONNX Cast, saturate = 1"},
    named_policy{lowp::overflow::onnx_nosat, "overflow::onnx_nosat", "ONNX Cast, saturate = 0"},
    named_policy{lowp::overflow::p3109_propagate, "overflow::p3109_propagate", "IEEE P3109"},
    named_policy{lowp::overflow::p3109_none, "overflow::p3109_none", "IEEE P3109"}};

}  // namespace

std::span<named_policy const> policies() { return names; }
std::span<number_type const> all_types() { return types; }

std::string names_of_types() {
  std::string text;
  for (number_type const& t : types) text += (text.empty() ? "" : ", ") + std::string(t.name);
  return text;
}

number_type const& type_named(std::string_view name) {
  for (number_type const& t : types)
    if (t.name == name) return t;
  throw problem("there is no format '" + std::string(name) + "': there are " + names_of_types());
}

}  // namespace judge
