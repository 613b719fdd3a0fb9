// SPDX-License-Identifier: Apache-2.0
// Built once for every set of flags in CMakeLists.txt, each time as another function UNIT.
#include "conformance.hpp"

flags_test::conformance_result UNIT();
flags_test::conformance_result UNIT() { return conformance(); }
