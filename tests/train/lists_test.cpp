// SPDX-License-Identifier: Apache-2.0
// A call for a list of tensors gives each the bits of a call of its own, or writes nothing.
#include <gtest/gtest.h>
#include <lowp/lowp.hpp>
#if defined(_OPENMP)
#include <lowp/openmp.hpp>
#endif

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/refusals.hpp"

namespace {

using lowp::bfloat16;
using lowp_test::refusal_of;

struct state {
  std::vector<bfloat16> p;
  std::vector<float> g, m, v;

  explicit state(std::size_t size) : p(size), g(size), m(size), v(size) {
    for (std::size_t i = 0; i < size; ++i) {
      p[i] = bfloat16(1 + static_cast<float>(i % 7));
      g[i] = 0.001f * static_cast<float>(i % 11) - 0.004f;
    }
  }
  bool operator==(state const&) const = default;
};

std::vector<state> states() { return {state(40000), state(3), state(0), state(257)}; }

using adamw_list = std::vector<lowp::adamw_tensor<bfloat16, float, float, float>>;
adamw_list list_of(std::vector<state>& all) {
  adamw_list list;
  for (state& s : all) list.push_back({s.p, s.g, s.m, s.v});
  return list;
}

constexpr lowp::stochastic mode{.seed = 3, .stream = lowp::stream_of(5, 0)};

template <class Update>
void expect_the_same(Update const& update) {
  std::vector<state> want = states();
  std::vector<state> got = states();
  std::vector<lowp::update_report> expected(want.size());
  std::vector<lowp::update_report> reports(want.size());
  lowp::update_report together;
  for (std::uint64_t const step : {1U, 2U}) {
    for (std::uint32_t i = 0; i < want.size(); ++i)
      lowp::update(want[i].p, want[i].g, want[i].m, want[i].v, lowp::adamw{.lr = 0.01}, step,
                   mode.of_tensor(i), expected[i]);
    if (step == 1)
      update(list_of(got), lowp::adamw{.lr = 0.01}, step, mode, reports);
    else
      update(list_of(got), lowp::adamw{.lr = 0.01}, step, mode, together);
    ASSERT_TRUE(got == want) << step;
  }
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_EQ(reports[i].count, want[i].p.size());
  EXPECT_EQ(together.count, 40260U);
}

TEST(lists, of_adamw_have_the_bits_of_single_calls) {
  expect_the_same(lowp::update);
#if defined(_OPENMP)
  expect_the_same(lowp::openmp::update);
#endif
}

TEST(lists, of_sgd_and_fused_add_have_the_bits_of_single_calls) {
  std::vector<state> want = states();
  want.resize(600, state(9));
  std::vector<state> got = want;
  std::vector<lowp::sgd_tensor<bfloat16, float>> plain;
  std::vector<lowp::momentum_tensor<bfloat16, float, float>> heavy;
  std::vector<lowp::fused_add_tensor<bfloat16, float>> sums;
  for (state& s : got) {
    plain.push_back({s.p, s.g});
    heavy.push_back({s.p, s.g, s.m});
    sums.push_back({s.p, s.g});
  }
  lowp::sgd const settings{.lr = 0.1, .momentum = 0.9};
  lowp::update(plain, lowp::sgd{.lr = 0.1}, 1, mode);
  lowp::update(heavy, settings, 2, mode);
  lowp::fused_add(sums, -0.5f, mode);
  for (std::size_t i = 0; i < want.size(); ++i) {
    state& s = want[i];
    lowp::stochastic const own{.seed = 3, .stream = (5 + std::uint64_t{i}) << 32};
    lowp::update(s.p, s.g, lowp::sgd{.lr = 0.1}, 1, own);
    lowp::update(s.p, s.g, s.m, settings, 2, own);
    lowp::fused_add(s.p, -0.5f, s.g, own);
    ASSERT_EQ(got[i], s) << i;
  }
  EXPECT_NE(got[300].p, got[300 + 256].p);
}

// Each tensor draws as a single call whose streams have the tensor's number added, in every slot.
TEST(lists, give_each_tensor_its_own_bits_in_every_slot) {
  struct narrow_state {
    std::vector<bfloat16> p = std::vector(60, bfloat16(1)), m = p, v = p;
    std::vector<float> g = std::vector<float>(60, 0.01f);
    bool operator==(narrow_state const&) const = default;
  };
  auto const modes = [](std::uint64_t tensor) {
    auto const random = [&](std::uint64_t seed, std::uint64_t first) {
      return lowp::stochastic{.seed = seed, .stream = (first + tensor) << 32};
    };
    return std::array{lowp::per_slot{.param = random(1, 7), .first = random(2, 0xffffffff)},
                      lowp::per_slot{.first = lowp::upward{}, .second = random(3, 5)}};
  };
  std::vector<narrow_state> want(600);
  std::vector<narrow_state> got(600);
  std::vector<lowp::adamw_tensor<bfloat16, float, bfloat16, bfloat16>> list;
  for (narrow_state& t : got) list.push_back({t.p, t.g, t.m, t.v});
  for (std::size_t const which : {0U, 1U}) {
    lowp::update(list, lowp::adamw{}, 1, modes(0)[which]);
    for (std::size_t i = 0; i < want.size(); ++i)
      lowp::update(want[i].p, want[i].g, want[i].m, want[i].v, lowp::adamw{}, 1, modes(i)[which]);
    EXPECT_TRUE(got == want) << which;
    for (std::size_t const other : {1U, 256U, 512U}) {
      EXPECT_NE(want[0].p, want[other].p);
      EXPECT_NE(want[0].m, want[other].m);
    }
  }
  EXPECT_NE(want[0].v, want[1].v);
}

TEST(lists, have_one_moment_report_for_each_tensor) {
  std::vector<state> want = states();
  std::vector<state> got = want;
  std::vector<lowp::moment_report> expected(want.size()), reports(want.size());
  for (std::uint32_t i = 0; i < want.size(); ++i)
    lowp::update(want[i].p, want[i].g, want[i].m, want[i].v, lowp::adamw{}, 1, mode.of_tensor(i),
                 expected[i]);
  lowp::update(list_of(got), lowp::adamw{}, 1, mode, reports);
  EXPECT_TRUE(got == want);
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(reports[i].count, want[i].p.size());
    EXPECT_EQ(reports[i].second.wished, expected[i].second.wished);
    EXPECT_EQ(reports[i].second.bias(), expected[i].second.bias());
  }
  reports.pop_back();
  EXPECT_EQ(refusal_of([&] { lowp::update(list_of(got), lowp::adamw{}, 2, mode, reports); }),
            "lowp::update: 3 reports for a list of 4 tensors");
  EXPECT_TRUE(got == want);
}

TEST(lists, of_named_spans_have_types_that_can_be_written_down) {
  struct gradients {
    std::vector<bfloat16> x = std::vector(9, bfloat16(2)), y = std::vector(16, bfloat16(2));
    std::vector<lowp::named<bfloat16>> list{{"x", x}, {"y", y}};
  };
  gradients all;
  EXPECT_EQ(lowp::measure(all.list).norm(), 10);
  EXPECT_EQ(lowp::clip(all.list, 5.0f).norm(), 10);
  EXPECT_EQ(all.x[0], bfloat16(1));
}

// A name outlives the expression: the characters are the caller's.
template <class Name>
constexpr int tensors_named_by =
    requires(std::vector<float>& x) { lowp::fused_add_tensor{x, x, std::declval<Name>()}; } +
    requires(std::vector<float>& x) { lowp::sgd_tensor{x, x, std::declval<Name>()}; } +
    requires(std::vector<float>& x) { lowp::momentum_tensor{x, x, x, std::declval<Name>()}; } +
    requires(std::vector<float>& x) { lowp::adamw_tensor{x, x, x, x, std::declval<Name>()}; };
static_assert(tensors_named_by<std::string&> == 4 && tensors_named_by<std::string const&> == 4 &&
              tensors_named_by<char const (&)[5]> == 4 && tensors_named_by<char const*> == 4 &&
              tensors_named_by<std::string_view> == 4);
static_assert(tensors_named_by<std::string> == 0 && tensors_named_by<std::string const> == 0);

// From vectors, spans and storages; `list` may be any range.
TEST(lists, deduce_their_types) {
  state a(8);
  state b(8);
  std::vector<bfloat16> rest(8);
  std::vector<lowp::float8_e4m3fn> codes(8);
  std::vector<lowp::float8_e8m0fnu> scales(1);
  std::vector const plain{lowp::adamw_tensor{a.p, a.g, a.m, a.v}};
  std::vector const spans{lowp::adamw_tensor{std::span(a.p), std::span<float const>(a.g),
                                             std::span(a.m), std::span(a.v)},
                          lowp::adamw_tensor{b.p, b.g, b.m, b.v, "b"}};
  static_assert(std::same_as<decltype(plain), adamw_list const>);
  static_assert(std::same_as<decltype(spans), adamw_list const>);
  std::array const storages{lowp::adamw_tensor{lowp::kahan{a.p, rest}, a.g,
                                               lowp::blocks_of<32>(codes, scales), a.v, "a"}};
  static_assert(
      std::same_as<decltype(storages)::value_type,
                   lowp::adamw_tensor<lowp::kahan<bfloat16, bfloat16>, float,
                                      lowp::block_scaled<lowp::float8_e4m3fn, 32>, float>>);
  static_assert(std::same_as<decltype(lowp::momentum_tensor{a.p, a.g, a.m}),
                             lowp::momentum_tensor<bfloat16, float, float>>);
  static_assert(
      std::same_as<decltype(lowp::sgd_tensor{a.p, a.g, ""}), lowp::sgd_tensor<bfloat16, float>>);
  static_assert(std::same_as<decltype(lowp::fused_add_tensor{a.p, a.p}),
                             lowp::fused_add_tensor<bfloat16, bfloat16>>);
  // A class writes them down for its members: what is left out follows what stands before it.
  static_assert(std::same_as<lowp::adamw_tensor<bfloat16>,
                             lowp::adamw_tensor<bfloat16, bfloat16, bfloat16, bfloat16>>);
  static_assert(std::same_as<lowp::adamw_tensor<lowp::kahan<bfloat16>, bfloat16, float>,
                             decltype(lowp::adamw_tensor{lowp::kahan{a.p, rest}, rest, a.g, a.g})>);
  static_assert(std::same_as<lowp::momentum_tensor<lowp::master<float, bfloat16>>,
                             decltype(lowp::momentum_tensor{lowp::master{a.g, rest}, rest, rest})>);
  static_assert(
      std::same_as<lowp::sgd_tensor<lowp::split_master<bfloat16, std::uint8_t>>,
                   lowp::sgd_tensor<lowp::split_master<bfloat16, std::uint8_t>, bfloat16>>);
  state const before = b;
  lowp::update(std::span(spans), lowp::adamw{.lr = 0.01}, 1, {});
  EXPECT_NE(a, state(8));
  EXPECT_NE(b, before);
}

TEST(lists, are_refused_before_anything_is_written) {
  std::vector<state> all = states();
  std::vector<state> const before = all;
  adamw_list list = list_of(all);
  list[1].g = list[0].g;
  EXPECT_EQ(refusal_of([&] { lowp::update(list, lowp::adamw{}, 1); }),
            "lowp::update: sizes differ: p has 3, g has 40000, m has 3, v has 3, in tensor 1");
  list = list_of(all);
  list[3].p = std::span(all[0].p).subspan(100, 257);
  EXPECT_EQ(refusal_of([&] { lowp::update(list, lowp::adamw{}, 1); }),
            "lowp::update: tensors 0 and 3 share memory that is written");
  list[3].name = "head";
  EXPECT_EQ(refusal_of([&] { lowp::update(list, lowp::adamw{}, 1); }),
            "lowp::update: tensors 0 and 'head' share memory that is written");
  list = list_of(all);
  EXPECT_EQ(refusal_of([&] { lowp::update(list, lowp::adamw{}, 0); }),
            "lowp::update: adamw: step is 0, and counts from 1");
  std::vector<lowp::update_report> reports(4);
  for (lowp::adamw const& a : {lowp::adamw{.lr = 1e39}, lowp::adamw{.beta2 = 1 - 1e-9},
                               lowp::adamw{.lr = 1e20, .weight_decay = 1e20}}) {
    std::string const text = refusal_of([&] { lowp::update(list, a, 1, mode, reports); });
    EXPECT_NE(text.find(" as a float, not "), std::string::npos) << text;
#if defined(_OPENMP)
    EXPECT_EQ(refusal_of([&] { lowp::openmp::update(list, a, 1, mode, reports); }), text);
#endif
  }
  for (std::size_t const size : {3U, 5U}) {
    reports.resize(size);
    EXPECT_EQ(refusal_of([&] { lowp::update(list, lowp::adamw{}, 1, {}, reports); }),
              "lowp::update: " + std::to_string(size) + " reports for a list of 4 tensors");
  }
  EXPECT_TRUE(all == before);
}

// An empty tensor shares no memory, wherever it lies.
TEST(lists, take_an_empty_tensor_within_another) {
  std::vector<state> all = states();
  adamw_list list = list_of(all);
  list[2].p = std::span(all[0].p).subspan(100, 0);
  EXPECT_EQ(refusal_of([&] { lowp::update(list, lowp::adamw{}, 1); }), "not refused");
}

// Both tensors would write the scales.
TEST(lists, refuse_tensors_that_share_scales) {
  using moment = lowp::block_scaled<lowp::float8_e4m3fn, 128>;
  std::vector<state> all{state(256), state(256)};
  std::vector<lowp::float8_e4m3fn> codes(512);
  std::vector<lowp::float8_e8m0fnu> scales(4, lowp::float8_e8m0fnu(1));
  auto const call = [&](std::size_t first_scale) {
    std::vector<lowp::adamw_tensor<bfloat16, float, moment, float>> list;
    for (std::size_t i = 0; i < 2; ++i)
      list.push_back({all[i].p, all[i].g,
                      lowp::blocks_of<128>(std::span(codes).subspan(256 * i, 256),
                                           std::span(scales).subspan(i * first_scale, 2)),
                      all[i].v});
    return refusal_of([&] { lowp::update(list, lowp::adamw{}, 1); });
  };
  EXPECT_EQ(call(1), "lowp::update: tensors 0 and 1 share memory that is written");
  EXPECT_EQ(call(2), "not refused");
}

// The same refusals follow a call for a tensor without elements.
TEST(lists, without_tensors_have_their_arguments_checked) {
  std::vector<lowp::sgd_tensor<bfloat16, float>> const none;
  std::vector<lowp::fused_add_tensor<bfloat16, float>> const nothing;
  std::vector<lowp::update_report> reports;
  auto const update = [&](double lr, int step) {
    return refusal_of([&] { lowp::update(none, lowp::sgd{.lr = lr}, step, mode, reports); });
  };
  EXPECT_EQ(update(0.1, 0), "lowp::update: sgd: step is 0, and counts from 1");
  EXPECT_EQ(update(std::nan(""), 1), "lowp::update: sgd: lr is nan, not finite and at least 0");
  EXPECT_EQ(update(1e39, 1),
            "lowp::update: sgd: lr is 1e+39, inf as a float, not finite and at least 0");
  EXPECT_EQ(update(0.1, -2),
            "lowp::update: sgd: step is 18446744073709551614, or -2, and counts from 1");
  EXPECT_EQ(update(0.1, 1), "not refused");
  EXPECT_EQ(refusal_of([&] { lowp::fused_add(nothing, std::nanf("")); }),
            "lowp::fused_add: alpha is nan, not finite");
  EXPECT_EQ(refusal_of([&] { lowp::fused_add(nothing, 1e39); }),
            "lowp::fused_add: alpha is 1e+39, inf as a float, not finite");
  EXPECT_EQ(refusal_of([&] { lowp::fused_add(nothing, 1.0f); }), "not refused");
}

}  // namespace
