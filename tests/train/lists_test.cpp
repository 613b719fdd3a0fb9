// SPDX-License-Identifier: Apache-2.0
// A call for a list of tensors gives each the bits of a call of its own, or writes nothing.
#include <gtest/gtest.h>
#include <lowp/lowp.hpp>
#if defined(_OPENMP)
#include <lowp/openmp.hpp>
#endif

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using lowp::bfloat16;

struct state {
  std::vector<bfloat16> p;
  std::vector<float> g, m, v;

  explicit state(std::size_t size) : p(size), g(size), m(size), v(size) {
    for (std::size_t i = 0; i < size; ++i) {
      p[i] = bfloat16(1 + static_cast<float>(i % 7));
      g[i] = 0.001F * static_cast<float>(i % 11) - 0.004F;
    }
  }
  bool operator==(const state&) const = default;
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
void expect_the_same(const Update& update) {
  std::vector<state> want = states();
  std::vector<state> got = states();
  std::vector<lowp::update_report> expected(want.size());
  std::vector<lowp::update_report> reports(want.size());
  lowp::update_report together;
  for (const std::uint64_t step : {1U, 2U}) {
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
  std::vector<state> got = states();
  std::vector<lowp::sgd_tensor<bfloat16, float>> plain;
  std::vector<lowp::momentum_tensor<bfloat16, float, float>> heavy;
  std::vector<lowp::fused_add_tensor<bfloat16, float>> sums;
  for (state& s : got) {
    plain.push_back({s.p, s.g});
    heavy.push_back({s.p, s.g, s.m});
    sums.push_back({s.p, s.g});
  }
  const lowp::sgd settings{.lr = 0.1, .momentum = 0.9};
  lowp::update(plain, lowp::sgd{.lr = 0.1}, 1, mode);
  lowp::update(heavy, settings, 2, mode);
  lowp::fused_add(sums, -0.5F, mode);
  for (std::uint32_t i = 0; i < want.size(); ++i) {
    state& s = want[i];
    lowp::update(s.p, s.g, lowp::sgd{.lr = 0.1}, 1, mode.of_tensor(i));
    lowp::update(s.p, s.g, s.m, settings, 2, mode.of_tensor(i));
    lowp::fused_add(s.p, -0.5F, s.g, mode.of_tensor(i));
  }
  EXPECT_TRUE(got == want);
}

template <class Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "";
}

TEST(lists, are_refused_before_anything_is_written) {
  std::vector<state> all = states();
  const std::vector<state> before = all;
  adamw_list list = list_of(all);
  list[1].g = list[0].g;
  EXPECT_EQ(
      refusal([&] { lowp::update(list, lowp::adamw{}, 1); }),
      "lowp::update: sizes differ: p has 3, g has 40000, m has 3, v has 3, in tensor 1 of the "
      "list");
  list = list_of(all);
  list[3].p = std::span(all[0].p).subspan(100, 257);
  EXPECT_EQ(refusal([&] { lowp::update(list, lowp::adamw{}, 1); }),
            "lowp::update: tensors 0 and 3 of the list share memory that is written");
  list = list_of(all);
  EXPECT_EQ(refusal([&] { lowp::update(list, lowp::adamw{}, 0); }),
            "lowp::update: adamw: step is 0, and counts from 1, in tensor 0 of the list");
  std::vector<lowp::update_report> reports(3);
  EXPECT_EQ(refusal([&] { lowp::update(list, lowp::adamw{}, 1, lowp::nearest_even{}, reports); }),
            "lowp::update: 3 reports for a list of 4 tensors");
  EXPECT_TRUE(all == before);
}

}  // namespace
