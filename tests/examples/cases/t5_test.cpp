// SPDX-License-Identifier: Apache-2.0
#include "cases/t5.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

namespace {

using namespace cases;

float largest(const t5_network& n) {
  float all = 0;
  for (const t5::layer_range& each : n.ranges) all = std::max(all, each.census.max_abs.value());
  return all;
}

std::string last_line(const std::string& text) { return text.substr(text.rfind('\n') + 1); }
std::string name_in(const std::string& line) { return line.substr(0, line.find(' ')); }

TEST(T5Case, BreaksInFloat16AndIsCuredByScalesAndByAPenalty) {
  const t5_case c = run_t5();
  ASSERT_LT(c.steps, 20000);
  EXPECT_GT(largest(c.trained), 1e5F);
  EXPECT_GT(c.trained.fp32.right, 0.7);
  EXPECT_EQ(c.trained.bf16.lost, 0);
  EXPECT_NEAR(c.trained.bf16.right, c.trained.fp32.right, 0.02);
  EXPECT_GT(c.trained.fp16.lost, 0.3);

  // Both watches name the layer: before it breaks, and when it does.
  EXPECT_EQ(c.trained.alarm.substr(0, 39), "Detected inf/nan during batch_number=0\n");
  const std::string line = last_line(c.trained.alarm);
  EXPECT_NE(line.find("): output: "), std::string::npos) << line;
  EXPECT_NE(line.find(" infinite"), std::string::npos) << line;
  EXPECT_NE(c.warning.find(" beyond 65504"), std::string::npos) << c.warning;
  EXPECT_EQ(name_in(line), name_in(c.warning));
  // It is the first in order that a census finds overflowing.
  const auto first = std::find_if(c.trained.ranges.begin(), c.trained.ranges.end(),
                                  [](const t5::layer_range& r) { return r.census.overflow != 0; });
  ASSERT_NE(first, c.trained.ranges.end());
  EXPECT_EQ(name_in(line), first->name);

  EXPECT_LT(c.scales.stream.back(), 1);
  for (const t5_network* cured : {&c.scaled, &c.tuned}) {
    EXPECT_EQ(cured->fp16.lost, 0);
    EXPECT_EQ(cured->alarm, "");
    EXPECT_LT(largest(*cured), 65504.0F);
    EXPECT_GT(cured->bf16.error, 0);
    EXPECT_LE(cured->fp16.error, cured->bf16.error);
    EXPECT_NEAR(cured->fp16.right, cured->fp32.right, 0.01);
  }
  EXPECT_GT(c.tuned.fp32.right, c.trained.fp32.right - 0.03);
}

// In float, which has room, only exponents change.
TEST(T5Case, ScalesChangeExponentsOnly) {
  const t5::examples e = t5::drawn(64, 5);
  const t5::weights w = t5::trained().values();
  t5::scales s;
  s.gate = {0.5F, 1, 0.25F};
  s.up = {0.125F, 0.5F, 1};
  s.stream = {0.25F, 0.0625F, 0x1p-9F};
  const t5::matrix plain = t5::forward<float>(w, e.x).logits;
  EXPECT_EQ(t5::forward<float>(t5::scaled(w, s), e.x, s).logits, plain);
}

// Against differences, along the gradient itself.
TEST(T5Case, GradientIsThatOfLossAndPenalty) {
  const t5::examples e = t5::drawn(64, 5);
  const t5::weights w = t5::trained().values();
  const t5::large_activation_penalty penalty{.weight = 3, .bound = 0.5F};
  const auto value = [&](const t5::weights& at) {
    const t5::activations a = t5::forward<float>(at, e.x);
    t5::matrix logits = a.logits;
    double sum = t5::cross_entropy(logits, e.target);
    for (const t5::block_activations& b : a.block)
      for (const t5::matrix* x : {&b.gated, &b.added, &b.stream})
        sum += double{penalty.weight} *
               (x->array().abs() / penalty.bound - 1).max(0.0F).square().cast<double>().mean();
    return sum;
  };
  const t5::activations a = t5::forward<float>(w, e.x);
  t5::matrix d = a.logits;
  t5::cross_entropy(d, e.target);
  const t5::weights g = t5::gradient(w, e.x, a, d, penalty);
  for (std::size_t t = 0; t < t5::tensors; ++t) {
    const float norm = g[t].norm();
    ASSERT_GT(norm, 0.0F) << t;
    const float step = 2e-3F / norm;
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
