// SPDX-License-Identifier: Apache-2.0
// Weights that an overflow_watch reads in turns: the steps at which each is read, and a report's
// words about the others. It names the same as a watch that always reads everything.
#include <gtest/gtest.h>
#include <lowp/measure.hpp>
#include <lowp/update.hpp>
#include <lowp/watch.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace {

using lowp::float16;
using lowp::overflow_watch;
using lowp::watch_alarm;
using lowp::watch_policy;

using numbers = std::vector<float>;

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

// The rows of a watch's last frame, without the first three lines of the text.
template <class Watch>
std::string last_frame(Watch const& watch) {
  std::string text = watch.text();
  for (int i = 0; i < 3; ++i) text.erase(0, text.find('\n') + 1);
  return text;
}

TEST(watch_weights, are_read_in_turns) {
  constexpr std::size_t places = 5;
  for (std::uint64_t const every : {1U, 2U, 3U, 4U, 16U}) {
    overflow_watch watch({.frames = 1, .weights_every = every});
    for (std::size_t i = 0; i < places; ++i) watch.add("p");
    std::array<std::uint64_t, places> last{};
    for (std::uint64_t step = 0; step < 40; ++step) {
      watch.step(step);
      auto const value = static_cast<float>(step + 1);
      std::size_t reads = 0;
      for (std::size_t place = 0; place < places; ++place) {
        watch.forward(place).weight(numbers{value});
        std::string const text = last_frame(watch);
        std::string now = lowp::detail::watch_number(value);
        now += " " + now;
        if (text == now + " weight\n") {
          // Within each window of `every` steps, at its own turn.
          EXPECT_TRUE(last[place] == 0 || step < every || step - last[place] == every);
          last[place] = step;
          ++reads;
        } else {
          std::string old = lowp::detail::watch_number(static_cast<float>(last[place] + 1));
          old += " " + old;
          EXPECT_EQ(text,
                    old + " weight (as of batch_number=" + std::to_string(last[place]) + ")\n");
        }
      }
      if (step == 0)
        EXPECT_EQ(reads, places);
      else
        EXPECT_LE(reads, (places + every - 1) / every) << every << " " << step;
      for (std::uint64_t const each : last) EXPECT_LT(step - each, every);
    }
  }
}

TEST(watch_weights, are_read_always_where_they_are_not_put_off) {
  overflow_watch<float16> watch({.frames = 1});
  std::size_t const a = watch.add("a");
  std::string want;
  for (unsigned const step : {0U, 1U, 2U, 3U, 4U, 5U, 6U}) {
    watch.step(step);
    numbers const w(step == 1 ? 2 : 1, static_cast<float>(step));  // another size
    if (step <= 1) {
      watch.forward(a).weight(w);
    } else if (step <= 4) {  // what was seen elsewhere, a frame with a name
      watch.forward(a).weight(lowp::abs_range_of<float16>(w));
    } else {
      auto const frame = watch.forward(a);
      frame.weight(w);
    }
    std::string const number = lowp::detail::watch_number(static_cast<float>(step));
    EXPECT_EQ(last_frame(watch), number + " " + number + " weight\n") << step;
  }
}

TEST(watch_weights, near_the_end_of_the_range_are_read_in_every_frame) {
  overflow_watch<float16> watch({.throws = false});
  std::size_t const a = watch.add("a");
  std::uint64_t step = 0;
  float w = 1;
  for (; w < 65520; w *= 1.125f) {
    EXPECT_FALSE(watch.first());
    watch.step(++step);
    watch.forward(a).weight(numbers{w, 0}).output(numbers{0});
  }
  watch.step(++step);
  watch.forward(a).weight(numbers{w, 0}).output(numbers{0});
  ASSERT_TRUE(watch.first());
  EXPECT_EQ(watch.first()->step, step);
  EXPECT_EQ(watch.first()->tensor, "weight");
  // An unsound weight is counted in each frame, as any other tensor.
  for (int i = 0; i < 3; ++i) watch.forward(a).weight(numbers{w, 0});
  EXPECT_EQ(watch.places()[a].overflow, 4U);
}

// A place whose weight rests, and another place.
struct resting {
  overflow_watch<float16> watch{{.frames = 2}};
  std::size_t a = watch.add("a"), b = watch.add("b");
  numbers w = numbers{1};

  resting() {
    for (int i = 0; i < 3; ++i) watch.forward(a).weight(w);
  }
  template <class Act>
  std::string tensor(Act const& act) {
    try {
      act();
    } catch (lowp::watch_error const& error) {
      return error.alarm.tensor;
    }
    return "nothing";
  }
};

// A tensor may end with the expression that shows it, even if the frame has a name.
TEST(watch_weights, are_not_read_after_their_expression) {
  resting named;
  auto const frame = named.watch.forward(named.a).weight(named.w);
  named.w[0] = inf;
  EXPECT_EQ(named.tensor([&] { frame.output(numbers{nan_value}); }), "output");
  EXPECT_NE(named.watch.text().find("1.00e+00 1.00e+00 weight (as of "), std::string::npos);

  resting passed;
  auto const fill = [&](auto given) {
    given.weight(passed.w);
    passed.w[0] = inf;
    given.output(numbers{nan_value});
  };
  EXPECT_EQ(passed.tensor([&] { fill(passed.watch.forward(passed.a)); }), "output");
}

TEST(watch_weights, are_read_in_their_expression_after_frames_of_other_places) {
  resting r;
  auto const layer = [&] {
    r.watch.forward(r.b).output(numbers{1});
    return numbers{nan_value};
  };
  r.w[0] = inf;
  EXPECT_EQ(r.tensor([&] { r.watch.forward(r.a).weight(r.w).output(layer()); }), "weight");
}

TEST(watch_weights, of_another_size_are_read_in_their_expression) {
  resting r;
  EXPECT_EQ(r.tensor([&] { r.watch.forward(r.a).weight(numbers{inf, 1}).output(numbers{0}); }),
            "weight");
}

TEST(watch_weights, that_had_nan_are_read_in_every_frame) {
  overflow_watch<float16> watch({.throws = false});
  std::size_t const a = watch.add("a");
  for (float const x : {nan_value, nan_value, 1.0f}) watch.forward(a).weight(numbers{x, 1});
  EXPECT_EQ(watch.places()[a].nan, 2U);
}

TEST(watch_weights, of_many_names) {
  overflow_watch watch({.frames = 1});
  std::size_t const a = watch.add("a");
  auto const all = [&](numbers const& q) {
    watch.forward(a)
        .weight("0", q)
        .weight("1", q)
        .weight("2", q)
        .weight("3", q)
        .weight("4", q)
        .weight("5", q)
        .weight("6", q)
        .weight("7", q)
        .weight("8", q)
        .weight("9", q)
        .output(q);
  };
  for (int i = 0; i < 40; ++i) all(numbers{1, 2});
  std::optional<watch_alarm> alarm;
  try {
    all(numbers{1, inf});
  } catch (lowp::watch_error const& error) {
    alarm = error.alarm;
  }
  ASSERT_TRUE(alarm);
  EXPECT_EQ(alarm->range.infinite, 1U);
  EXPECT_NE(alarm->tensor, "output");
}

// Linear layers, forward and backward, in float; the gradient of an element of a weight is dy_i
// x_j.
struct network {
  static constexpr std::size_t layers = 3, width = 4;
  std::array<std::array<float, width * width>, layers> w{}, dw{};
  std::array<std::array<float, width>, layers + 1> x{}, dx{};
  std::mt19937 random;

  explicit network(unsigned seed) : random(seed) {
    for (auto& each : w)
      for (float& value : each) value = between(-0.6f, 0.6f);
  }
  float between(float low, float high) {
    return low + (high - low) * static_cast<float>(random() % 4096) / 4096;
  }
  template <class Forward>
  void forward(Forward const& seen) {
    for (float& value : x[0]) value = between(-2, 2);
    for (std::size_t l = 0; l < layers; ++l) {
      for (std::size_t i = 0; i < width; ++i) {
        x[l + 1][i] = 0;
        for (std::size_t j = 0; j < width; ++j) x[l + 1][i] += w[l][i * width + j] * x[l][j];
      }
      seen(l);
    }
  }
  template <class Backward>
  void backward(Backward const& seen) {
    dx[layers] = x[layers];
    for (std::size_t l = layers; l-- > 0;) {
      dx[l] = {};
      for (std::size_t i = 0; i < width; ++i)
        for (std::size_t j = 0; j < width; ++j) {
          dx[l][j] += w[l][i * width + j] * dx[l + 1][i];
          dw[l][i * width + j] = dx[l + 1][i] * x[l][j];
        }
      seen(l);
    }
  }
};

// The first alarm of a run. An element of a weight, of its gradient or of an input becomes `bad` at
// some time. If `told`, updates tell the watch what they see.
std::optional<watch_alarm> first_alarm(unsigned seed, float bad, std::uint64_t weights_every,
                                       bool told) {
  network n(seed);
  std::mt19937 random(seed + 1000);
  std::uint64_t const when = random() % 50;
  std::size_t const layer = random() % network::layers;
  std::size_t const element = random() % (network::width * network::width);
  enum { weight, gradient, input } const where = std::array{weight, gradient, input}[random() % 3];

  overflow_watch<float16> watch({.weights_every = weights_every, .throws = false});
  for (std::size_t l = 0; l < network::layers; ++l)
    watch.add(std::string("layer.").append(std::to_string(l)));
  std::array<float, network::width * network::width> g{};
  for (std::uint64_t step = 0; step < 60 && !watch.first(); ++step) {
    watch.step(step);
    n.forward([&](std::size_t l) {
      if (step == when && where == input && l + 1 == layer)
        n.x[layer][element % network::width] = bad;
      watch.forward(l).weight(n.w[l]).input(n.x[l]).output(n.x[l + 1]);
    });
    n.backward([&](std::size_t l) {
      if (step == when && where == gradient && l == layer) n.dw[l][element] = bad;
      watch.backward(l).output(n.dx[l + 1]).input(n.dx[l]).weight(n.dw[l]);
    });
    for (std::size_t l = 0; l < network::layers; ++l) {
      if (step == when && where == weight && l == layer) n.w[layer][element] = bad;
      g = n.dw[l];
      lowp::update_amax seen;
      lowp::update(n.w[l], g, lowp::sgd{.lr = 1e-4}, step + 1, lowp::nearest_even{}, seen);
      if (told) watch.update(l, seen);
    }
  }
  return watch.first();
}

// Two runs: the first reads everything, the second reads weights in turns.
struct alarms {
  std::optional<watch_alarm> want, got;
};
template <class Check>
std::size_t for_each_run(std::vector<float> const& bad, bool told, Check const& check) {
  std::size_t found = 0;
  for (unsigned seed = 0; seed < 300; ++seed)
    for (float const value : bad) {
      SCOPED_TRACE(std::to_string(seed) + " " + std::to_string(value));
      auto const want = first_alarm(seed, value, 1, false);
      auto const got = first_alarm(seed, value, 16, told);
      EXPECT_EQ(got.has_value(), want.has_value());
      if (!want || !got) continue;
      check(*got, *want);
      ++found;
    }
  return found;
}

// All but a gradient, which no other tensor of its frame shows.
TEST(watch_weights, that_are_lost_are_named_in_the_step_in_which_that_happens) {
  std::size_t gradients = 0;
  std::size_t weights = 0;
  for_each_run({nan_value, inf, -inf}, false, [&](watch_alarm const& got, watch_alarm const& want) {
    EXPECT_EQ(got.name, want.name);
    if (want.tensor == "weight.grad" && got.tensor == "weight") {
      EXPECT_EQ(got.step, want.step + 1);  // as the weight that it has made
      ++gradients;
      return;
    }
    EXPECT_EQ(got.step, want.step);
    EXPECT_EQ(got.tensor, want.tensor);
    EXPECT_EQ(got.trouble, want.trouble);
    EXPECT_EQ(got.range.max_abs.bits, want.range.max_abs.bits);
    // The frame in which it happens has nothing of an earlier step.
    EXPECT_EQ(got.text.find("as of", got.text.rfind("       ")), std::string::npos);
    EXPECT_EQ(got.text.substr(got.text.rfind('\n')), want.text.substr(want.text.rfind('\n')));
    if (want.tensor == "weight") ++weights;
  });
  EXPECT_GT(gradients, 150U);
  EXPECT_GT(weights, 150U);
}

// If updates tell, they also find a gradient, a weight before it is used, and numbers that only
// would overflow.
TEST(watch_weights, that_updates_report_are_named_as_if_all_were_read) {
  std::size_t gradients = 0;
  std::size_t weights = 0;
  auto const check = [&](watch_alarm const& got, watch_alarm const& want) {
    EXPECT_EQ(got.step, want.tensor == "weight" ? want.step - 1 : want.step);
    EXPECT_EQ(got.name, want.name);
    EXPECT_EQ(got.tensor, want.tensor);
    EXPECT_EQ(got.trouble, want.trouble);
    EXPECT_EQ(got.range.max_abs.bits, want.range.max_abs.bits);
    if (want.tensor == "weight.grad") ++gradients;
    if (want.tensor == "weight") ++weights;
  };
  for_each_run({nan_value, inf, -inf, 7e4f}, true, check);
  EXPECT_GT(gradients, 150U);
  EXPECT_GT(weights, 150U);
}

}  // namespace
