// SPDX-License-Identifier: Apache-2.0
// cast between all pairs of formats; lengths, places and modes are in conformance/.
#include <cmath>
#include <cstring>
#include <limits>

#include "support/support.hpp"

namespace {

using namespace lowp_test;

template <class T>
std::uint32_t nearest(oracle::number const& x) {
  return oracle::encode(facts<T>, x, oracle::mode::nearest_even, oracle::default_policy(facts<T>));
}

template <class T>
class cast : public testing::Test {};
TYPED_TEST_SUITE(cast, all_formats, by_format);

template <class From, class To>
std::uint32_t expected_code(From x) {
  // The same format copies bits, those of a NaN too.
  return std::same_as<From, To> ? x.bits() : nearest<To>(oracle::decode(facts<From>, x.bits()));
}

template <class From, class To>
void check_one_by_one() {
  for (std::uint32_t code = 0; code < code_count<From>; ++code) {
    From const x = of_code<From>(code);
    To const got = lowp::convert<To>(x);
    ASSERT_TRUE(has_bits(got, expected_code<From, To>(x), facts<From>.name, x));
    ASSERT_TRUE(has_bits(To(x), got.bits(), facts<From>.name, x));
  }
}

template <class From, class To>
void check_span() {
  std::vector<From> in;
  for (std::uint32_t code = 0; code < code_count<From>; ++code) in.push_back(of_code<From>(code));
  std::vector<To> out(in.size());
  lowp::cast(in, out);
  for (From const x : in) {
    ASSERT_TRUE(has_bits(out[x.bits()], expected_code<From, To>(x), facts<From>.name, x));
  }
}

TYPED_TEST(cast, of_all_codes_to_every_format) {
  types_of<kernel_formats>::for_each(
      [](auto to) { check_one_by_one<TypeParam, typename decltype(to)::type>(); });
}

// A span is decoded without regard to its target, and encoded without regard to its source. So each
// format needs to meet only every element size and every way of decoding and encoding.
template <class T>
class cast_of_spans : public testing::Test {};
TYPED_TEST_SUITE(cast_of_spans, kernel_formats, by_format);

TYPED_TEST(cast_of_spans, of_all_codes) {
  using partners = some_or_all<
      testing::Types<lowp::bfloat16, lowp::float8_e4m3fn>,
      testing::Types<lowp::bfloat16, lowp::float16, lowp::float8_e4m3fnuz, lowp::float8_e8m0fnu>>;
  types_of<partners>::for_each([](auto other) {
    using U = typename decltype(other)::type;
    check_span<TypeParam, U>();
    check_span<U, TypeParam>();
  });
}

// A pack without NaN and subnormals may take an instruction that knows no policy.
TYPED_TEST(cast_of_spans, of_floats_beyond_the_range_under_every_policy) {
  constexpr std::size_t many = 64;
  float const most = std::numeric_limits<float>::max();
  for (float const x : {most, -most, HUGE_VALF, -HUGE_VALF, float_of(0x7fc12345), 1.0f}) {
    std::vector<float> const in(many, x);
    for (int i = 0; i <= static_cast<int>(lowp::overflow::torch_2_11); ++i) {
      auto const policy = static_cast<lowp::overflow>(i);
      std::vector<TypeParam> out(many);
      lowp::cast(in, out, lowp::nearest_even{}, policy);
      std::uint32_t const expected =
          lowp::convert<TypeParam>(x, lowp::nearest_even{}, policy).bits();
      for (TypeParam const each : out)
        ASSERT_EQ(each.bits(), expected) << x << " under policy " << i;
    }
  }
}

TEST(cast_between_floats, copies_bits) {
  std::vector<float> in{0.0f, -0.0f, 1.5f, float_of(0x7f800001), float_of(0xffc12345), float_of(1)};
  std::vector<float> out(in.size());
  lowp::cast(in, out, lowp::toward_zero{}, lowp::overflow::saturate);
  EXPECT_EQ(std::memcmp(in.data(), out.data(), in.size() * sizeof(float)), 0);
  lowp::cast(in, in);
  EXPECT_EQ(std::memcmp(in.data(), out.data(), in.size() * sizeof(float)), 0);
  lowp::cast(in, out, lowp::stochastic{.seed = 1});
  EXPECT_EQ(std::memcmp(in.data(), out.data(), in.size() * sizeof(float)), 0);
}

}  // namespace
