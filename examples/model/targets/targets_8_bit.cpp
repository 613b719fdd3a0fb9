// SPDX-License-Identifier: Apache-2.0
#include "targets/make_target.hpp"
#include "targets/target_list.hpp"

constexpr target float8_e4m3fn_target = stored<lowp::float8_e4m3fn>("float8_e4m3fn");
constexpr target float8_e5m2_target = stored<lowp::float8_e5m2>("float8_e5m2");
constexpr target float8_e4m3fnuz_target = stored<lowp::float8_e4m3fnuz>("float8_e4m3fnuz");
constexpr target float8_e5m2fnuz_target = stored<lowp::float8_e5m2fnuz>("float8_e5m2fnuz");
