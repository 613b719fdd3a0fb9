// SPDX-License-Identifier: Apache-2.0
#include "targets/make_target.hpp"
#include "targets/target_list.hpp"

constexpr target float8_e4m3_target = audited<lowp::float8_e4m3>("float8_e4m3");
constexpr target float8_e3m4_target = audited<lowp::float8_e3m4>("float8_e3m4");
constexpr target float8_e4m3b11fnuz_target =
    audited<lowp::float8_e4m3b11fnuz>("float8_e4m3b11fnuz");
constexpr target float6_e2m3fn_target = stored<lowp::float6_e2m3fn>("float6_e2m3fn");
constexpr target float6_e3m2fn_target = stored<lowp::float6_e3m2fn>("float6_e3m2fn");
constexpr target float4_e2m1fn_target = stored<lowp::float4_e2m1fn>("float4_e2m1fn");
