// SPDX-License-Identifier: Apache-2.0
// tree_add: each tensor as the oracle has it alone, with its own stream; refusals name the tensor
// and come before anything is written.
#include <gtest/gtest.h>
#include <lowp/update.hpp>

#include <cfenv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/refusals.hpp"
#include "train/update/support.hpp"

namespace {

using namespace lowp_test;
using lowp::bfloat16;
using lowp::named;

struct model {
  std::vector<guarded<bfloat16>> p;
  std::vector<guarded<float>> u;
  std::vector<tensor> want_p, want_u;

  model() { add({300U, 0U, 17U, 1001U}); }
  void add(std::vector<std::size_t> const& sizes) {
    for (std::size_t const size : sizes) {
      want_p.push_back(random_tensor<bfloat16>(size, size, values::training));
      want_u.push_back(random_tensor<float>(size, size + 1, values::training, 1e-2));
      p.emplace_back(want_p.back(), p.size());
      u.emplace_back(want_u.back(), u.size());
    }
  }
  auto list() {
    std::vector<named<std::span<bfloat16>>> all;
    for (auto& each : p) all.push_back({name_of(all.size()), each.span()});
    return all;
  }
  auto updates() {
    std::vector<named<std::span<float const>>> all;
    for (auto& each : u) all.push_back({name_of(all.size()), each.span()});
    return all;
  }
  static char const* name_of(std::size_t i) { return i < std::size(names) ? names[i] : ""; }
  static constexpr char const* names[] = {"embedding", "none", "norm", "head"};
};

void expect_counts(lowp::update_report const& got, oracle::report const& want) {
  EXPECT_EQ(got.count, want.count);
  EXPECT_EQ(got.stalled, want.stalled);
  EXPECT_EQ(got.overflowed, want.overflowed);
  EXPECT_EQ(got.nonfinite, want.nonfinite);
  EXPECT_NEAR(got.applied_ratio(), want.applied_ratio(), 1e-6);
}

TEST(tree_add, is_fused_add_of_each_with_its_own_stream) {
  for_each_rounding<modes::two>([](auto const& rounding, slot_modes const& modes,
                                   char const* name) {
    SCOPED_TRACE(name);
    model m;
    std::vector<lowp::update_report> reports(4);
    model again;
    lowp::update_report all;
    lowp::tree_add(m.list(), -0.5f, m.updates(), rounding, reports);
    lowp::tree_add(again.list(), -0.5f, again.updates(), rounding, lowp::overflow::infinity, all);
    oracle::report want_all;
    for (std::size_t i = 0; i < 4; ++i) {
      slot_mode mode = modes.param;
      mode.stream += std::uint64_t{i} << 32;
      oracle::report const want = oracle_fused_add(m.want_p[i], -0.5f, m.want_u[i], mode, {});
      EXPECT_TRUE(m.p[i].holds(m.want_p[i], model::names[i]));
      EXPECT_TRUE(again.p[i].holds(m.want_p[i], model::names[i]));
      expect_counts(reports[i], want);
      want_all += want;
    }
    expect_counts(all, want_all);
  });
}

// The numbers of 600 tensors take more than 8 bits.
TEST(tree_add, of_600_tensors_gives_each_its_own_stream) {
  model m;
  m.add(std::vector<std::size_t>(596, 20));
  lowp::stochastic const rounding{.seed = 3, .stream = 7};
  lowp::tree_add(m.list(), -0.5f, m.updates(), rounding);
  for (std::size_t i = 0; i < m.p.size(); ++i) {
    slot_mode const mode{oracle::mode::stochastic, 3, 7 + (std::uint64_t{i} << 32)};
    oracle_fused_add(m.want_p[i], -0.5f, m.want_u[i], mode, {});
    ASSERT_TRUE(m.p[i].holds(m.want_p[i], "tensor")) << i;
  }
}

// 0.1 as a float is above 0.1.
TEST(tree_add, takes_a_double_alike_in_any_rounding_mode) {
  double const volatile alpha = 0.1;
  for (int const mode : {FE_TONEAREST, FE_DOWNWARD}) {
    std::vector<float> p(1), u(1, 1.0f);
    std::vector const model{named{"w", std::span(p)}}, updates{named{"w", std::span(u)}};
    std::fesetround(mode);
    lowp::tree_add(model, alpha, updates);
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(p[0], 0.1f);
  }
}

// A second list begins with the stream after the first one's last.
TEST(tree_add, of_two_lists_is_that_of_one) {
  model one;
  model two;
  lowp::stochastic const rounding{.seed = 9, .stream = lowp::stream_of(7, 3)};
  lowp::tree_add(one.list(), 1.0f, one.updates(), rounding);
  auto const list = two.list();
  auto const updates = two.updates();
  lowp::tree_add(std::span(list).first(3), 1.0f, std::span(updates).first(3), rounding);
  lowp::tree_add(std::span(list).last(1), 1.0f, std::span(updates).last(1), rounding.of_tensor(3));
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < one.p[i].span().size(); ++j)
      ASSERT_EQ(one.p[i].span()[j].bits(), two.p[i].span()[j].bits());
}

TEST(tree_add, takes_any_storage) {
  std::vector<bfloat16> p(9, bfloat16(1));
  std::vector<bfloat16> lost(9, bfloat16(0));
  std::vector<float> const u(9, 0x1p-12f);
  lowp::tree_add(std::vector{named{"w", lowp::kahan{p, lost}}}, 1.0f, std::vector{named{"w", u}});
  EXPECT_EQ(p[8], bfloat16(1));
  EXPECT_EQ(lost[8], bfloat16(0x1p-12f));
}

TEST(tree_add, refuses_before_it_writes_and_names_the_tensor) {
  std::vector<bfloat16> a(4, bfloat16(1));
  std::vector<bfloat16> b(5, bfloat16(1));
  std::vector<float> u(4, 1.0f);
  std::vector<float> v(5, 1.0f);
  auto const add = [&](auto const& model, auto const& updates, auto&&... rest) {
    return refusal_of([&] { lowp::tree_add(model, 1.0f, updates, lowp::nearest_even{}, rest...); });
  };
  std::vector const model{named{"a", a}, named{"b", b}};
  EXPECT_EQ(refusal_of([&] {
              lowp::tree_add(model, HUGE_VALF, std::vector{named{"a", u}, named{"b", v}});
            }),
            "lowp::tree_add: alpha is inf, not finite");
  EXPECT_EQ(
      refusal_of([&] { lowp::tree_add(model, 1e39, std::vector{named{"a", u}, named{"b", v}}); }),
      "lowp::tree_add: alpha is 1e+39, inf as a float, not finite");
  EXPECT_EQ(add(model, std::vector{named{"a", u}}),
            "lowp::tree_add: the model has 2 tensors, the updates have 1");
  EXPECT_EQ(add(model, std::vector{named{"a", u}, named{"c", v}}),
            "lowp::tree_add: tensor 1 is 'b' in the model and 'c' in the updates");
  EXPECT_EQ(add(model, std::vector{named{"a", u}, named{"", u}}),
            "lowp::tree_add: sizes differ: p has 5, u has 4, in tensor 'b'");
  EXPECT_EQ(
      add(std::vector{named{"a", a}, named{"tied", a}}, std::vector{named{"", u}, named{"", u}}),
      "lowp::tree_add: tensors 'a' and 'tied' share memory that is written");
  EXPECT_EQ(add(std::vector{named{"", a}, named{"b", b}}, std::vector{named{"", b}, named{"", b}})
                .find("lowp::tree_add: sizes differ: p has 4, u has 5, in tensor 0"),
            0U);
  std::vector<named<std::span<bfloat16 const>>> const crossed{{"", b}, {"", a}};
  std::vector<bfloat16> c(5, bfloat16(1));
  std::vector<named<std::span<bfloat16>>> const same_sizes{{"c", c}, {"b", b}};
  std::vector<named<std::span<bfloat16 const>>> const swapped{{"", b}, {"", c}};
  EXPECT_EQ(add(same_sizes, swapped),
            "lowp::tree_add: tensors 'c' and 'b' share memory that is written");
  std::vector<lowp::update_report> reports(3);
  EXPECT_EQ(add(model, std::vector{named{"a", u}, named{"b", v}}, reports),
            "lowp::tree_add: 3 reports for a list of 2 tensors");
  EXPECT_EQ(a, std::vector(4, bfloat16(1)));
  EXPECT_EQ(b, std::vector(5, bfloat16(1)));
  EXPECT_EQ(reports[0].count, 0U);
  // Its own update may be a tensor's own storage, and two tensors may share one update.
  EXPECT_EQ(add(std::vector{named{"a", a}}, std::vector{named{"a", a}}), "not refused");
  EXPECT_EQ(add(std::vector{named{"b", b}, named{"c", c}}, std::vector{named{"", v}, named{"", v}}),
            "not refused");
}

}  // namespace
