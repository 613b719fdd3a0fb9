// SPDX-License-Identifier: Apache-2.0
// Another format is another line here, and one in the unit that makes it.
#pragma once

#include "targets/targets.hpp"

extern target const float32_target, float16_target, bfloat16_target;
extern target const float8_e4m3fn_target, float8_e5m2_target, float8_e4m3fnuz_target,
    float8_e5m2fnuz_target;
extern target const float8_e4m3_target, float8_e3m4_target, float8_e4m3b11fnuz_target,
    float6_e2m3fn_target, float6_e3m2fn_target, float4_e2m1fn_target;
extern target const nvfp4_compressed_tensors_target, nvfp4_modelopt_target,
    mxfp4_compressed_tensors_target;
