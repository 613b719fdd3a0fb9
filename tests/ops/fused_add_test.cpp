// SPDX-License-Identifier: Apache-2.0
// fused_add bit for bit against the exact sequence.
#include <gtest/gtest.h>
#include <lowp/fused_add.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "train/update/support.hpp"

namespace {

using namespace lowp_test;

template <class P_, class U_, modes Which = modes::two>
struct slots {
  using P = P_;
  using U = U_;
  static constexpr modes which = Which;
};
// Every format is somewhere the parameter, most of them the update as well.
using every_combination = testing::Types<
    slots<float, float>, slots<float, lowp::bfloat16>, slots<lowp::bfloat16, float, modes::all>,
    slots<lowp::bfloat16, lowp::bfloat16>, slots<lowp::float16, lowp::float8_e5m2>,
    slots<lowp::float8_e5m2, lowp::float16>, slots<lowp::float8_e4m3fn, float, modes::all>,
    slots<lowp::float8_e4m3, lowp::float8_e4m3b11fnuz>,
    slots<lowp::float8_e3m4, lowp::float8_e5m2fnuz>, slots<lowp::float8_e4m3fnuz, lowp::float16>,
    slots<lowp::float8_e5m2fnuz, float>, slots<lowp::float8_e4m3b11fnuz, lowp::float8_e8m0fnu>,
    slots<lowp::float8_e8m0fnu, lowp::bfloat16, modes::all>,
    slots<lowp::float6_e2m3fn, lowp::float6_e3m2fn>,
    slots<lowp::float6_e3m2fn, lowp::float4_e2m1fn>,
    slots<lowp::float4_e2m1fn, lowp::float8_ue5m3>>;

using combinations = some_or_all<
    testing::Types<slots<float, float>, slots<lowp::bfloat16, float, modes::all>,
                   slots<lowp::float8_e4m3fn, float>, slots<lowp::float16, lowp::float8_e5m2>,
                   slots<lowp::float8_e8m0fnu, lowp::bfloat16>,
                   slots<lowp::float6_e2m3fn, lowp::float8_e4m3fnuz>>,
    every_combination>;

constexpr std::array<std::uint32_t, 11> alphas{0x3f800000, 0xbdcccccd, 0x3f000000, 0x00000000,
                                               0x80000000, 0x00000001, 0x807fffff, 0x3a83126f,
                                               0xbf800001, 0x7f7fffff, 0x41200000};

template <class Slots, class Rounding>
void check(std::uint64_t seed, std::size_t size, float alpha, Rounding const& rounding,
           slot_mode const& mode, maybe_policy const& policy) {
  values const kind = seed % 2 == 0 ? values::corners : values::training;
  tensor p = random_tensor<typename Slots::P>(size, 2 * seed, kind);
  tensor const u = random_tensor<typename Slots::U>(size, 2 * seed + 1, kind, 0.05);
  guarded<typename Slots::P> mine(p, seed % 5);
  guarded<typename Slots::U> mine_u(u, seed % 7);
  if (policy)
    lowp::fused_add(mine.span(), alpha, mine_u.span(), rounding, policy->overflow);
  else
    lowp::fused_add(mine.span(), alpha, mine_u.span(), rounding);
  oracle_fused_add(p, alpha, u, mode, policy);
  EXPECT_TRUE(mine.holds(p, "p"));
  EXPECT_TRUE(mine_u.holds(u, "u"));
}

template <class Slots>
class fused_add : public testing::Test {};
struct by_slots {
  template <class Slots>
  static std::string GetName(int) {
    return std::string(slot_facts<typename Slots::P>().name) + "_plus_" +
           slot_facts<typename Slots::U>().name;
  }
};
TYPED_TEST_SUITE(fused_add, combinations, by_slots);

TYPED_TEST(fused_add, has_the_bits_of_the_exact_sequence) {
  for_each_rounding<TypeParam::which>([&](auto const& rounding, slot_modes const& modes,
                                          char const* name) {
    for (std::uint64_t i = 0; i < 300 && !this->HasFailure(); ++i) {
      float const alpha = float_of(alphas[i % alphas.size()]);
      auto const& policy = maybe_policies[i / 2 % 3];
      SCOPED_TRACE(std::string(name) + ", case " + std::to_string(i) + ", alpha " + shown(alpha) +
                   (policy ? policy->name : ""));
      check<TypeParam>(i, lengths[i / 4 % lengths.size()], alpha, rounding, modes.param, policy);
    }
  });
}

template <class T>
void check_in_place() {
  for (std::size_t const size : lengths) {
    tensor p = random_tensor<T>(size, size, values::corners);
    tensor const u = p;
    guarded<T> mine(p, size % 3);
    lowp::fused_add(mine.span(), -0.375f, mine.span());
    oracle_fused_add(p, -0.375f, u, {}, {});
    EXPECT_TRUE(mine.holds(p, "p"));
  }
}
TEST(fused_add_storage, u_may_be_p) {
  check_in_place<float>();
  check_in_place<lowp::bfloat16>();
  check_in_place<lowp::float8_e4m3fn>();
}

// The same bytes as another format of the same size are as good: each is read before it is written.
TEST(fused_add_storage, u_may_be_the_bytes_of_p_in_another_format) {
  tensor p = random_tensor<lowp::float16>(77, 5, values::corners);
  tensor const u{oracle::bfloat16, p.codes};
  guarded<lowp::float16> mine(p, 1);
  auto* const bytes = reinterpret_cast<lowp::bfloat16*>(mine.span().data());
  lowp::fused_add(mine.span(), 0.5f, std::span<lowp::bfloat16 const>(bytes, 77));
  oracle_fused_add(p, 0.5f, u, {}, {});
  EXPECT_TRUE(mine.holds(p, "p"));
}

// Any contiguous range, and a temporary as input.
TEST(fused_add_ranges, vectors_arrays_spans_and_temporaries) {
  std::array<lowp::bfloat16, 3> p{1, 2, 3};
  lowp::fused_add(p, 2.0f, std::vector<float>{1, 2, 3});
  float const two[] = {1, 1, 1};
  lowp::fused_add(std::span(p), -1.0f, two);
  EXPECT_EQ(float(p[0]), 2.0f);
  EXPECT_EQ(float(p[1]), 5.0f);
  EXPECT_EQ(float(p[2]), 8.0f);
}

// A residual stream kept in float adds each layer's output, in 16 bits, exactly or with one
// rounding of float. A stream in 16 bits overflows or stops.
TEST(fused_add_of_a_residual, is_one_addition_in_float) {
  tensor const u = random_tensor<lowp::float16>(1001, 1, values::corners);
  tensor const p = random_tensor<float>(1001, 2, values::training, 1000);
  guarded<lowp::float16> layer(u, 0);
  guarded<float> residual(p, 1);
  tensor want = p;
  for (std::size_t i = 0; i < want.size(); ++i)
    store(want, i, oracle::f32_add(p.value(i), u.value(i)), {}, 0, {});
  lowp::fused_add(residual.span(), 1, layer.span());
  EXPECT_TRUE(residual.holds(want, "residual"));

  std::vector<float> wide(1, 60000);
  std::vector<lowp::float16> narrow(1, lowp::float16(60000));
  std::vector<lowp::float16> const large(1, lowp::float16(6000));
  lowp::fused_add(wide, 1, large);
  lowp::fused_add(narrow, 1, large);
  EXPECT_EQ(wide[0], 66000.0f);
  EXPECT_TRUE(isinf(narrow[0]));
}

}  // namespace
