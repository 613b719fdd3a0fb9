// SPDX-License-Identifier: Apache-2.0
// Arguments in device memory: the bits of the same arguments by value; and what a grid refuses.
#include <gtest/gtest.h>
#include <lowp/cuda/list.hpp>
#include <lowp/cuda/replay.hpp>
#include <lowp/lowp.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "simulated_grid.hpp"
#include "train/update/support.hpp"

namespace {

using namespace lowp_test;
using lowp::bfloat16;

constexpr std::size_t size = 150;

lowp::cuda::on_grid<simulated_grid> on(simulated_grid& grid) { return {grid}; }
lowp::cuda::at_stored_step stored(lowp::cuda::step_state const& state) { return {&state}; }

template <lowp::element T>
std::vector<T> numbers(std::uint64_t seed, double scale) {
  tensor const t = random_tensor<T>(size, seed, values::training, scale);
  std::vector<T> x(size);
  for (std::size_t i = 0; i < size; ++i) x[i] = slot_value<T>(t.codes[i]);
  return x;
}

struct adamw_state {
  std::vector<bfloat16> p = numbers<bfloat16>(1, 1), g = numbers<bfloat16>(2, 0.1);
  std::vector<float> m = std::vector<float>(size), v = std::vector<float>(size);
  std::vector<bfloat16> momentum = std::vector<bfloat16>(size);
  bool operator==(adamw_state const&) const = default;
};

// An object in memory, changed between replays as a training loop changes it.
TEST(cuda_replay, of_adamw) {
  adamw_state want;
  adamw_state got;
  lowp::cuda::step_state state{};
  simulated_grid grid(4);
  for (std::uint64_t const step : {1U, 2U, 3U, 1000U}) {
    double const lr = 1e-2 / static_cast<double>(step);
    std::uint64_t const stream = lowp::stream_of(17, 99);
    lowp::update(want.p, want.g, want.m, want.v, lowp::adamw{.lr = lr}, step,
                 lowp::stochastic{.seed = 5, .stream = stream, .offset = 2});
    state = {lr, step, stream};
    ASSERT_EQ(refusal_of<lowp::detail::update_operation>(
                  on(grid), got.p, got.g, got.m, got.v, lowp::adamw{.lr = 123}, stored(state),
                  lowp::stochastic{.seed = 5, .stream = 4, .offset = 2}),
              "");
    ASSERT_TRUE(got == want) << step;
  }
  state.step = 0;  // a step that is skipped
  ASSERT_EQ(refusal_of<lowp::detail::update_operation>(
                on(grid), got.p, got.g, got.m, got.v, lowp::adamw{.lr = 123}, stored(state),
                lowp::stochastic{.seed = 5, .stream = 4, .offset = 2}),
            "");
  EXPECT_TRUE(got == want);
}

TEST(cuda_replay, of_sgd_with_a_mode_for_each_slot) {
  adamw_state want;
  adamw_state got;
  simulated_grid grid(4);
  lowp::sgd const settings{.lr = 0.1, .momentum = 0.9};
  for (std::uint64_t const step : {1U, 2U, 3U}) {
    lowp::cuda::step_state const state{0.1, step, lowp::stream_of(8, 0)};
    auto const modes = [&](std::uint64_t stream) {
      return lowp::per_slot{.param = lowp::stochastic{.seed = 1, .stream = stream},
                            .first = lowp::upward{}};
    };
    lowp::update(want.p, want.g, want.momentum, settings, step, modes(lowp::stream_of(8, 0)));
    ASSERT_EQ(refusal_of<lowp::detail::update_operation>(on(grid), got.p, got.g, got.momentum,
                                                         settings, stored(state), modes(0)),
              "");
    ASSERT_TRUE(got == want) << step;
  }
}

TEST(cuda_replay, of_a_list_gives_each_tensor_its_stream) {
  std::vector<float> const before(16, 1.0f);
  std::vector<bfloat16> a(16, bfloat16(1.0f)), b(16, bfloat16(1.0f)), want(16, bfloat16(1.0f));
  std::vector<float> const g(16, 0.3f);
  std::vector<lowp::cuda::sgd_tensor<bfloat16, float>> const list{{a, g}, {b, g}};
  lowp::cuda::step_state const state{1e-2, 7, lowp::stream_of(3, 0)};
  simulated_grid grid(2);
  ASSERT_TRUE(
      lowp::cuda::run_list(grid, "update", list, 0, [&](auto const& executor, auto const& t) {
        using on_executor = std::remove_cvref_t<decltype(executor)>;
        lowp::detail::update_operation<on_executor>{{executor}}(
            t.p, t.g, lowp::sgd{.lr = 1}, stored(state), lowp::stochastic{.seed = 1});
      }).empty());
  lowp::update(want, g, lowp::sgd{.lr = 1e-2}, 7,
               lowp::stochastic{.seed = 1, .stream = lowp::stream_of(4, 0)});
  EXPECT_EQ(b, want);
  EXPECT_NE(a, b);
}

TEST(cuda_replay, of_fused_add_and_casts) {
  std::vector<bfloat16> want = numbers<bfloat16>(1, 1);
  std::vector<bfloat16> got = want;
  std::vector<float> const u = numbers<float>(2, 1);
  lowp::stochastic const mode{.seed = 3, .stream = 4, .offset = 5};
  float const alpha = 0.01f;
  simulated_grid grid(4);
  lowp::fused_add(want, alpha, u, mode);
  ASSERT_EQ(
      refusal_of<lowp::detail::fused_add_operation>(
          on(grid), got, lowp::cuda::stored_number{&alpha}, u, lowp::cuda::stored_rounding{&mode}),
      "");
  EXPECT_EQ(got, want);

  lowp::cast(u, want, mode);
  ASSERT_EQ(refusal_of<lowp::detail::cast_operation>(on(grid), u, got,
                                                     lowp::cuda::stored_rounding{&mode}),
            "");
  EXPECT_EQ(got, want);

  lowp::scaled_cast(u, want, alpha, mode);
  ASSERT_EQ(
      refusal_of<lowp::detail::scaled_cast_operation>(
          on(grid), u, got, lowp::cuda::stored_number{&alpha}, lowp::cuda::stored_rounding{&mode}),
      "");
  EXPECT_EQ(got, want);
}

TEST(cuda_refusal, names_what_the_device_cannot_reach) {
  adamw_state state;
  simulated_grid grid(4);
  grid.out_of_reach = state.m.data();
  EXPECT_EQ(refusal_of<lowp::detail::update_operation>(on(grid), state.p, state.g, state.m, state.v,
                                                       lowp::adamw{}, 1),
            "update: m is far away");
  lowp::update_report report;
  grid.out_of_reach = &report;
  EXPECT_EQ(
      refusal_of<lowp::detail::update_operation>(on(grid), state.p, state.g, state.m, state.v,
                                                 lowp::adamw{}, 1, lowp::nearest_even{}, report),
      "");
  EXPECT_EQ(grid.refused, "the report is far away");
  lowp::cuda::step_state const unread{};
  grid.refused.clear();
  grid.out_of_reach = &unread;
  EXPECT_EQ(refusal_of<lowp::detail::update_operation>(on(grid), state.p, state.g, state.m, state.v,
                                                       lowp::adamw{}, stored(unread)),
            "");
  EXPECT_EQ(grid.refused, "an argument in device memory is far away");
  std::vector<bfloat16> high(8);
  std::vector<std::uint16_t> low(8);
  std::vector<float> x(8);
  grid.out_of_reach = low.data();
  EXPECT_EQ(refusal_of<lowp::detail::fused_add_operation>(on(grid), lowp::split_master{high, low},
                                                          1.0f, x),
            "fused_add: p.low is far away");
  EXPECT_EQ(refusal_of<lowp::detail::split_operation>(on(grid), x, high, low),
            "split: low is far away");
  EXPECT_EQ(refusal_of<lowp::detail::join_operation>(on(grid), high, low, x),
            "join: low is far away");
  EXPECT_EQ(grid.launches, 0);
  EXPECT_TRUE(state == adamw_state());
}

TEST(cuda_refusal, names_null_pointers_and_misaligned_ranges) {
  std::vector<float> const x(8);
  std::vector<bfloat16> y(9);
  simulated_grid grid(4);
  EXPECT_EQ(
      refusal_of<lowp::detail::cast_operation>(
          on(grid), std::span<float const>(static_cast<float*>(nullptr), 8), std::span(y).first(8)),
      "cast: in is a null pointer");
  auto* const odd = reinterpret_cast<bfloat16*>(reinterpret_cast<unsigned char*>(y.data()) + 1);
  EXPECT_EQ(refusal_of<lowp::detail::cast_operation>(on(grid), x, std::span(odd, 8)),
            "cast: out is not aligned to its elements of 2 bytes: cudaMemcpy copies it to an "
            "aligned address");
  EXPECT_EQ(refusal_of<lowp::detail::fused_add_operation>(on(grid), std::span(y).first(8),
                                                          lowp::cuda::stored_number{nullptr}, x),
            "");
  EXPECT_EQ(grid.refused, "an argument in device memory is a null pointer");
  EXPECT_EQ(refusal_of<lowp::detail::fused_add_operation>(
                on(grid), std::span(y).first(8),
                lowp::cuda::stored_number{reinterpret_cast<float const*>(odd)}, x),
            "");
  EXPECT_EQ(grid.refused,
            "an argument in device memory is not aligned to 4 bytes: cudaMemcpy copies it to an "
            "aligned address");
  EXPECT_EQ(grid.launches, 0);
  EXPECT_EQ(refusal_of<lowp::detail::cast_operation>(on(grid), std::span<float const>(),
                                                     std::span<bfloat16>()),
            "");
}

}  // namespace
