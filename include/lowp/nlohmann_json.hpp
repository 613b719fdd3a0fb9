// SPDX-License-Identifier: Apache-2.0
// Narrow values, and containers of them, in nlohmann::json:
//
//     nlohmann::json settings = {{"scale", lowp::bfloat16(0.5f)}};
//     auto scale = settings["scale"].get<lowp::bfloat16>();
//
// A value becomes the number that it is, so a finite one reads back to the same bits. Reading
// rounds the integer or double once, to nearest even with the format's default overflow.
//
// JSON has no NaN and no infinity. Both throw std::invalid_argument, where nlohmann::json would
// write `null` for a float. So does reading what is not a number.
#pragma once

#include <lowp/interop/nlohmann_json.hpp>
