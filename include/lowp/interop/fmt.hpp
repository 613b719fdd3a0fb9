// SPDX-License-Identifier: Apache-2.0
// Formats the value types with fmt::format:
//
//     {}      the shortest text that reads back to the same value; fill, align, sign and width too
//     {:.3f}  the exact value, as for a float with any precision or a type of a, e, f, g
//     {:x}    the code, in all hexadecimal digits of the format; fill, align and width too
//     {:b}    sign|exponent|significand, in binary; fill, align and width too
#pragma once

#include <lowp/format/charconv.hpp>

#include <fmt/format.h>

#include <string>

template <lowp::format F, bool IsImplicit>
struct fmt::formatter<lowp::basic_float<F, IsImplicit>> {
  constexpr auto parse(format_parse_context& context) {
    auto end = context.begin();
    for (int depth = 0; end != context.end() && (*end != '}' || depth > 0); ++end)
      depth += *end == '{' ? 1 : *end == '}' ? -1 : 0;
    std::string_view const spec(context.begin(), static_cast<std::size_t>(end - context.begin()));
    char const last = spec.empty() ? '\0' : spec.back();
    if (last == 'x' || last == 'b') {
      show_ = last;
      if (spec.find('{') != spec.npos)
        FMT_THROW(format_error("the width of a value shown as x or b must be a number"));
      // The text's own precision would cut the code.
      auto const is_in = [&](std::size_t place, std::string_view some) {
        return some.find(spec[place]) != some.npos;
      };
      std::size_t const point = spec.rfind('.');
      if ((point != spec.npos && !is_in(point + 1, "<>^")) ||
          (spec.size() > 1 && !is_in(spec.size() - 2, "<>^0123456789")))
        FMT_THROW(format_error("a value shown as x or b takes fill, align and width alone"));
      format_parse_context without_type({spec.data(), spec.size() - 1});
      text_.parse(without_type);
      return end;
    }
    show_ = lowp::detail::asks_for_digits(spec) ? 'f' : 's';
    return number_.parse(context);
  }

  auto format(lowp::basic_float<F, IsImplicit> value, auto& context) const {
    switch (show_) {
      case 'x':
        return text_.format(fmt::format("{:0{}x}", value.bits(), (F.bits() + 3) / 4), context);
      case 'b':
        return text_.format(fields(value.bits()), context);
      case 's':
        return number_.format(lowp::shortest(value), context);
      default:
        return number_.format(lowp::detail::nearest<double>(lowp::detail::unpack(value)), context);
    }
  }

 private:
  static std::string fields(unsigned code) {
    std::string text = fmt::format("{:0{}b}", code, F.bits());
    if (F.significand_bits > 0)
      text.insert(text.size() - static_cast<std::size_t>(F.significand_bits), "|");
    if (F.has_sign) text.insert(1, "|");
    return text;
  }

  char show_ = 's';
  fmt::formatter<double> number_;
  fmt::formatter<std::string_view> text_;
};
