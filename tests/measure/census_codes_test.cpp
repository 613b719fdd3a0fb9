// SPDX-License-Identifier: Apache-2.0
// census against the oracle, over every code of every narrow format.
#include <cstddef>
#include <cstdint>

#include "support/census_expectations.hpp"

namespace {

using namespace lowp_test;

template <class From>
tensor every_code() {
  tensor all{facts<From>, std::vector<std::uint32_t>(code_count<From>)};
  for (std::uint32_t code = 0; code < code_count<From>; ++code) all.codes[code] = code;
  return all;
}

// Takes censuses of all together, of each alone, and of runs whose ends fall anywhere in a
// register.
template <lowp::narrow From, lowp::element To>
void expect_every_code() {
  SCOPED_TRACE(std::string("to ") + slot_facts<To>().name);
  tensor const all = every_code<From>();
  guarded<From> x(all, 1);
  expect(lowp::census<To>(x.span()), expected_of<To>(all));
  for (std::size_t const length : {std::size_t{1}, std::size_t{37}}) {
    for (std::size_t first = 0; first + length <= all.size(); first += length) {
      expected_census want{slot_facts<To>()};
      for (std::size_t i = first; i < first + length; ++i) want.add(all.value(i));
      expect(lowp::census<To>(x.span().subspan(first, length)), want);
      ASSERT_FALSE(testing::Test::HasFailure()) << "codes from " << hex(first, 4);
    }
  }
}

template <class From>
class census_of_every_code : public testing::Test {};
using counted_formats =
    some_or_all<testing::Types<lowp::bfloat16, lowp::float8_e8m0fnu>, all_formats>;
TYPED_TEST_SUITE(census_of_every_code, counted_formats, by_format);

TYPED_TEST(census_of_every_code, to_float8_e4m3fn) {
  expect_every_code<TypeParam, lowp::float8_e4m3fn>();
}

TEST(census_of_every_code_of, bfloat16) {
  expect_every_code<lowp::bfloat16, lowp::float16>();
  expect_every_code<lowp::bfloat16, lowp::bfloat16>();
  expect_every_code<lowp::bfloat16, float>();
}
TEST(census_of_every_code_of, float16) {
  expect_every_code<lowp::float16, lowp::bfloat16>();
  expect_every_code<lowp::float16, lowp::float8_e5m2>();
}

}  // namespace
