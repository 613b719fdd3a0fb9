// SPDX-License-Identifier: Apache-2.0
// The table of formats in include/lowp/README.md is what the types say of themselves.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <lowp/lowp.hpp>

#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include "support/formats.hpp"

namespace {

using namespace lowp;

/// "7c01 to 7fff, fc01 to ffff": the codes that are NaN, as ranges.
template <class T>
std::string nan_codes() {
  std::string text;
  unsigned const end = T::descriptor.code_mask() + 1;
  auto const is_nan = [&](unsigned code) {
    return code < end && isnan(T::from_bits(static_cast<typename T::storage>(code)));
  };
  int const digits = (T::descriptor.bits() + 3) / 4;
  for (unsigned first = 0; first < end; ++first) {
    if (!is_nan(first)) continue;
    unsigned last = first;
    while (is_nan(last + 1)) ++last;
    text += fmt::format("{}{:0{}x}", text.empty() ? "" : ", ", first, digits);
    if (last > first) text += fmt::format("-{:0{}x}", last, digits);
    first = last;
  }
  return text.empty() ? "none" : text;
}

template <class T>
std::string row(char const* name) {
  using limits = std::numeric_limits<T>;
  constexpr format F = T::descriptor;
  return fmt::format("| `{}` | {}-{}-{} | {:.8g} | {:.4g}, {:.4g} | {:.4g} | {}; {} |\n", name,
                     F.has_sign ? 1 : 0, F.exponent_bits, F.significand_bits,
                     double{float{limits::max()}}, double{float{limits::min()}},
                     double{float{limits::denorm_min()}}, double{float{limits::epsilon()}},
                     limits::has_infinity ? "yes" : "no", nan_codes<T>());
}

TEST(readme, formats) {
  std::ifstream file(LOWP_TESTS "/../include/lowp/README.md");
  std::string const readme{std::istreambuf_iterator<char>(file), {}};
  ASSERT_FALSE(readme.empty());
  lowp_test::types_of<lowp_test::all_formats>::for_each([&](auto type) {
    using T = typename decltype(type)::type;
    std::string const line = row<T>(lowp_test::facts<T>.name);
    EXPECT_NE(readme.find("\n" + line), readme.npos) << "The page lacks this row:\n" << line;
  });
}

}  // namespace
