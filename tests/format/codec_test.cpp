// SPDX-License-Identifier: Apache-2.0
// The codec in lanes, in every mode: spans of all codes to float, and of floats to codes at every
// place at which the result changes.
#include <vector>

#include "support/boundaries.hpp"

namespace {

using namespace lowp_test;

template <class T>
class codec : public testing::Test {};
using coded_formats =
    joined<kernel_formats, some_or_all<testing::Types<user_e6m9>, user_formats>>::type;
TYPED_TEST_SUITE(codec, coded_formats, by_format);

TYPED_TEST(codec, decodes_every_code) {
  using T = TypeParam;
  std::vector<T> narrow;
  for (std::uint32_t code = 0; code < code_count<T>; ++code) narrow.push_back(of_code<T>(code));
  std::vector<float> wide(narrow.size());
  lowp::cast(narrow, wide);
  for (std::uint32_t code = 0; code < code_count<T>; ++code) {
    const std::uint32_t expected = oracle::decode_to_float_bits(facts<T>, code);
    ASSERT_TRUE(has_bits(wide[code], expected, of_code<T>(code)));
  }
}

template <class T, class R>
void check_span(const std::vector<sample>& samples, R rounding, const named_policy& policy,
                const char* name) {
  std::vector<float> floats;
  for (const sample& s : samples) floats.push_back(s.x);
  std::vector<T> results(floats.size());
  lowp::cast(floats, results, rounding, policy.overflow);
  for (std::size_t i = 0; i < results.size(); ++i) {
    ASSERT_TRUE(has_bits(results[i], samples[i].code, floats[i], name, policy.name));
  }
}

TYPED_TEST(codec, rounds_floats_to_nearest_even_at_every_boundary) {
  constexpr auto m = std::get<0>(deterministic_modes);
  for (const named_policy& policy : policies) {
    const auto samples = boundaries(facts<TypeParam>, m.mode, policy.policy);
    check_span<TypeParam>(samples, m.rounding, policy, m.name);
  }
}

template <class T>
class codec_in_every_mode : public testing::Test {};
TYPED_TEST_SUITE(codec_in_every_mode, kernel_formats, by_format);

TYPED_TEST(codec_in_every_mode, rounds_floats_at_every_boundary) {
  for_each_mode([](const auto& m) {
    for (const named_policy& policy : policies) {
      const auto samples = boundaries(facts<TypeParam>, m.mode, policy.policy);
      check_span<TypeParam>(samples, m.rounding, policy, m.name);
    }
  });
}

}  // namespace
