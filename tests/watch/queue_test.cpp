// SPDX-License-Identifier: Apache-2.0
// Frames whose tensors are read elsewhere: the watch sees what it would have seen at once.
#include <gtest/gtest.h>
#include <lowp/measure.hpp>
#include <lowp/watch.hpp>
#include <lowp/watch/watch_queue.hpp>

#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace {

using lowp::watch_pass;
using lowp::watch_role;
using numbers = std::vector<float>;

constexpr float inf = std::numeric_limits<float>::infinity();

struct model {
  explicit model(bool throws) : watch({.throws = throws}) {
    place = {watch.add("a", "", {"x.cpp", 1}), watch.add("b", "", {"x.cpp", 2})};
  }
  lowp::overflow_watch<lowp::float16> watch;
  std::array<std::size_t, 2> place{};
};

// A frame that gets a tensor when the next one has begun, one without tensors, and two passes.
struct queued {
  lowp::detail::watch_queue queue;
  std::vector<lowp::abs_range> ranges;

  void see(std::size_t frame, watch_role role, char const* name, numbers const& values) {
    queue.add(frame, role, name);
    ranges.push_back(lowp::abs_range_of<lowp::float16>(values));
  }
  explicit queued(float last) {
    std::size_t const a = queue.begin(0, watch_pass::forward);
    see(a, watch_role::weight, "k", {1});
    see(a, watch_role::input, "", {2, 3});
    std::size_t const b = queue.begin(1, watch_pass::forward);
    see(b, watch_role::input, "", {4});
    see(a, watch_role::output, "", {4});
    see(b, watch_role::output, "", {5});
    queue.begin(1, watch_pass::backward);
    std::size_t const c = queue.begin(0, watch_pass::backward);
    see(c, watch_role::output, "", {6});
    see(c, watch_role::weight, "k", {last});
    EXPECT_EQ(queue.size(), 7U);
  }
};
void show_at_once(model& m, float last) {
  m.watch.forward(0).weight("k", numbers{1}).input(numbers{2, 3}).output(numbers{4});
  m.watch.forward(1).input(numbers{4}).output(numbers{5});
  m.watch.backward(1);
  m.watch.backward(0).output(numbers{6}).weight("k", numbers{last});
}

TEST(watch_queue, passes_frames_in_their_order) {
  model want(true);
  model got(true);
  show_at_once(want, 7);
  queued q(7);
  q.queue.pass_to(got.watch, q.ranges);
  EXPECT_EQ(got.watch.text(), want.watch.text());
  EXPECT_EQ(q.queue.size(), 0U);
  q.queue.pass_to(got.watch, {});
  EXPECT_EQ(got.watch.text(), want.watch.text());
}

TEST(watch_queue, forgets_passed_frames_even_after_trouble) {
  model want(false);
  model got(true);
  show_at_once(want, inf);
  queued q(inf);
  try {
    q.queue.pass_to(got.watch, q.ranges);
    FAIL() << "nothing was thrown";
  } catch (lowp::watch_error const& error) {
    EXPECT_EQ(error.alarm.text, want.watch.first()->text);
    EXPECT_EQ(error.alarm.tensor, "k.grad");
  }
  EXPECT_EQ(q.queue.size(), 0U);
}

}  // namespace
