// SPDX-License-Identifier: Apache-2.0
// stall_watch on tensors that freeze as their rate decays, and on tensors that only seem to freeze.
#include <gtest/gtest.h>
#include <lowp/update.hpp>
#include <lowp/watch.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using lowp::bfloat16;

// Updates of lr up or down. The rate falls from 2^-7, at which all of 1 moves, to 2^-18.
struct training {
  std::vector<bfloat16> p;
  std::mt19937_64 random{1};
  std::vector<float> g = std::vector<float>(p.size());
  static constexpr std::uint64_t steps = 3000;

  static double rate(std::uint64_t step) {
    return std::exp2(-7 - 11 * static_cast<double>(step) / static_cast<double>(steps));
  }
  template <class R>
  lowp::update_report step(std::uint64_t number, double lr, R const& rounding) {
    for (float& each : g) each = random() % 2 == 0 ? 1.0f : -1.0f;
    lowp::update_report report;
    lowp::update(p, g, lowp::sgd{.lr = lr}, number, rounding, report);
    return report;
  }
};

std::vector<bfloat16> ones(std::size_t size) { return std::vector<bfloat16>(size, bfloat16(1)); }

TEST(stall_watch, names_the_tensor_that_freezes) {
  training norm{ones(512)};
  training mlp{std::vector<bfloat16>(512)};
  std::normal_distribution<float> normal(0, 0.02f);
  for (bfloat16& w : mlp.p) w = bfloat16(normal(mlp.random));
  lowp::stall_watch watch;
  std::size_t const mlp_number = watch.add("mlp.weight", mlp.p);
  std::size_t const norm_number = watch.add("norm.weight", norm.p);
  std::optional<lowp::stall_alarm> first;
  std::vector<bfloat16> then;
  for (std::uint64_t step = 1; step <= training::steps; ++step) {
    double const lr = training::rate(step);
    auto const of_mlp =
        watch.observe(mlp_number, step, lr, mlp.step(step, lr, lowp::nearest_even{}));
    auto const of_norm =
        watch.observe(norm_number, step, lr, norm.step(step, lr, lowp::nearest_even{}));
    EXPECT_FALSE(first && of_norm) << "a second alarm at " << step;
    EXPECT_FALSE(!first && of_mlp) << "weights of mlp have finer gaps";
    if (step == 500) watch.measure_again(norm_number, norm.p);
    if (of_norm) {
      first = of_norm;
      then = norm.p;
    }
  }
  ASSERT_TRUE(first);
  EXPECT_EQ(first->tensor, norm_number);
  EXPECT_EQ(first->text().find("norm.weight is frozen at step "), 0U);
  EXPECT_TRUE(watch.tensors()[norm_number].is_frozen);
  EXPECT_EQ(first->state.silent, 100U);
  EXPECT_LT(first->state.applied_ratio(), 0.4);
  EXPECT_GT(first->state.stalled_share(), 0.75);
  // In time, which the largest weight's gap says, and for good.
  EXPECT_NEAR(first->state.direction(), 1, 1e-6);
  EXPECT_LT(first->lr, first->state.freezing_lr());
  EXPECT_GT(first->lr, first->state.freezing_lr() / 16);
  std::size_t moved = 0;
  for (std::size_t i = 0; i < then.size(); ++i) moved += then[i] != norm.p[i] ? 1 : 0;
  EXPECT_LT(moved, then.size() / 10);
}

TEST(stall_watch, writes_shares_as_percentages) {
  lowp::stall_alarm alarm{0, 812, 0.5, {.name = "norm.weight", .largest_gap = 2, .silent = 3}};
  alarm.state.applied = 1;
  alarm.state.requested = 81;
  alarm.state.stalled = alarm.state.count = 81;
  EXPECT_EQ(alarm.text(),
            "norm.weight is frozen at step 812: 1.23 % of recent updates was applied, 100 % of "
            "elements stalled, nothing changed for 3 steps; lr is 0.5, and rounded to nearest "
            "most updates of the largest weights are lost below 1");
  EXPECT_EQ(alarm.text(), "norm.weight is " + alarm.verdict());
  alarm.state.applied = 0;
  alarm.state.stalled = 40.5;
  EXPECT_NE(alarm.text().find(": 0 % of recent updates was applied, 50 % of elements stalled, "),
            std::string::npos);
}

// Half the gap of the largest weight: 2^-8 at 1. Below it nothing goes up, above it everything
// does.
TEST(stall_watch, knows_the_rate_that_freezes) {
  lowp::stall_watch watch;
  std::size_t const number = watch.add("norm", ones(64));
  EXPECT_EQ(watch.tensors()[number].freezing_lr(), 0.0);
  for (double const lr : {0x1.02p-8, 0x1.fep-9}) {
    std::vector<bfloat16> p = ones(64);
    lowp::update_report report;
    lowp::update(p, std::vector<float>(64, -0.5f), lowp::sgd{.lr = 2 * lr}, 1, lowp::nearest_even{},
                 report);
    watch.observe(number, 1, 2 * lr, report);
    EXPECT_EQ(report.stalled, lr < 0x1p-8 ? 64U : 0U);
    EXPECT_DOUBLE_EQ(watch.tensors()[number].direction(), 0.5);
    EXPECT_DOUBLE_EQ(watch.tensors()[number].freezing_lr(), 0x1p-7);
  }
}

template <class R>
std::size_t alarms(std::size_t size, R const& rounding, lowp::stall_policy const& policy) {
  training norm{ones(size)};
  lowp::stall_watch watch(policy);
  std::size_t const number = watch.add("norm", norm.p);
  std::size_t count = 0;
  for (std::uint64_t step = 1; step <= training::steps; ++step) {
    double const lr = training::rate(step);
    count += watch.observe(number, step, lr, norm.step(step, lr, rounding)) ? 1 : 0;
  }
  return count;
}

// A step may move few elements or none, and still nothing is lost in the mean.
TEST(stall_watch, has_no_false_alarm_where_rounding_is_stochastic) {
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    for (std::size_t const size : {1U, 4U, 64U, 512U})
      EXPECT_EQ(alarms(size, lowp::stochastic{.seed = seed}, {}), 0U) << size << ", seed " << seed;
}
TEST(stall_watch, needs_evidence_for_that) {
  EXPECT_GT(alarms(1, lowp::stochastic{.seed = 0}, {.evidence = 0}), 0U);
  EXPECT_GT(alarms(1, lowp::nearest_even{}, {.evidence = 0}), 0U);
}

// Recent steps of a small rate outweigh a few of a larger one.
TEST(stall_watch, needs_evidence_for_the_smallest_recent_rate) {
  training one{ones(512)};
  lowp::stall_watch watch;
  std::size_t const number = watch.add("weight", one.p);
  for (std::uint64_t step = 1; step <= 15; ++step) {
    double const lr = step <= 10 ? 1e-6 : 1e-3;
    EXPECT_FALSE(watch.observe(number, step, lr, one.step(step, lr, lowp::nearest_even{}))) << step;
  }
}

TEST(stall_watch, tells_again_when_it_happens_again) {
  training norm{ones(512)};
  lowp::stall_watch watch;
  std::size_t const number = watch.add("norm", norm.p);
  std::vector<std::uint64_t> at;
  for (std::uint64_t step = 1; step <= 3000; ++step) {
    double const lr = step % 500 < 100 ? 0x1p-7 : 0x1p-13;
    if (watch.observe(number, step, lr, norm.step(step, lr, lowp::nearest_even{})))
      at.push_back(step);
  }
  ASSERT_EQ(at.size(), 6U);
  for (std::size_t i = 0; i < at.size(); ++i) EXPECT_EQ(at[i] / 500, i);
}

// A rate of zero asks for nothing, which is no stall.
TEST(stall_watch, of_nothing_asked) {
  training norm{ones(16)};
  lowp::stall_watch watch;
  std::size_t const number = watch.add("norm", norm.p);
  for (std::uint64_t step = 1; step <= 1000; ++step)
    ASSERT_FALSE(watch.observe(number, step, 0, norm.step(step, 0, lowp::nearest_even{})));
  EXPECT_EQ(watch.tensors()[number].applied_ratio(), 1.0);
  EXPECT_EQ(watch.tensors()[number].silent, 0U);
}

// A gradient makes a second moment infinite. Its weight stands still, the others move.
TEST(stall_watch, names_a_tensor_with_a_moment_that_is_not_finite) {
  std::vector<bfloat16> p(64, bfloat16(1));
  std::vector<bfloat16> m(64);
  std::vector<bfloat16> v(64);
  std::vector<float> g(64, 0.1f);
  lowp::stall_watch watch;
  std::size_t const number = watch.add("mlp.weight", p);
  std::uint64_t named = 0;
  for (std::uint64_t step = 1; step <= 60; ++step) {
    g[5] = step == 20 ? 1e21f : step == 3 ? std::numeric_limits<float>::infinity() : 0.1f;
    lowp::update_report report;
    if (step == 3) {  // a step that a scaler would skip is no lasting trouble
      report.count = 64;
      report.nonfinite = 1;
    } else {
      lowp::update(p, g, m, v, lowp::adamw{.lr = 0.01, .weight_decay = 0}, step,
                   lowp::stochastic{.seed = 1}, report);
    }
    auto const alarm = watch.observe(number, step, 0.01, report);
    if (!alarm) continue;
    EXPECT_EQ(named, 0U);
    named = step;
    EXPECT_EQ(
        alarm->text(),
        "mlp.weight is frozen at step 29: 1 elements are not finite, in the weight, the update "
        "or a stored moment, for 10 steps");
  }
  EXPECT_EQ(named, 29U);
}

// A rate without a finite reciprocal says nothing, and later steps are seen as ever.
TEST(stall_watch, forgets_a_rate_next_to_zero) {
  training norm{ones(512)};
  lowp::stall_watch watch;
  std::size_t const number = watch.add("norm", norm.p);
  watch.observe(number, 1, 1e-310, norm.step(1, 1e-310, lowp::nearest_even{}));
  bool is_frozen = false;
  for (std::uint64_t step = 2; step <= 100; ++step)
    is_frozen |=
        watch.observe(number, step, 0x1p-10, norm.step(step, 0x1p-10, lowp::nearest_even{}))
            .has_value();
  EXPECT_TRUE(is_frozen);
}

template <class Fn>
std::string refusal(Fn&& fn) {
  try {
    fn();
  } catch (std::invalid_argument const& e) {
    return e.what();
  }
  return "";
}

TEST(stall_watch, refuses_by_name) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  lowp::stall_watch watch;
  watch.add("norm", 0.5);
  EXPECT_EQ(refusal([&] { watch.observe(1, 1, 0.1, {}); }),
            "lowp::stall_watch: there is no tensor 1 of 1");
  EXPECT_EQ(refusal([&] { watch.observe(0, 1, -0.5, {}); }),
            "lowp::stall_watch: norm: lr is -0.5, not finite and at least 0");
  EXPECT_EQ(refusal([&] { watch.observe(0, 1, inf, {}); }),
            "lowp::stall_watch: norm: lr is inf, not finite and at least 0");
  EXPECT_EQ(refusal([&] {
              watch.add("mlp", std::vector<float>{1.0f, static_cast<float>(inf)});
            }).find("lowp::stall_watch: mlp: largest_gap is "),
            0U);
  EXPECT_EQ(refusal([] { lowp::stall_watch({.window = 0.5}); }),
            "lowp::stall_watch: window is 0.5 steps, not at least 1");
  EXPECT_EQ(refusal([] { lowp::stall_watch({.evidence = std::nan("")}); }),
            "lowp::stall_watch: evidence is nan, not finite and at least 0");
  EXPECT_EQ(watch.tensors()[0].steps, 0U);
  EXPECT_EQ(watch.tensors().size(), 1U);
}

TEST(stall_watch, gives_no_verdict_before_the_least_steps) {
  lowp::stall_watch watch({.evidence = 0, .least_steps = 7});
  std::size_t const tensor = watch.add("a", 1.0);
  lowp::update_report report;
  report.count = report.stalled = 1;
  report.requested += 1.0;
  for (std::uint64_t step = 1; step < 7; ++step)
    EXPECT_FALSE(watch.observe(tensor, step, 0.1, report)) << step;
  EXPECT_TRUE(watch.observe(tensor, 7, 0.1, report));
  EXPECT_EQ(watch.tensors()[tensor].since, 7U);
  EXPECT_EQ(watch.tensors()[tensor].silent, 7U);
}

// 25 gaps at a rate of 1 and 7.5 at 0.1, of which nothing arrives.
TEST(stall_watch, adds_up_what_silent_steps_of_a_falling_rate_asked) {
  lowp::stall_watch watch;
  std::size_t const tensor = watch.add("a", 1.0);
  for (std::uint64_t step = 1; step <= 100; ++step) {
    double const lr = step <= 25 ? 1 : 0.1;
    lowp::update_report report;
    report.count = report.stalled = 1;
    report.requested += lr;
    EXPECT_EQ(watch.observe(tensor, step, lr, report).has_value(), step == 100) << step;
  }
}

TEST(stall_watch, measures_the_gap_again) {
  lowp::stall_watch watch;
  std::size_t const norm = watch.add("norm", 0.5);
  EXPECT_EQ(refusal([&] {
              watch.measure_again(norm, std::vector{std::numeric_limits<float>::infinity()});
            }).find("lowp::stall_watch: norm: largest_gap is "),
            0U);
  EXPECT_EQ(watch.tensors()[norm].largest_gap, 0.5);
  watch.measure_again(norm, std::vector{-256.0f, 1.0f});
  EXPECT_EQ(watch.tensors()[norm].largest_gap, 0x1p-15);
  watch.measure_again(norm, std::vector{std::numeric_limits<float>::max()});
  EXPECT_EQ(watch.tensors()[norm].largest_gap, 0x1p104);
}

// A second moment whose gradients shrank by 10: to nearest it keeps its size.
struct second_moment {
  std::vector<bfloat16> p = ones(512), v = ones(512);
  std::vector<float> m = std::vector<float>(512), g = std::vector<float>(512, 0.1f);
  std::optional<lowp::moment_alarm> alarm{};

  template <class R>
  void train(lowp::stall_watch& watch, std::size_t number, R const& rounding) {
    for (std::uint64_t step = 1; step <= 2000; ++step) {
      lowp::moment_report report;
      lowp::update(p, g, m, v, lowp::adamw{}, step, rounding, report);
      if (auto const now = watch.observe(number, step, report)) {
        EXPECT_FALSE(alarm) << "a second alarm at " << step;
        alarm = now;
      }
    }
  }
};

TEST(stall_watch, names_a_second_moment_that_cannot_decay) {
  lowp::stall_watch watch;
  second_moment nearest, stochastic;
  std::size_t const one = watch.add("one", nearest.p), two = watch.add("two", stochastic.p);
  nearest.train(watch, one, lowp::nearest_even{});
  stochastic.train(watch, two, lowp::per_slot{.second = lowp::stochastic{.seed = 3}});
  EXPECT_EQ(nearest.v, ones(512));
  ASSERT_TRUE(nearest.alarm);
  EXPECT_EQ(nearest.alarm->step, 10U);
  auto const beta2 = static_cast<double>(0.999f);
  double const exact = beta2 + (1 - beta2) * 0.1 * 0.1;
  EXPECT_NEAR(nearest.alarm->state.moment_bias(), (1 - exact) / exact, 0x1p-23);
  std::string const text = nearest.alarm->text();
  EXPECT_EQ(text.find("one: rounding biases v by 0.00099"), 0U) << text;
  EXPECT_NE(text.find(" in a step, at step 10; 100 % of the elements that should change stayed;"
                      " store v in float, or round it stochastically"),
            std::string::npos)
      << text;
  EXPECT_FALSE(stochastic.alarm) << stochastic.alarm->text();
  EXPECT_EQ(watch.tensors()[one].moment_stalled_share(), 1);
  EXPECT_NEAR(watch.tensors()[two].moment_bias(), 0, 3e-5);
  // 0.01 and what is left of 1: 0.99 * 0.999^2000.
  double mean = 0;
  for (bfloat16 const x : stochastic.v) mean += static_cast<double>(x) / 512;
  EXPECT_NEAR(mean, 0.01 + 0.99 * std::pow(0.999, 2000), 0.01);
}

// Two tensors of 64 elements under AdamW, over noise or along one direction.
struct small_model {
  struct layer {
    std::vector<bfloat16> p = ones(64), g = p;
    std::vector<float> m = std::vector<float>(64), v = m;
  };
  layer norm{}, head{};
  std::vector<lowp::adamw_tensor<bfloat16, bfloat16, float>> list{
      {norm.p, norm.g, norm.m, norm.v, "norm"}, {head.p, head.g, head.m, head.v, "head"}};
  std::mt19937_64 random{1};
  std::uint64_t taken = 0;

  template <class R>
  std::vector<lowp::stall_alarm> step(lowp::stall_watch& watch, double lr, R const& rounding) {
    std::normal_distribution<float> normal;
    for (layer* each : {&norm, &head})
      for (bfloat16& g : each->g) g = bfloat16(normal(random));
    lowp::adamw const optimizer{.lr = lr, .weight_decay = 0};
    std::vector<lowp::update_report> reports(list.size());
    lowp::update(list, optimizer, ++taken, rounding, reports);
    return watch.observe(list, optimizer, taken, reports);
  }
  template <class R>
  std::vector<lowp::stall_alarm> train(lowp::stall_watch& watch, unsigned steps, double lr,
                                       R const& rounding) {
    std::vector<lowp::stall_alarm> all;
    for (unsigned i = 0; i < steps; ++i)
      for (auto const& each : step(watch, lr, rounding)) all.push_back(each);
    return all;
  }
};

TEST(stall_watch, names_the_small_tensors_of_a_list_that_no_step_moved) {
  small_model model;
  for (bfloat16& each : model.head.p) each = bfloat16(0x1p-20f);  // its gaps are far below lr
  lowp::stall_watch watch;
  auto const alarms = model.train(watch, 400, 1e-4, lowp::nearest_even{});
  ASSERT_EQ(alarms.size(), 1U);
  EXPECT_EQ(model.norm.p, ones(64));
  EXPECT_EQ(alarms[0].text().find("norm is frozen at step "), 0U);
  EXPECT_EQ(alarms[0].lr, 1e-4);
  EXPECT_EQ(alarms[0].state.largest_gap, 0x1p-7);
  EXPECT_GT(alarms[0].step, 100U);  // the window alone has not enough evidence
  EXPECT_EQ(alarms[0].state.silent, alarms[0].step);
  EXPECT_NEAR(alarms[0].state.silent_requested, 30 * 0x1p-7, 0x1p-8);
  ASSERT_EQ(watch.tensors().size(), 2U);
  EXPECT_GT(watch.tensors()[1].applied_ratio(), 0.9);
}

TEST(stall_watch, waits_for_enough_of_a_small_tensor_that_is_rounded_at_random) {
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    for (double const lr : {1e-3, 1e-4, 1e-5}) {
      small_model model;
      model.random.seed(seed);
      lowp::stall_watch watch;
      auto const alarms = model.train(watch, 600, lr, lowp::stochastic{.seed = seed});
      EXPECT_TRUE(alarms.empty()) << alarms[0].text();
    }
  // To nearest, a rate that moves most of them is no stall.
  small_model model;
  lowp::stall_watch watch;
  EXPECT_TRUE(model.train(watch, 600, 0x1p-6, lowp::nearest_even{}).empty());
}

// A healthy past says nothing about a rate that fell to a thousandth.
TEST(stall_watch, names_a_small_tensor_after_its_rate_fell) {
  small_model model;
  lowp::stall_watch watch;
  EXPECT_TRUE(model.train(watch, 300, 0.1, lowp::nearest_even{}).empty());
  auto const alarms = model.train(watch, 900, 1e-4, lowp::nearest_even{});
  ASSERT_EQ(alarms.size(), 2U);
  for (auto const& alarm : alarms) {
    EXPECT_GT(alarm.state.applied_ratio(), 0.1) << "the steps of the larger rate are remembered";
    EXPECT_GE(alarm.state.silent, 100U);
    EXPECT_LT(alarm.step, 1100U);
  }
}

// Some elements are small and move in each step, so the tensor is never silent.
TEST(stall_watch, remembers_a_small_tensor_until_the_evidence_suffices) {
  small_model model;
  for (std::size_t i = 0; i < 3; ++i) model.norm.p[i] = model.head.p[i] = bfloat16(0x1p-9f);
  lowp::stall_watch watch;
  auto const alarms = model.train(watch, 800, 5e-5, lowp::nearest_even{});
  ASSERT_EQ(alarms.size(), 2U);
  EXPECT_EQ(alarms[0].state.silent, 0U);
  EXPECT_GT(alarms[0].state.applied_ratio(), 0.0);
}

TEST(stall_watch, knows_the_tensors_of_lists_by_name_and_memory) {
  small_model model;
  lowp::stall_watch watch;
  std::size_t const other = watch.add("norm", 0.5);
  model.train(watch, 2, 1e-3, lowp::nearest_even{});
  std::swap(model.list[0], model.list[1]);
  model.train(watch, 1, 1e-3, lowp::nearest_even{});
  ASSERT_EQ(watch.tensors().size(), 3U);
  EXPECT_EQ(watch.tensors()[other].steps, 0U);
  EXPECT_EQ(watch.tensors()[1].name, "norm");
  EXPECT_EQ(watch.tensors()[1].steps, 3U);
  EXPECT_EQ(watch.tensors()[2].name, "head");
  EXPECT_EQ(watch.tensors()[2].steps, 3U);
  model.list[0].name = model.list[1].name = {};
  model.train(watch, 1, 1e-3, lowp::nearest_even{});
  ASSERT_EQ(watch.tensors().size(), 5U);
  EXPECT_EQ(watch.tensors()[3].name, "tensor 0");
  EXPECT_EQ(watch.tensors()[4].name, "tensor 1");
}

TEST(stall_watch, measures_the_tensors_of_a_list_again_after_a_window) {
  small_model model;
  lowp::stall_watch watch({.window = 5});
  for (unsigned step = 1; step <= 11; ++step) {
    std::ranges::fill(model.head.p, bfloat16(float(1U << step)));
    model.step(watch, 0, lowp::nearest_even{});
    // After steps 1, 6 and 11.
    EXPECT_EQ(watch.tensors()[1].largest_gap, std::exp2(int(step - 1) / 5 * 5 + 1 - 7)) << step;
  }
  model.head.p[3] = std::numeric_limits<bfloat16>::quiet_NaN();
  for (unsigned step = 12; step <= 20; ++step) model.step(watch, 0, lowp::nearest_even{});
  EXPECT_EQ(watch.tensors()[1].largest_gap, 16.0);
}

TEST(stall_watch, observes_the_moments_of_a_list) {
  std::vector<bfloat16> p = ones(64), v = p, w(64);
  std::vector<float> const g(64, 0.1f);
  std::vector<float> m(64);
  std::vector<bfloat16> q = p;
  std::vector<float> n = m;
  std::vector<lowp::adamw_tensor<bfloat16, float, float, bfloat16>> const list{{p, g, m, v, "one"},
                                                                               {q, g, n, w, "two"}};
  lowp::stall_watch watch;
  std::vector<lowp::moment_alarm> alarms;
  for (std::uint64_t step = 1; step <= 30; ++step) {
    std::vector<lowp::moment_report> reports(2);
    lowp::update(list, lowp::adamw{}, step, reports);
    for (auto const& each : watch.observe(list, lowp::adamw{}, step, reports))
      alarms.push_back(each);
  }
  ASSERT_FALSE(alarms.empty());
  EXPECT_EQ(alarms[0].text().find("one: rounding biases v by 0.00099"), 0U) << alarms[0].text();
}

TEST(stall_watch, refuses_the_reports_of_a_list_by_name) {
  small_model model;
  lowp::stall_watch watch;
  std::vector<lowp::update_report> reports(1);
  lowp::adamw const optimizer{};
  EXPECT_EQ(refusal([&] { watch.observe(model.list, optimizer, 1, reports); }),
            "lowp::stall_watch: 1 reports for a list of 2 tensors");
  reports.resize(2);
  lowp::update(model.list, optimizer, 1, reports);
  EXPECT_EQ(refusal([&] { watch.observe(model.list, lowp::adamw{.lr = -1}, 1, reports); }),
            "lowp::stall_watch: adamw: lr is -1, not finite and at least 0");
  reports[0] = {};
  lowp::update(model.list, optimizer, 2, reports);  // the second one counts two steps
  EXPECT_EQ(refusal([&] { watch.observe(model.list, optimizer, 2, reports); }),
            "lowp::stall_watch: the report on tensor 'head' counts 128 elements of 64: reports add "
            "up, so give each step new ones");
  EXPECT_TRUE(watch.tensors().empty());
}

TEST(stall_watch, takes_the_rate_of_an_optimizer) {
  training norm{ones(64)};
  lowp::stall_watch watch;
  std::size_t const number = watch.add("norm", norm.p);
  lowp::sgd const optimizer{.lr = 0x1p-7};
  watch.observe(number, optimizer, 1, norm.step(1, optimizer.lr, lowp::nearest_even{}));
  EXPECT_DOUBLE_EQ(watch.tensors()[number].direction(), 1);
}

// The gap of 1 in formats of 8 and 24 bits, and where the second part is largest.
TEST(stall_watch, measures_the_gap_of_a_storage) {
  std::vector<bfloat16> one = ones(3), rest(3);
  std::vector<float> weights(3, -1.0f);
  std::vector<std::uint8_t> low(3);
  std::vector<lowp::float8_e4m3fn> codes(3, lowp::float8_e4m3fn(64));
  auto const expect = [](auto const& storage, double gap) {
    lowp::stall_watch watch;
    watch.add("p", storage);
    EXPECT_NEAR(watch.tensors()[0].largest_gap, gap, gap / 50);
  };
  expect(lowp::kahan{one, rest}, 0x1p-16);
  expect(lowp::master{weights, one}, 0x1p-23);
  expect(lowp::split_master{one, low}, 0x1p-15);
  expect(lowp::scaled{codes, 64.0f}, 0x1p-3);
  // The largest code of a format without infinity, and of float.
  codes[1] = std::numeric_limits<lowp::float8_e4m3fn>::max();
  expect(codes, 32);
  expect(lowp::scaled{codes, 64.0f}, 0.5);
  weights[1] = std::numeric_limits<float>::max();
  expect(lowp::master{weights, one}, 0x1p104);
}

}  // namespace
