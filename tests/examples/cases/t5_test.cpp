// SPDX-License-Identifier: Apache-2.0
#include "cases/t5.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

namespace {

using namespace cases;

float largest(t5_network const& n) {
  float all = 0;
  for (t5::layer_range const& each : n.ranges) all = std::max(all, each.census.max_abs.value());
  return all;
}

std::string last_line(std::string const& text) { return text.substr(text.rfind('\n') + 1); }
std::string name_in(std::string const& line) { return line.substr(0, line.find(' ')); }

TEST(T5Case, BreaksInFloat16AndIsCuredByScalesAndByAPenalty) {
  t5_case const c = run_t5();
  ASSERT_LT(c.steps, 20000);
  EXPECT_GT(largest(c.trained), 1e5f);
  EXPECT_GT(c.trained.fp32.right, 0.7);
  EXPECT_EQ(c.trained.bf16.lost, 0);
  EXPECT_NEAR(c.trained.bf16.right, c.trained.fp32.right, 0.02);
  EXPECT_GT(c.trained.fp16.lost, 0.3);

  // Both watches name the layer: before it breaks, and when it does.
  EXPECT_EQ(c.trained.alarm.substr(0, 39), "Detected inf/nan during batch_number=0\n");
  std::string const line = last_line(c.trained.alarm);
  EXPECT_NE(line.find("): output: "), std::string::npos) << line;
  EXPECT_NE(line.find(" infinite"), std::string::npos) << line;
  EXPECT_NE(c.warning.find(" beyond 65504"), std::string::npos) << c.warning;
  EXPECT_EQ(name_in(line), name_in(c.warning));
  // It is the first in order that a census finds overflowing.
  auto const first = std::find_if(c.trained.ranges.begin(), c.trained.ranges.end(),
                                  [](t5::layer_range const& r) { return r.census.overflow != 0; });
  ASSERT_NE(first, c.trained.ranges.end());
  EXPECT_EQ(name_in(line), first->name);

  EXPECT_LT(c.scales.stream.back(), 1);
  for (t5_network const* cured : {&c.scaled, &c.tuned}) {
    EXPECT_EQ(cured->fp16.lost, 0);
    EXPECT_EQ(cured->alarm, "");
    EXPECT_LT(largest(*cured), 65504.0f);
    EXPECT_GT(cured->bf16.error, 0);
    EXPECT_LE(cured->fp16.error, cured->bf16.error);
    EXPECT_NEAR(cured->fp16.right, cured->fp32.right, 0.01);
  }
  EXPECT_GT(c.tuned.fp32.right, c.trained.fp32.right - 0.03);
}

// In float, which has room, only exponents change.
TEST(T5Case, ScalesChangeExponentsOnly) {
  t5::examples const e = t5::drawn(64, 5);
  t5::weights const w = t5::trained().values();
  t5::scales s;
  s.gate = {0.5f, 1, 0.25f};
  s.up = {0.125f, 0.5f, 1};
  s.stream = {0.25f, 0.0625f, 0x1p-9f};
  t5::matrix const plain = t5::forward<float>(w, e.x).logits;
  EXPECT_EQ(t5::forward<float>(t5::scaled(w, s), e.x, s).logits, plain);
}

// Against differences, along the gradient itself.
TEST(T5Case, GradientIsThatOfLossAndPenalty) {
  t5::examples const e = t5::drawn(64, 5);
  t5::weights const w = t5::trained().values();
  t5::large_activation_penalty const penalty{.weight = 3, .bound = 0.5f};
  auto const value = [&](t5::weights const& at) {
    t5::activations const a = t5::forward<float>(at, e.x);
    t5::matrix logits = a.logits;
    double sum = t5::cross_entropy(logits, e.target);
    for (t5::block_activations const& b : a.block)
      for (t5::matrix const* x : {&b.gated, &b.added, &b.stream})
        sum += double{penalty.weight} *
               (x->array().abs() / penalty.bound - 1).max(0.0f).square().cast<double>().mean();
    return sum;
  };
  t5::activations const a = t5::forward<float>(w, e.x);
  t5::matrix d = a.logits;
  t5::cross_entropy(d, e.target);
  t5::weights const g = t5::gradient(w, e.x, a, d, penalty);
  for (std::size_t t = 0; t < t5::tensors; ++t) {
    float const norm = g[t].norm();
    ASSERT_GT(norm, 0.0f) << t;
    float const step = 2e-3f / norm;
    t5::weights up = w;
    t5::weights down = w;
    up[t] += step * g[t];
    down[t] -= step * g[t];
    EXPECT_NEAR((value(up) - value(down)) / (2 * double{step} * double{norm}), double{norm},
                0.01 * double{norm})
        << t;
  }
}

}  // namespace
