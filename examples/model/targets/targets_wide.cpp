// SPDX-License-Identifier: Apache-2.0
#include "targets/make_target.hpp"
#include "targets/target_list.hpp"

constexpr target float32_target = stored<float>("float32");
constexpr target float16_target = stored<lowp::float16>("float16");
constexpr target bfloat16_target = stored<lowp::bfloat16>("bfloat16");
