// SPDX-License-Identifier: Apache-2.0
// Three ways to keep weights: what each costs, and that a step of any leaves what it should.
#include <gtest/gtest.h>
#include <lowp/update.hpp>

#include <cstddef>
#include <span>
#include <stdexcept>
#include <vector>

namespace {

using lowp::bfloat16;

static_assert(lowp::cast_per_use<bfloat16>::bytes == 4);
static_assert(lowp::cast_per_use<bfloat16>::scratch_bytes == 2);
static_assert(lowp::cached_copy<bfloat16>::bytes == 6);
static_assert(lowp::pure<bfloat16>::bytes == 2);
// The usual sums: 16 with fp32 gradients and moments, 18 with a copy, 8 and 6 of bfloat16
// throughout.
static_assert(lowp::bytes_per_parameter<lowp::cast_per_use<bfloat16>, float, float, float> == 16);
static_assert(lowp::bytes_per_parameter<lowp::cached_copy<bfloat16>, float, float, float> == 18);
static_assert(lowp::bytes_per_parameter<lowp::pure<bfloat16>, bfloat16, bfloat16, bfloat16> == 8);
static_assert(lowp::bytes_per_parameter<lowp::pure<bfloat16>, bfloat16, lowp::float16> == 6);

// A second moment that would underflow has to be scaled.
template <class V>
concept can_be_second =
    requires { lowp::bytes_per_parameter<lowp::pure<bfloat16>, bfloat16, bfloat16, V>; };
static_assert(can_be_second<bfloat16> && can_be_second<float>);
static_assert(!can_be_second<lowp::float16> && !can_be_second<lowp::float8_e5m2>);
static_assert(!can_be_second<lowp::float8_e4m3fn> && !can_be_second<lowp::float8_e4m3fnuz>);
static_assert(can_be_second<lowp::scaled<lowp::float16>>);
static_assert(lowp::bytes_per_parameter<lowp::pure<bfloat16>, bfloat16, bfloat16,
                                        lowp::scaled<lowp::float8_e4m3fn>> == 7);

// A set-up counts the bytes of the arrays behind its spans.
TEST(setups, have_the_memory_that_they_say) {
  std::vector<float> w(10);
  std::vector<bfloat16> c(10);
  EXPECT_EQ(std::span(w).size_bytes(), 10 * lowp::cast_per_use<bfloat16>{w}.bytes);
  lowp::cached_copy<bfloat16> const cached{w, c};
  EXPECT_EQ(cached.weights.size_bytes() + cached.copy.size_bytes(), 10 * cached.bytes);
  EXPECT_EQ(std::span(c).size_bytes(), 10 * lowp::pure<bfloat16>{c}.bytes);
}

struct state {
  std::vector<float> g = std::vector(100, 0.5f);
  std::vector<float> m = std::vector(100, 0.0f);
  std::vector<float> v = std::vector(100, 0.0f);

  void step(auto const& setup, std::uint64_t number) {
    lowp::update(setup.storage(), g, m, v, lowp::adamw{.lr = 1e-3}, number,
                 lowp::stochastic{.seed = 4});
  }
};

TEST(setups, cast_and_cached_give_the_same_working_weights) {
  std::vector<float> a(100);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i) / 64 - 0.3f;
  std::vector<float> b = a;
  std::vector<bfloat16> copy(100);
  std::vector<bfloat16> scratch(100);
  lowp::cast_per_use<bfloat16> const cast{a};
  lowp::cached_copy<bfloat16> const cached{b, copy};
  state first;
  state second;
  cached.refresh();
  for (std::uint64_t step = 1; step <= 20; ++step) {
    for (int micro_batch = 0; micro_batch < 3; ++micro_batch) {
      std::span<bfloat16 const> const working = cast.working(scratch);
      for (std::size_t i = 0; i < 100; ++i)
        ASSERT_EQ(working[i].bits(), cached.working()[i].bits());
    }
    lowp::update(cast.storage(), first.g, first.m, first.v, lowp::adamw{.lr = 1e-3}, step);
    lowp::update(cached.storage(), second.g, second.m, second.v, lowp::adamw{.lr = 1e-3}, step);
  }
  EXPECT_EQ(a, b);
}

TEST(setups, all_move_by_the_same_step) {
  std::vector<float> a(100, 1.0f);
  std::vector<float> b(100, 1.0f);
  std::vector<bfloat16> copy(100);
  std::vector<bfloat16> c(100, bfloat16(1.0f));
  auto const mean_after = [](auto const& setup, std::span<bfloat16> scratch) {
    state s;
    for (std::uint64_t step = 1; step <= 50; ++step) s.step(setup, step);
    double sum = 0;
    for (bfloat16 const x : setup.working(scratch)) sum += x;
    return sum / 100;
  };
  std::vector<bfloat16> scratch(100);
  double const exact = 1 - 50 * 1e-3;
  EXPECT_NEAR(mean_after(lowp::cast_per_use<bfloat16>{a}, scratch), exact, 0x1p-8);
  EXPECT_NEAR(mean_after(lowp::cached_copy<bfloat16>{b, copy}, {}), exact, 0x1p-8);
  EXPECT_NEAR(mean_after(lowp::pure<bfloat16>{c}, {}), exact, 0x1p-8);
}

TEST(setups, refuse_scratch_of_another_size) {
  std::vector<float> w(10);
  std::vector<bfloat16> scratch(9);
  try {
    static_cast<void>(lowp::cast_per_use<bfloat16>{w}.working(scratch));
    FAIL() << "too small";
  } catch (std::invalid_argument const& refusal) {
    EXPECT_STREQ(refusal.what(), "lowp::cast: sizes differ: in has 10, out has 9");
  }
}

}  // namespace
