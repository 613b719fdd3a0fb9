// SPDX-License-Identifier: Apache-2.0
// All 2^32 floats to nearest even into the formats that training uses most. The other formats and
// modes are in exhaustive/.
#include "support/all_floats.hpp"

namespace {

using namespace lowp_test;

template <class T>
class all_floats : public testing::Test {};
using common_formats =
    testing::Types<lowp::bfloat16, lowp::float16, lowp::float8_e4m3fn, lowp::float8_e5m2>;
TYPED_TEST_SUITE(all_floats, common_formats, by_format);

TYPED_TEST(all_floats, to_nearest_even) {
  check_cast_of_all_floats<TypeParam>(std::get<0>(deterministic_modes));
}

}  // namespace
