// SPDX-License-Identifier: Apache-2.0
// Units built with different flags compute the same bits. UNITS says which ones this program is
// linked with: `X(name) X(name)`, from CMakeLists.txt.
#include <gtest/gtest.h>
#include <lowp/simd/dispatch.hpp>

#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "expectation.hpp"

#define X(name)                          \
  flags_test::conformance_result name(); \
  bool name(std::string_view backend);
UNITS
#undef X

namespace {

using namespace flags_test;

struct unit {
  conformance_result (*conformance)();
  bool (*has)(std::string_view backend);
};
std::map<std::string, unit> const& units() {
#define X(name) {#name, {::name, ::name}},
  static const std::map<std::string, unit> all{UNITS};
#undef X
  return all;
}
std::vector<std::string> names() {
  std::vector<std::string> all;
  for (auto const& [name, each] : units()) all.push_back(name);
  return all;
}

// A unit may use what its flags say, and only it.
bool runs_here([[maybe_unused]] std::string const& name) {
#if defined(__x86_64__)
  if (name == "avx2") return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
  return true;
}

class flags : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(units, flags, testing::ValuesIn(names()),
                         [](auto const& each) { return each.param; });

TEST_P(flags, change_no_bit) {
  if (!runs_here(GetParam())) GTEST_SKIP() << "this processor lacks what the flags allow";
  auto const& [conformance, has] = units().at(GetParam());
  if (has(lowp::isa()))
    expect_conformance(conformance());
  else  // below the unit's flags
    EXPECT_THROW(conformance(), std::runtime_error);
}

}  // namespace
