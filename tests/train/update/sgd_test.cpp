// SPDX-License-Identifier: Apache-2.0
// SGD bit for bit against the exact sequence: with and without momentum, dampening, Nesterov and
// weight decay.
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

template <class P_, class G_, class M_>
struct slots {
  using P = P_;
  using G = G_;
  using M = M_;
};
template <class T>
using alike = slots<T, T, T>;

using mixed_slots = slots<lowp::float16, lowp::bfloat16, lowp::float8_e5m2>;
// Every format is somewhere the parameter or the momentum, but those without sign the gradient.
using combinations = first_or_all<
    5, testing::Types<alike<float>, mixed_slots, alike<lowp::bfloat16>,
                      slots<lowp::float8_e5m2fnuz, float, lowp::float4_e2m1fn>,
                      slots<lowp::float8_e4m3fn, lowp::float6_e3m2fn, float>,
                      alike<lowp::float8_e4m3fn>, slots<lowp::float8_e3m4, lowp::float16, float>,
                      slots<lowp::float4_e2m1fn, lowp::float6_e3m2fn, lowp::float8_e4m3>,
                      slots<lowp::float6_e3m2fn, lowp::float8_e8m0fnu, lowp::float6_e2m3fn>,
                      slots<lowp::float8_e4m3b11fnuz, lowp::float8_ue5m3, lowp::float8_e4m3fnuz>>>;

constexpr double max = std::numeric_limits<float>::max();
constexpr double tiny = std::numeric_limits<double>::denorm_min();
constexpr std::array settings{
    lowp::sgd{.lr = 0.1}, lowp::sgd{.lr = 0.01, .momentum = 0.9},
    lowp::sgd{.lr = 0.01, .momentum = 0.9, .nesterov = true},
    lowp::sgd{.lr = 0.3, .momentum = 0.8, .dampening = 0.25},
    lowp::sgd{.lr = 0.3, .momentum = 0.8, .dampening = -1.5, .nesterov = true},
    lowp::sgd{.lr = 1, .momentum = 1, .dampening = 1},
    // Rounded to float first, these would leave another difference from 1.
    lowp::sgd{.lr = 0.1, .momentum = 0.9, .dampening = 0.999},
    lowp::sgd{.lr = 0.1, .momentum = 0.9, .dampening = 1 + 1e-9},
    lowp::sgd{.lr = 0.1, .weight_decay = 0.01},
    lowp::sgd{.lr = 0.1, .momentum = 0, .dampening = 0.5, .weight_decay = 0.3, .nesterov = true},
    lowp::sgd{.lr = 0.1, .momentum = 0.99, .dampening = 0.1, .weight_decay = 0.7, .nesterov = true},
    lowp::sgd{.lr = 0, .momentum = 3, .weight_decay = 2},
    lowp::sgd{.lr = 1e38, .momentum = 1e38, .dampening = -1e38, .weight_decay = 1e38},
    lowp::sgd{.lr = max, .momentum = max, .dampening = max, .weight_decay = max},
    lowp::sgd{.lr = tiny, .momentum = tiny, .dampening = tiny, .weight_decay = tiny},
    lowp::sgd{.lr = 1e-40, .momentum = 1e-41, .weight_decay = 1e-39, .nesterov = true},
    lowp::sgd{.lr = 0.1, .momentum = -0.0, .weight_decay = -0.0}};

template <class Slots, class Rounding>
void check(std::uint64_t seed, std::size_t size, lowp::sgd const& s, std::uint64_t step,
           Rounding const& rounding, slot_modes const& modes, maybe_policy const& policy) {
  values const kind = seed % 2 == 0 ? values::corners : values::training;
  tensor p = random_tensor<typename Slots::P>(size, 3 * seed, kind);
  tensor g = random_tensor<typename Slots::G>(size, 3 * seed + 1, kind);
  tensor m = random_tensor<typename Slots::M>(size, 3 * seed + 2, kind, 0.1);
  guarded<typename Slots::P> mine_p(p, seed % 5);
  guarded<typename Slots::P> other_p(p, seed % 3);
  guarded<typename Slots::G> mine_g(g, seed % 7);
  guarded<typename Slots::M> mine_m(m, seed % 4);
  if (policy)
    lowp::update(mine_p.span(), mine_g.span(), mine_m.span(), s, step, rounding, policy->overflow);
  else
    lowp::update(mine_p.span(), mine_g.span(), mine_m.span(), s, step, rounding);
  oracle_update(p, g, m, s, step, modes, policy);
  EXPECT_TRUE(mine_p.holds(p, "p"));
  EXPECT_TRUE(mine_g.holds(g, "g"));
  EXPECT_TRUE(mine_m.holds(m, "momentum"));

  if (s.momentum != 0) return;
  if (policy)
    lowp::update(other_p.span(), mine_g.span(), s, step, rounding, policy->overflow);
  else
    lowp::update(other_p.span(), mine_g.span(), s, step, rounding);
  EXPECT_TRUE(other_p.holds(p, "p, no momentum given,"));
}

template <class Slots>
class sgd : public testing::Test {};
struct by_slots {
  template <class Slots>
  static std::string GetName(int) {
    std::string name;
    for (char const* part :
         {"p_", slot_facts<typename Slots::P>().name, "_g_", slot_facts<typename Slots::G>().name,
          "_m_", slot_facts<typename Slots::M>().name})
      name += part;
    return name;
  }
};
TYPED_TEST_SUITE(sgd, combinations, by_slots);

TYPED_TEST(sgd, each_slot_has_the_bits_of_the_exact_sequence) {
  std::mt19937_64 random(42);
  for (std::uint64_t i = 0; i < 1200 && !this->HasFailure(); ++i) {
    auto const step = steps[i / 3 % steps.size()];
    auto const& policy = maybe_policies[i / 2 % 3];
    slot_modes const modes = random_modes(random);
    SCOPED_TRACE("case " + std::to_string(i) + ", step " + std::to_string(step) + ", settings " +
                 std::to_string(i % settings.size()) + (policy ? policy->name : ""));
    check<TypeParam>(i, lengths[i / 5 % lengths.size()], settings[i % settings.size()], step,
                     modes.library(), modes, policy);
  }
}

// adamw_test has the other modes.
template <class Slots>
void check_plain_modes() {
  for_each_rounding<modes::two>(
      [&](auto const& rounding, slot_modes const& modes, char const* name) {
        for (std::uint64_t i = 0; i < 150 && !testing::Test::HasFailure(); ++i) {
          SCOPED_TRACE(std::string(name) + ", case " + std::to_string(i));
          check<Slots>(i, lengths[i / 3 % lengths.size()], settings[i % settings.size()],
                       steps[i / 7 % steps.size()], rounding, modes, maybe_policies[i / 2 % 3]);
        }
      });
}
TEST(sgd_rounding, one_mode_serves_all_slots) { check_plain_modes<mixed_slots>(); }
TEST(sgd_rounding, floats_are_stored_as_they_are) { check_plain_modes<alike<float>>(); }

TEST(sgd_lengths, every_length_to_300) {
  lowp::sgd const s{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01, .nesterov = true};
  for (std::size_t size = 0; size <= 300 && !HasFailure(); ++size) {
    SCOPED_TRACE(size);
    std::mt19937_64 random(size);
    slot_modes const modes = random_modes(random);
    check<mixed_slots>(size, size, s, size + 1, modes.library(), modes, std::nullopt);
  }
}

// Signalling NaNs and -0 would show any load and store of the range.
TEST(sgd_momentum, is_not_touched_when_it_is_0) {
  std::vector<float> p(41, 1.0f);
  std::vector<float> const g(41, 0.5f);
  std::vector<lowp::float16> momentum(41, lowp::float16::from_bits(0x7c01));
  lowp::update(p, g, momentum, lowp::sgd{.lr = 0.5}, 1);
  for (lowp::float16 const x : momentum) EXPECT_EQ(x.bits(), 0x7c01);
  for (float const x : p) EXPECT_EQ(x, 0.75f);
}

// Only the first step starts the buffer from the gradient, without dampening.
TEST(sgd_momentum, starts_at_step_1) {
  lowp::sgd const s{.lr = 1, .momentum = 0.5, .dampening = 0.75};
  std::vector<float> p(1, 1.0f);
  std::vector<float> momentum(1, 1024.0f);
  std::vector<float> const g(1, 4.0f);
  lowp::update(p, g, momentum, s, 1);
  EXPECT_EQ(momentum[0], 4.0f);
  EXPECT_EQ(p[0], -3.0f);
  lowp::update(p, g, momentum, s, 2);
  EXPECT_EQ(momentum[0], 3.0f);
  EXPECT_EQ(p[0], -6.0f);
}

}  // namespace
