// SPDX-License-Identifier: Apache-2.0
// Narrow values, and containers of them, in nlohmann::json:
//
//     nlohmann::json settings = {{"scale", lowp::bfloat16(0.5f)}};
//     auto scale = settings["scale"].get<lowp::bfloat16>();
//
// A value becomes the number that it is, so a finite one reads back to the same bits. Reading
// rounds the integer or double once, to nearest even with the format's default overflow. NaN and
// infinity, which JSON lacks, throw std::invalid_argument. So does reading what is not a number.
#pragma once

#include <lowp/base/text.hpp>
#include <lowp/format/decimal.hpp>
#include <lowp/format/math.hpp>

#include <nlohmann/json.hpp>

#include <stdexcept>

template <lowp::format F, bool IsImplicit>
struct nlohmann::adl_serializer<lowp::basic_float<F, IsImplicit>> {
  static void to_json(auto& json, lowp::basic_float<F, IsImplicit> x) {
    if (!isfinite(x))
      lowp::detail::raise<std::invalid_argument>("to_json: JSON has no number for " +
                                                 lowp::detail::text_of(float{x}));
    json = lowp::detail::nearest<double>(lowp::detail::unpack(x));
  }
  template <class Json>
  static void from_json(Json const& json, lowp::basic_float<F, IsImplicit>& x) {
    if (!json.is_number())
      lowp::detail::raise<std::invalid_argument>(
          std::string("from_json: a number is wanted, not ") + json.type_name());
    if (json.is_number_unsigned())
      x = json.template get<typename Json::number_unsigned_t>();
    else if (json.is_number_integer())
      x = json.template get<typename Json::number_integer_t>();
    else
      x = json.template get<typename Json::number_float_t>();
  }
};
