// SPDX-License-Identifier: Apache-2.0
// Units built with different flags compute the same bits. UNITS says which ones this program is
// linked with: `X(name) X(name)`, from CMakeLists.txt.
#include <gtest/gtest.h>
#include <lowp/simd/dispatch.hpp>

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "expectation.hpp"

#define X(name) flags_test::conformance_result name();
UNITS
#undef X

namespace {

using namespace flags_test;

using conformance_function = conformance_result (*)();
std::map<std::string, conformance_function> const& units() {
#define X(name) {#name, ::name},
  static const std::map<std::string, conformance_function> all{UNITS};
#undef X
  return all;
}
std::vector<std::string> names() {
  std::vector<std::string> all;
  for (auto const& [name, conformance] : units()) all.push_back(name);
  return all;
}

// A unit may use what its flags say, and only it.
bool runs_here([[maybe_unused]] std::string const& name) {
#if defined(__x86_64__)
  if (name == "avx2") return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
  return true;
}

// A unit has no backend below its flags, and says so.
bool refuses_backend(std::string const& name) {
  return (name == "avx2" || name == "native") && lowp::isa() == "portable";
}

class flags : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(units, flags, testing::ValuesIn(names()),
                         [](auto const& each) { return each.param; });

TEST_P(flags, change_no_bit) {
  if (!runs_here(GetParam())) GTEST_SKIP() << "this processor lacks what the flags allow";
  if (refuses_backend(GetParam()))
    EXPECT_THROW(units().at(GetParam())(), std::runtime_error);
  else
    expect_conformance(units().at(GetParam())());
}

}  // namespace
