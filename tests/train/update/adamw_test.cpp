// SPDX-License-Identifier: Apache-2.0
// AdamW bit for bit against the exact sequence, in every kind of slot.
#include <gtest/gtest.h>
#include <lowp/update.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "support.hpp"

namespace {

using namespace lowp_test;

template <class P_, class G_, class M_, class V_>
struct slots {
  using P = P_;
  using G = G_;
  using M = M_;
  using V = V_;
};
template <class T>
using alike = slots<T, T, T, T>;

using float_slots = alike<float>;
using mixed_slots = slots<lowp::bfloat16, float, lowp::float8_e4m3fn, lowp::float16>;
// Every format is somewhere the parameter or a moment, but those without sign the gradient.
using every_combination = testing::Types<
    float_slots, mixed_slots, alike<lowp::bfloat16>, alike<lowp::float16>,
    slots<lowp::float8_e4m3fn, lowp::float8_e5m2, lowp::bfloat16, lowp::float8_e5m2fnuz>,
    slots<lowp::float8_e5m2, lowp::bfloat16, float, lowp::float6_e3m2fn>,
    slots<lowp::float8_e4m3fnuz, lowp::float16, lowp::float8_e3m4, float>,
    slots<float, lowp::float8_e4m3, lowp::float6_e3m2fn, lowp::float8_e4m3b11fnuz>,
    slots<lowp::float6_e2m3fn, lowp::float8_ue5m3, lowp::float8_e4m3, lowp::float8_e3m4>,
    slots<lowp::float8_e4m3, lowp::float8_e8m0fnu, lowp::float4_e2m1fn, lowp::bfloat16>>;

using combinations = some_or_all<
    testing::Types<
        float_slots, mixed_slots, alike<lowp::bfloat16>,
        slots<lowp::float8_e4m3fnuz, lowp::float16, lowp::float8_e3m4, float>,
        slots<lowp::float8_e4m3, lowp::float8_e8m0fnu, lowp::float4_e2m1fn, lowp::bfloat16>>,
    every_combination>;

constexpr double max = std::numeric_limits<float>::max();
constexpr double tiny = std::numeric_limits<double>::denorm_min();
constexpr std::array settings{
    lowp::adamw{},
    lowp::adamw{.lr = 0.05, .weight_decay = 0},
    lowp::adamw{.lr = 1e-5, .beta1 = 0.95, .beta2 = 0.98, .eps = 1e-6, .weight_decay = 0.1},
    lowp::adamw{.lr = 0.3, .beta1 = 0, .beta2 = 0, .eps = 0},
    lowp::adamw{.lr = 0, .weight_decay = 3},
    lowp::adamw{.eps = 0, .weight_decay = -0.0},
    lowp::adamw{.lr = 1e37, .weight_decay = 1e-38},
    lowp::adamw{.lr = tiny, .eps = tiny, .weight_decay = tiny},
    lowp::adamw{.lr = 1e37, .eps = max, .weight_decay = 30},
    lowp::adamw{.beta1 = 1 - 0x1p-24, .beta2 = 1 - 0x1p-24},  // the largest floats below 1
    lowp::adamw{.lr = 1e-40, .beta1 = 1e-45, .beta2 = 1e-39, .eps = 1e-41, .weight_decay = 1e-3}};

template <class Slots, class Rounding>
void check(std::uint64_t seed, std::size_t size, lowp::adamw const& a, std::uint64_t step,
           Rounding const& rounding, slot_modes const& modes, maybe_policy const& policy) {
  values const kind = seed % 2 == 0 ? values::corners : values::training;
  tensor p = random_tensor<typename Slots::P>(size, 4 * seed, kind);
  tensor g = random_tensor<typename Slots::G>(size, 4 * seed + 1, kind);
  tensor m = random_tensor<typename Slots::M>(size, 4 * seed + 2, kind, 0.1);
  tensor v = random_tensor<typename Slots::V>(size, 4 * seed + 3, kind, 0.1);
  if (v.format.is_signed && seed % 3 != 0)  // as in a training run; else some roots are NaN
    for (std::uint32_t& code : v.codes)
      code &= static_cast<std::uint32_t>(v.format.magnitude_mask());

  guarded<typename Slots::P> mine_p(p, seed % 5);
  guarded<typename Slots::G> mine_g(g, seed % 7);
  guarded<typename Slots::M> mine_m(m, seed % 3);
  guarded<typename Slots::V> mine_v(v, seed % 4);
  if (policy)
    lowp::update(mine_p.span(), mine_g.span(), mine_m.span(), mine_v.span(), a, step, rounding,
                 policy->overflow);
  else
    lowp::update(mine_p.span(), mine_g.span(), mine_m.span(), mine_v.span(), a, step, rounding);
  oracle_update(p, g, m, v, a, step, modes, policy);
  EXPECT_TRUE(mine_p.holds(p, "p"));
  EXPECT_TRUE(mine_g.holds(g, "g"));
  EXPECT_TRUE(mine_m.holds(m, "m"));
  EXPECT_TRUE(mine_v.holds(v, "v"));
}

template <class Slots>
class adamw : public testing::Test {};
struct by_slots {
  template <class Slots>
  static std::string GetName(int) {
    std::string name;
    for (char const* part :
         {"p_", slot_facts<typename Slots::P>().name, "_g_", slot_facts<typename Slots::G>().name,
          "_m_", slot_facts<typename Slots::M>().name, "_v_", slot_facts<typename Slots::V>().name})
      name += part;
    return name;
  }
};
TYPED_TEST_SUITE(adamw, combinations, by_slots);

TYPED_TEST(adamw, each_slot_has_the_bits_of_the_exact_sequence) {
  std::mt19937_64 random(41);
  for (std::uint64_t i = 0; i < 900 && !this->HasFailure(); ++i) {
    auto const size = lengths[i % lengths.size()];
    auto const& a = settings[i % settings.size()];
    auto const step = steps[i / 3 % steps.size()];
    auto const& policy = maybe_policies[i / 2 % 3];
    slot_modes const modes = random_modes(random);
    SCOPED_TRACE("case " + std::to_string(i) + ", step " + std::to_string(step) + ", settings " +
                 std::to_string(i % settings.size()) + (policy ? policy->name : ""));
    check<TypeParam>(i, size, a, step, modes.library(), modes, policy);
  }
}

template <class Slots, modes Which>
void check_plain_modes() {
  for_each_rounding<Which>([&](auto const& rounding, slot_modes const& modes, char const* name) {
    for (std::uint64_t i = 0; i < 150 && !testing::Test::HasFailure(); ++i) {
      SCOPED_TRACE(std::string(name) + ", case " + std::to_string(i));
      check<Slots>(i, lengths[i % lengths.size()], settings[i % settings.size()],
                   steps[i % steps.size()], rounding, modes, maybe_policies[i / 2 % 3]);
    }
  });
}
TEST(adamw_rounding, one_mode_serves_all_slots) {
  check_plain_modes<mixed_slots, tests_all ? modes::all : modes::two>();
}
TEST(adamw_rounding, floats_are_stored_as_they_are) {
  check_plain_modes<float_slots, modes::two>();
}

TEST(adamw_rounding, default_is_nearest_even) {
  tensor p = random_tensor<lowp::bfloat16>(99, 1, values::training);
  tensor const g = random_tensor<float>(99, 2, values::training);
  tensor m = random_tensor<lowp::float8_e4m3fn>(99, 3, values::training);
  tensor v{oracle::float16, std::vector<std::uint32_t>(99, 0x2000)};
  guarded<lowp::bfloat16> mine_p(p, 0);
  guarded<lowp::float8_e4m3fn> mine_m(m, 0);
  guarded<lowp::float16> mine_v(v, 0);
  lowp::update(mine_p.span(), guarded<float>(g, 0).span(), mine_m.span(), mine_v.span(),
               lowp::adamw{}, 7);
  oracle_update(p, g, m, v, lowp::adamw{}, 7, {}, std::nullopt);
  EXPECT_TRUE(mine_p.holds(p, "p"));
  EXPECT_TRUE(mine_m.holds(m, "m"));
  EXPECT_TRUE(mine_v.holds(v, "v"));
}

TEST(adamw_lengths, every_length_to_300) {
  for (std::size_t size = 0; size <= 300 && !HasFailure(); ++size) {
    SCOPED_TRACE(size);
    std::mt19937_64 random(size);
    slot_modes const modes = random_modes(random);
    check<mixed_slots>(size, size, lowp::adamw{}, size + 1, modes.library(), modes, std::nullopt);
  }
}

}  // namespace
