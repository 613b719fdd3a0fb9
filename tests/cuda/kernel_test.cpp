// SPDX-License-Identifier: Apache-2.0
// The GPU's kernel without a GPU, against the oracle: every operation, and casts of every format.
// It runs at ragged lengths, misaligned, between guard pages, for several shapes of the grid, with
// and without converting instructions.
#include <gtest/gtest.h>
#include <lowp/lowp.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "simulated_grid.hpp"
#include "support/guarded_pages.hpp"
#include "support/parts.hpp"

namespace {

using namespace lowp_test;

// By default those with instructions, and one that the codec converts as it does on a processor.
using cast_formats = some_or_all<
    testing::Types<lowp::bfloat16, lowp::float8_e4m3fn, lowp::float16, lowp::float8_e8m0fnu>,
    all_formats>;
template <class T>
class cuda_kernel : public testing::Test {};
TYPED_TEST_SUITE(cuda_kernel, part_of<cast_formats>::type, by_format);

constexpr std::size_t longest = 150;

using grid_with_whole_tiles = grid_with<documented_conversions, text_of_whole_tiles>;

template <class Grid>
lowp::cuda::on_grid<Grid> on(Grid& grid) {
  return {grid};
}

// Calls body(grid, place) for blocks of one thread and of four, whose tiles have 8 to 128 elements;
// for as many blocks as tiles, or fewer; for lengths around every multiple of a group. The leads
// put elements of every size on 16 bytes, on 4 only, and on no more than their own.
void for_each_launch(std::function<void(grid_with_whole_tiles&, place const&)> const& body) {
  int turn = 0;
  for (unsigned const threads : {1U, 4U}) {
    for (std::uint64_t const blocks : {std::uint64_t{1}, std::uint64_t{3}, ~std::uint64_t{0}}) {
      for (std::size_t size = 0; size <= longest; size += size < 40 ? 1 : 7) {
        std::array<std::size_t, 5> const leads{0, 1, 2, 4, 8};
        grid_with_whole_tiles grid(threads, blocks);
        body(grid, place{size, false, leads[static_cast<std::size_t>(turn++) % leads.size()]});
        body(grid, place{size, true, 0});
      }
    }
  }
}

// A mode for every shift of a group of elements against the blocks of random bits. The index of
// another mode passes 2^64.
std::vector<slot_mode> stochastic_modes() {
  std::vector<slot_mode> all;
  for (std::uint64_t shift = 0; shift < 8; ++shift)
    all.push_back({oracle::mode::stochastic, 5, 6, (std::uint64_t{1} << 40) + shift});
  all.push_back({oracle::mode::stochastic, 7, 8, std::uint64_t{0} - 13});
  return all;
}
lowp::stochastic library(slot_mode const& mode) { return {mode.seed, mode.stream, mode.offset}; }

template <lowp::element From, lowp::element To, class R>
void expect_cast(R const& rounding, slot_mode const& mode, maybe_policy const& policy) {
  tensor const in = random_tensor<From>(longest, 1, values::corners);
  tensor want{slot_facts<To>(), in.codes};
  for (std::size_t i = 0; i < longest; ++i)
    want.codes[i] =
        std::same_as<To, float>
            ? in.value(i)
            : oracle::encode(want.format, oracle::decode(in.format, in.codes[i]), mode.mode,
                             policy_for(want.format, policy), mode.random(i, 0));
  guarded_pages<From> source;
  guarded_pages<To> target;
  for_each_launch([&](auto& grid, place const& executor) {
    auto const from = source.put(in, executor);
    auto const to = target.put(want, executor);
    for (To& x : to) x = slot_value<To>(1);
    lowp::overflow const overflow = policy ? policy->overflow : lowp::default_overflow<To>;
    ASSERT_EQ(refusal_of<lowp::detail::cast_operation>(on(grid), from, to, rounding, overflow), "");
    ASSERT_TRUE(target.holds(want, "out"));
    ASSERT_TRUE(source.holds(in, "in"));
  });
}

TYPED_TEST(cuda_kernel, cast_from_float) {
  constexpr bool has_every_mode =
      std::same_as<TypeParam, lowp::float8_e4m3fn> || (tests_all && sizeof(TypeParam) == 2);
  for_each_rounding<has_every_mode ? modes::all : modes::two>(
      [](auto const& rounding, slot_modes const& mode, char const* name) {
        for (named_policy const& policy : policies) {
          SCOPED_TRACE(std::string(name) + ", " + policy.name);
          expect_cast<float, TypeParam>(rounding, mode.param, policy);
        }
      });
}

TYPED_TEST(cuda_kernel, cast_from_float_at_every_offset) {
  for (slot_mode const& mode : stochastic_modes()) {
    SCOPED_TRACE(mode.offset);
    expect_cast<float, TypeParam>(library(mode), mode, {});
  }
  for (slot_mode mode : stochastic_modes()) {
    mode.by = oracle::generator::keyed;
    expect_cast<float, TypeParam>(lowp::stochastic_fast{mode.seed, mode.stream, mode.offset}, mode,
                                  {});
  }
}

TYPED_TEST(cuda_kernel, cast_to_float) {
  expect_cast<TypeParam, float>(lowp::nearest_even{}, {}, {});
}

TYPED_TEST(cuda_kernel, cast_in_place) {
  using T = partner<TypeParam>;
  tensor const in = random_tensor<TypeParam>(longest, 3, values::corners);
  tensor want{facts<T>, in.codes};
  for (std::size_t i = 0; i < longest; ++i)
    want.codes[i] = oracle::encode(facts<T>, oracle::decode(in.format, in.codes[i]),
                                   oracle::mode::nearest_even, oracle::default_policy(facts<T>));
  guarded_pages<T> storage;
  for_each_launch([&](auto& grid, place const& executor) {
    auto const to = storage.put({facts<T>, in.codes}, executor);
    std::span const from(reinterpret_cast<TypeParam const*>(to.data()), to.size());
    ASSERT_EQ(refusal_of<lowp::detail::cast_operation>(on(grid), from, to), "");
    ASSERT_TRUE(storage.holds(want, "storage"));
  });
}

template <lowp::narrow T, lowp::element U, class R>
void expect_fused_add(R const& rounding, slot_mode const& mode) {
  tensor const before = random_tensor<T>(longest, 4, values::corners);
  tensor const u = random_tensor<U>(longest, 5, values::corners);
  tensor want = before;
  oracle_fused_add(want, -0.37f, u, mode, {});
  guarded_pages<T> p;
  guarded_pages<U> addend;
  for_each_launch([&](auto& grid, place const& executor) {
    auto const from = addend.put(u, executor);
    auto const to = p.put(before, executor);
    ASSERT_EQ(refusal_of<lowp::detail::fused_add_operation>(on(grid), to, -0.37f, from, rounding),
              "");
    ASSERT_TRUE(p.holds(want, "p"));
  });
}

// Each kernel has three widths of access. What these add to casts depends on no format.
template <class T>
class cuda_steps : public testing::Test {};
using stepped_formats = first_or_all<
    2, testing::Types<lowp::bfloat16, lowp::float8_e4m3fn, lowp::float16, lowp::float8_e8m0fnu>>;
TYPED_TEST_SUITE(cuda_steps, part_of<stepped_formats>::type, by_format);

TYPED_TEST(cuda_steps, fused_add) {
  for_each_rounding<modes::two>([](auto const& rounding, slot_modes const& mode, char const* name) {
    SCOPED_TRACE(name);
    expect_fused_add<TypeParam, float>(rounding, mode.param);
  });
}

TYPED_TEST(cuda_steps, scaled_cast) {
  using T = TypeParam;
  tensor const in = random_tensor<lowp::bfloat16>(longest, 6, values::corners);
  for_each_rounding<modes::two>([&](auto const& rounding, slot_modes const& mode,
                                    char const* name) {
    SCOPED_TRACE(name);
    tensor want{facts<T>, in.codes};
    for (std::size_t i = 0; i < longest; ++i)
      store(want, i, oracle::f32_mul(in.value(i), float_bits(1.7f)), mode.param, 0, {});
    guarded_pages<lowp::bfloat16> source;
    guarded_pages<T> target;
    for_each_launch([&](auto& grid, place const& executor) {
      auto const from = source.put(in, executor);
      auto const to = target.put(want, executor);
      for (T& x : to) x = slot_value<T>(1);
      ASSERT_EQ(refusal_of<lowp::detail::scaled_cast_operation>(on(grid), from, to, 1.7f, rounding),
                "");
      ASSERT_TRUE(target.holds(want, "out"));
    });
  });
}

// A mode, seed and stream for each slot. The second slot alone has an offset that is a multiple of
// 8.
slot_modes modes_of(oracle::mode mode) {
  return {{mode, 11, 12, 3}, {oracle::mode::stochastic, 13, 14, 16}, {mode, 15, 16, 5}};
}

// A step of an optimizer with one moment, on every launch. The moment has the parameter's type.
template <class P, class G, class Optimizer>
void expect_step(Optimizer const& settings, oracle::mode mode) {
  tensor const params = random_tensor<P>(longest, 7, values::corners);
  tensor const gradients = random_tensor<G>(longest, 8, values::corners);
  tensor const momenta = random_tensor<P>(longest, 9, values::corners);
  guarded_pages<P> p, m;
  guarded_pages<G> g;
  slot_modes const modes = modes_of(mode);
  tensor want = params;
  tensor want_m = momenta;
  oracle_update(want, gradients, want_m, settings, 2, modes, {});
  for_each_launch([&](auto& grid, place const& executor) {
    auto const to = p.put(params, executor);
    auto const gradient = g.put(gradients, executor);
    auto const buffer = m.put(momenta, executor);
    ASSERT_EQ(refusal_of<lowp::detail::update_operation>(on(grid), to, gradient, buffer, settings,
                                                         2, modes.library()),
              "");
    ASSERT_TRUE(p.holds(want, "p"));
    ASSERT_TRUE(m.holds(want_m, "momentum"));
  });
}

TYPED_TEST(cuda_steps, sgd) {
  lowp::sgd const settings{
      .lr = 0.3, .momentum = 0.9, .dampening = 0.1, .weight_decay = 0.02, .nesterov = true};
  for (oracle::mode const mode : {oracle::mode::nearest_even, oracle::mode::upward})
    expect_step<slot<TypeParam>, TypeParam>(settings, mode);
}

TYPED_TEST(cuda_steps, adamw) {
  using T = slot<TypeParam>;
  tensor const params = random_tensor<T>(longest, 10, values::corners);
  tensor const gradients = random_tensor<float>(longest, 11, values::corners);
  tensor const firsts = random_tensor<float>(longest, 12, values::training);
  tensor const seconds = random_tensor<T>(longest, 13, values::corners);
  guarded_pages<T> p;
  guarded_pages<float> g;
  guarded_pages<float> m;
  guarded_pages<T> v;
  for (oracle::mode const mode : {oracle::mode::nearest_even, oracle::mode::stochastic}) {
    slot_modes const modes = modes_of(mode);
    tensor want = params;
    tensor want_m = firsts;
    tensor want_v = seconds;
    oracle_update(want, gradients, want_m, want_v, lowp::adamw{}, 5, modes, {});
    for_each_launch([&](auto& grid, place const& executor) {
      auto const to = p.put(params, executor);
      auto const gradient = g.put(gradients, executor);
      auto const first = m.put(firsts, executor);
      auto const second = v.put(seconds, executor);
      ASSERT_EQ(refusal_of<lowp::detail::update_operation>(on(grid), to, gradient, first, second,
                                                           lowp::adamw{}, 5, modes.library()),
                "");
      ASSERT_TRUE(p.holds(want, "p"));
      ASSERT_TRUE(m.holds(want_m, "m"));
      ASSERT_TRUE(v.holds(want_v, "v"));
    });
  }
}

#if PART == 0
TEST(cuda_kernel_operands, of_narrow_formats) {
  expect_cast<lowp::bfloat16, lowp::float8_e4m3fn>(lowp::nearest_even{}, {}, {});
  expect_cast<lowp::float8_e4m3fn, lowp::float16>(lowp::nearest_even{}, {}, {});
  expect_cast<lowp::float8_e4m3fn, lowp::float8_e5m2>(lowp::nearest_even{}, {}, {});
}

TEST(cuda_kernel_operands, of_one_type) {
  expect_fused_add<lowp::bfloat16, lowp::bfloat16>(lowp::nearest_even{}, {});
  expect_fused_add<lowp::float8_e4m3fn, lowp::float8_e4m3fn>(lowp::nearest_even{}, {});
}

TEST(cuda_kernel_operands, of_lion) {
  expect_step<lowp::bfloat16, float>(lowp::lion{.lr = 0.3, .weight_decay = 0.02},
                                     oracle::mode::nearest_even);
}

// If a GPU has no instruction, the codec converts.
TEST(cuda_conversions, may_be_missing) {
  tensor const in = random_tensor<float>(longest, 1, values::corners);
  std::vector<float> from;
  for (std::uint32_t const code : in.codes) from.push_back(float_of(code));
  std::vector<lowp::bfloat16> to(longest);
  std::vector<lowp::bfloat16> want(longest);
  simulated_grid_without_conversions grid(4);
  ASSERT_EQ(refusal_of<lowp::detail::cast_operation>(on(grid), from, to), "");
  lowp::cast(from, want);
  for (std::size_t i = 0; i < longest; ++i) ASSERT_EQ(to[i].bits(), want[i].bits()) << i;
}

TEST(cuda_conversions, are_used) {
  documented_conversions::used = 0;
  expect_cast<float, lowp::float8_e4m3fn>(lowp::nearest_even{}, {}, {});
  EXPECT_NE(documented_conversions::used, 0U);
}

// Numbers of one digit take the addition that rounds values in range, too.
TEST(cuda_conversions, of_powers_of_two_with_zero) {
  slot_mode const mode = stochastic_modes()[0];
  expect_cast<float, binary6p1se>(library(mode), mode, policies[0]);
}

// All floats, as a kernel that has converting instructions converts them: the instructions get what
// they are right for, and the codec the rest.
template <class T>
class cuda_conversions_of : public testing::Test {};
using convertible =
    testing::Types<lowp::bfloat16, lowp::float16, lowp::float8_e4m3fn, lowp::float8_e5m2>;
TYPED_TEST_SUITE(cuda_conversions_of, convertible, by_format);

TYPED_TEST(cuda_conversions_of, floats_with_every_leading_half) {
  using T = TypeParam;
  std::vector<float> in(8);
  std::vector<T> out(8);
  std::vector<T> want(8);
  simulated_grid grid(1);
  for (std::uint32_t high = 0; high < 0x10000; ++high) {
    std::array<std::uint32_t, 8> const lows{0, 1, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff, 0x1234};
    for (std::size_t i = 0; i < 8; ++i) in[i] = float_of(high << 16 | lows[i]);
    for (named_policy const& policy : policies) {
      lowp::cast(in, want, lowp::nearest_even{}, policy.overflow);
      ASSERT_EQ(refusal_of<lowp::detail::cast_operation>(on(grid), in, out, lowp::nearest_even{},
                                                         policy.overflow),
                "");
      for (std::size_t i = 0; i < 8; ++i)
        ASSERT_EQ(out[i].bits(), want[i].bits()) << high << ' ' << i;
    }
  }
}
#endif

}  // namespace
