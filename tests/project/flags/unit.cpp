// SPDX-License-Identifier: Apache-2.0
// Built once for every set of flags in CMakeLists.txt, each time as another function UNIT.
#include <string_view>

#include "conformance.hpp"

flags_test::conformance_result UNIT();
flags_test::conformance_result UNIT() { return conformance(); }

// Says whether the unit has a backend: none that lies below its flags.
bool UNIT(std::string_view backend);
bool UNIT(std::string_view backend) {
  for (std::string_view const name : lowp::simd::native::names)
    if (name == backend) return true;
  return false;
}
