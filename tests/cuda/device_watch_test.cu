// SPDX-License-Identifier: Apache-2.0
// On a GPU: a watch hears of device memory what it would hear of the host's. Without a GPU every
// test here is skipped; the order of what is told is tested in watch/queue_test.cpp.
#include <gtest/gtest.h>
#include <lowp/cuda/overflow_watch.cuh>

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "device_memory.hpp"

namespace {

using namespace lowp_test;
using lowp::float16;

using device_watch = on_a_gpu;

// A layer on a GPU, every second step of which is watched.
struct layer {
  lowp::overflow_watch<float16> watch{{.every = 2}};
  std::size_t place = watch.add("fc1", "Linear");
  device_range<lowp::abs_range_report<float16>> memory{
      std::vector<lowp::abs_range_report<float16>>(3)};
  std::span<lowp::abs_range_report<float16>> room{memory.data(), memory.size()};
  device_range<float> w{{2, -0.5f}}, x{std::vector<float>(100003, 3)};
  device_range<float16> y{{float16(6), float16(1.5f)}};
};

TEST_F(device_watch, hears_the_same_as_of_the_host) {
  layer l;
  lowp::overflow_watch<float16> want({.weights_every = 1});  // the stream reads every weight
  std::size_t const place = want.add("fc1", "Linear");
  lowp::cuda::overflow_watch gpu(l.watch, l.room);
  for (unsigned const step : {0U, 1U, 2U, 4U}) {
    EXPECT_EQ(l.watch.step(step), step != 1);
    gpu.forward(l.place).weight(l.w).input(l.x).output(l.y);
    gpu.tell();
    want.step(step);
    if (step != 1) want.forward(place).weight(l.w.read()).input(l.x.read()).output(l.y.read());
    EXPECT_EQ(l.watch.text(), want.text());
  }
}

TEST_F(device_watch, throws_when_it_is_told) {
  layer l;
  lowp::cuda::overflow_watch gpu(l.watch, l.room);
  device_range<float> const large({1, 65520, 7});
  gpu.forward(l.place).input(l.x).output(large);
  std::optional<lowp::watch_alarm> alarm;
  try {
    gpu.tell();
  } catch (lowp::watch_error const& error) {
    alarm = error.alarm;
  }
  ASSERT_TRUE(alarm);
  EXPECT_EQ(alarm->tensor, "output");
  EXPECT_EQ(alarm->range.overflow, 1U);
  // The room has forgotten the last step's findings.
  l.watch.step(2);
  gpu.forward(l.place).input(l.x).output(l.y);
  EXPECT_NO_THROW(gpu.tell());
}

// Also as what came of the expression that made it.
TEST_F(device_watch, has_frames_that_may_be_named) {
  layer l;
  lowp::cuda::overflow_watch gpu(l.watch, l.room);
  lowp::overflow_watch<float16> want;
  want.forward(want.add("fc1", "Linear")).weight(l.w.read()).input(l.x.read()).output(l.y.read());
  auto&& frame = gpu.forward(l.place).weight(l.w);
  auto const copy = frame.input(l.x);
  copy.output(l.y);
  gpu.tell();
  EXPECT_EQ(l.watch.text(), want.text());
}

TEST_F(device_watch, says_that_there_is_no_room) {
  layer l;
  lowp::cuda::overflow_watch gpu(l.watch, l.room.first(1));
  EXPECT_THROW(gpu.forward(l.place).input(l.x).output(l.y), std::invalid_argument);
}

}  // namespace
