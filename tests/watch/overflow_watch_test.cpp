// SPDX-License-Identifier: Apache-2.0
// overflow_watch: the text of a report, who is named first, and what is not done.
#include <gtest/gtest.h>
#include <lowp/watch.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>
#include <version>
#if defined(__cpp_lib_source_location)
#include <source_location>
#endif

#include "support/support.hpp"

namespace {

using lowp::bfloat16;
using lowp::float16;
using lowp::overflow_watch;
using lowp::watch_trouble;

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

// The words that `act` throws.
template <class Act>
lowp::watch_alarm alarm_of(Act const& act) {
  try {
    act();
  } catch (lowp::watch_error const& error) {
    EXPECT_EQ(error.what(), error.alarm.text);
    return error.alarm;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

using numbers = std::vector<float>;

lowp::update_report report_of(std::uint64_t count, std::uint64_t stalled, std::uint64_t overflowed,
                              std::uint64_t nonfinite) {
  lowp::update_report report;
  report.count = count;
  report.stalled = stalled;
  report.overflowed = overflowed;
  report.nonfinite = nonfinite;
  return report;
}

// The end of the report that the documentation of DebugUnderflowOverflow shows, of
// google/mt5-small.
TEST(overflow_watch, writes_the_report_of_hugging_face) {
  overflow_watch<float16> watch({.lines = 14});
  std::string const block = "encoder.block.2.layer.1.";
  std::size_t const wo = watch.add(block + "DenseReluDense.wo", "Linear");
  std::size_t const gelu = watch.add(block + "DenseReluDense", "T5DenseGatedGeluDense");
  unsigned const line = __LINE__ + 1;
  std::size_t const dropout = watch.add(block + "dropout", "Dropout");
  numbers const in{1.79e-06f, 4.65f};
  numbers const out{-6.27e4f, 3.18e-4f};
  watch.forward(wo).weight(numbers{1.01e-06f, -6.44f}).input(numbers{0, 9.74e3f}).output(out);
  watch.forward(gelu).input(in).output(out);
  lowp::watch_alarm const alarm =
      alarm_of([&] { watch.forward(dropout).input(out).output(numbers{0, 1, -inf}); });
  EXPECT_EQ(alarm.text,
            "Detected inf/nan during batch_number=0\n"
            "Last 3 forward frames:\n"
            "abs min  abs max  metadata\n"
            "                  encoder.block.2.layer.1.DenseReluDense.wo Linear\n"
            "1.01e-06 6.44e+00 weight\n"
            "0.00e+00 9.74e+03 input[0]\n"
            "3.18e-04 6.27e+04 output\n"
            "                  encoder.block.2.layer.1.DenseReluDense T5DenseGatedGeluDense\n"
            "1.79e-06 4.65e+00 input[0]\n"
            "3.18e-04 6.27e+04 output\n"
            "                  encoder.block.2.layer.1.dropout Dropout\n"
            "3.18e-04 6.27e+04 input[0]\n"
            "0.00e+00      inf output\n"
            "encoder.block.2.layer.1.dropout (overflow_watch_test.cpp:" +
                std::to_string(line) + "): output: 1 of 3 infinite");
  EXPECT_EQ(alarm.trouble, watch_trouble::infinite);
  EXPECT_EQ(alarm.place, dropout);
  EXPECT_EQ(alarm.name, block + "dropout");
  EXPECT_EQ(alarm.type, "Dropout");
  EXPECT_EQ(alarm.where.line, line);
  EXPECT_EQ(alarm.tensor, "output");
  EXPECT_EQ(alarm.range.infinite, 1U);
  EXPECT_EQ(watch.first()->text, alarm.text);
}

TEST(overflow_watch, takes_the_place_that_it_is_given) {
  overflow_watch watch;
  watch.add("a", "", {"models/t5.cpp", 12});
  EXPECT_EQ(watch.places()[0].where.text(), "t5.cpp:12");
#if defined(__cpp_lib_source_location)
  const auto here = std::source_location::current();
  watch.add("b", "", here);
  EXPECT_EQ(watch.places()[1].where.line, here.line());
  EXPECT_STREQ(watch.places()[1].where.file, here.file_name());
#endif
}

TEST(overflow_watch, writes_numbers_as_printf_does) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 300000; ++i) {
    // No NaN; all exponents, ties of the last digit among them.
    auto const bits = static_cast<std::uint32_t>(random() % 0x7f800001U);
    float const x = i < 1000 ? static_cast<float>(i * 5) / 1000 : lowp_test::float_of(bits);
    std::array<char, 32> want{};
    std::snprintf(want.data(), want.size(), "%8.2e", double{x});
    ASSERT_STREQ(lowp::detail::watch_number(x).c_str(), want.data());
  }
  EXPECT_STREQ(lowp::detail::watch_number(nan_value).c_str(), "     nan");
  EXPECT_STREQ(lowp::detail::watch_number(inf).c_str(), "     inf");
}

TEST(overflow_watch, names_what_overflows_before_it_does) {
  overflow_watch<float16> watch;
  std::size_t const up = watch.add("up");
  std::size_t const down = watch.add("down", "Linear");
  watch.step(7);
  watch.forward(up).output(std::vector<bfloat16>(5, bfloat16(65280)));
  lowp::watch_alarm const alarm = alarm_of([&] {
    watch.forward(down)
        .weight(numbers{1})
        .output(std::vector<bfloat16>{bfloat16(-65536), bfloat16(1), bfloat16(1e30f)});
  });
  EXPECT_EQ(alarm.trouble, watch_trouble::overflow);
  EXPECT_EQ(alarm.text.substr(0, alarm.text.find(" (")),
            "Detected overflow during batch_number=7\n"
            "Last 2 forward frames:\n"
            "abs min  abs max  metadata\n"
            "                  up\n"
            "6.53e+04 6.53e+04 output\n"
            "                  down Linear\n"
            "1.00e+00 1.00e+00 weight\n"
            "1.00e+00 1.00e+30 output\n"
            "down");
  EXPECT_EQ(alarm.text.substr(alarm.text.find("): ")), "): output: 2 of 3 beyond 65504");
  // In bfloat16 there is no trouble.
  overflow_watch<bfloat16> wide;
  wide.forward(wide.add("down")).output(numbers{3e38f});
  EXPECT_FALSE(wide.first());
}

TEST(overflow_watch, says_where_it_comes_from) {
  overflow_watch watch;
  std::size_t const a = watch.add("a");
  lowp::watch_alarm alarm = alarm_of([&] { watch.forward(a).input(numbers{nan_value, inf, 1}); });
  EXPECT_EQ(alarm.text.substr(alarm.text.find("): ")),
            "): input[0]: 1 of 3 NaN, 1 of 3 infinite, made by what is not watched");
  EXPECT_EQ(alarm.trouble, watch_trouble::nan);
  watch.step(1);
  alarm = alarm_of([&] { watch.backward(a).output(numbers{1}).output(numbers{inf}); });
  EXPECT_EQ(alarm.text.substr(alarm.text.find("): ")),
            "): grad_output[1]: 1 of 1 infinite, made by what is not watched");
  watch.step(2);
  alarm = alarm_of([&] { watch.backward(a).output(numbers{1}).input(numbers{inf}); });
  EXPECT_EQ(alarm.text.substr(alarm.text.find("): ")), "): grad_input[0]: 1 of 1 infinite");
  watch.step(3);
  alarm = alarm_of([&] { watch.forward(a).weight(numbers{1}).weight("bias", numbers{nan_value}); });
  EXPECT_EQ(alarm.text.substr(alarm.text.find("): ")), "): bias: 1 of 1 NaN");
}

TEST(overflow_watch, writes_backward_frames_several_outputs_empty_ones_and_nan) {
  overflow_watch watch({.throws = false});
  std::size_t const a = watch.add("a", "Attention");
  watch.forward(a)
      .weight("q", numbers{1, 2})
      .weight("k", numbers{3})
      .input(numbers{})
      .input(numbers{0.5f});
  watch.forward(a).output(numbers{nan_value, 2}).output(numbers{4});
  watch.step(1);
  watch.backward(a).output(numbers{-8}).input(numbers{16}).weight("k", numbers{32});
  EXPECT_EQ(watch.text(),
            "Last 3 frames:\n"
            "abs min  abs max  metadata\n"
            "                  *** batch number=0 ***\n"
            "                  a Attention\n"
            "1.00e+00 2.00e+00 q\n"
            "3.00e+00 3.00e+00 k\n"
            "            empty input[0]\n"
            "5.00e-01 5.00e-01 input[1]\n"
            "                  a Attention\n"
            "     nan      nan output[0]\n"
            "4.00e+00 4.00e+00 output[1]\n"
            "\n\n                  *** Starting batch number=1 ***\n"
            "abs min  abs max  metadata\n"
            "                  a Attention (backward)\n"
            "8.00e+00 8.00e+00 grad_output[0]\n"
            "1.60e+01 1.60e+01 grad_input[0]\n"
            "3.20e+01 3.20e+01 k.grad\n");
  EXPECT_EQ(watch.first()->tensor, "output");
}

std::string frames_of(unsigned first, unsigned last) {
  std::string text =
      "Last " + std::to_string(last - first + 1) + " forward frames:\nabs min  abs max  metadata\n";
  for (unsigned i = first; i <= last; ++i) {
    std::array<char, 64> line{};
    std::snprintf(line.data(), line.size(), "%18sp\n%8.2e %8.2e output\n", "", i + 0.0, i + 0.0);
    text += line.data();
  }
  return text;
}

TEST(overflow_watch, remembers_the_last_frames) {
  for (std::size_t const most : {1U, 2U, 3U, 21U}) {
    overflow_watch watch({.frames = most});
    std::size_t const place = watch.add("p");
    EXPECT_EQ(watch.text(), "Last 0 forward frames:\nabs min  abs max  metadata\n");
    for (unsigned i = 1; i <= 64; ++i) {
      watch.forward(place).output(numbers{static_cast<float>(i)});
      EXPECT_EQ(watch.text(), frames_of(i > most ? i - static_cast<unsigned>(most) + 1 : 1, i));
    }
  }
  overflow_watch by_default;
  std::size_t const place = by_default.add("p");
  for (int i = 1; i <= 30; ++i) by_default.forward(place).output(numbers{static_cast<float>(i)});
  EXPECT_EQ(by_default.text(), frames_of(10, 30));
}

TEST(overflow_watch, says_of_which_step_the_first_frames_are_where_there_are_several) {
  overflow_watch watch({.frames = 2});
  std::size_t const a = watch.add("a");
  auto const one = [&](unsigned step) {
    watch.step(step);
    watch.forward(a).output(numbers{1});
  };
  std::string const header = "abs min  abs max  metadata\n";
  std::string const frame = "                  a\n1.00e+00 1.00e+00 output\n";
  one(7);
  one(7);
  EXPECT_EQ(watch.text(), "Last 2 forward frames:\n" + header + frame + frame);
  one(8);
  EXPECT_EQ(watch.text(),
            "Last 2 forward frames:\n" + header + "                  *** batch number=7 ***\n" +
                frame + "\n\n                  *** Starting batch number=8 ***\n" + header + frame);
  one(8);
  EXPECT_EQ(watch.text(), "Last 2 forward frames:\n" + header + frame + frame);
}

std::size_t lines_of(std::string const& text) {
  return 1 + static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

TEST(overflow_watch, writes_ten_lines_and_all_frames_on_request) {
  auto const alarm_with = [](lowp::watch_policy const& policy, unsigned inputs) {
    overflow_watch watch(policy);
    std::size_t const a = watch.add("a", "", {"x.cpp", 7});
    for (int i = 0; i < 30; ++i) watch.forward(a).input(numbers{1}).output(numbers{2});
    auto const frame = watch.forward(a);
    for (unsigned i = 0; i < inputs; ++i) frame.input(numbers{1});
    std::string const text = alarm_of([&] { frame.output(numbers{inf}); }).text;
    EXPECT_EQ(lines_of(watch.text()), 2 + 20 * 3 + 2 + inputs + 1) << "with an end of line";
    return text;
  };
  EXPECT_EQ(alarm_with({}, 1),
            "Detected inf/nan during batch_number=0\n"
            "Last 2 of 21 forward frames:\n"
            "abs min  abs max  metadata\n"
            "                  a\n"
            "1.00e+00 1.00e+00 input[0]\n"
            "2.00e+00 2.00e+00 output\n"
            "                  a\n"
            "1.00e+00 1.00e+00 input[0]\n"
            "     inf      inf output\n"
            "a (x.cpp:7): output: 1 of 1 infinite");
  EXPECT_EQ(lines_of(alarm_with({}, 2)), 8U);  // a second frame would be the 11th line
  EXPECT_EQ(lines_of(alarm_with({}, 20)), 26U);
  EXPECT_EQ(lines_of(alarm_with({.lines = 0}, 1)), 7U);
  EXPECT_EQ(lines_of(alarm_with({.lines = 1000}, 1)), 4U + 21 * 3);
}

TEST(overflow_watch, counts_the_lines_between_steps) {
  for (std::size_t lines = 5; lines < 40; ++lines) {
    overflow_watch watch({.every = 2, .lines = lines});
    std::size_t const a = watch.add("a");
    for (unsigned step = 0; step < 9; ++step) {
      watch.step(step);
      watch.forward(a).output(numbers{1});
    }
    watch.step(9);
    std::string const text = alarm_of([&] { watch.update(a, report_of(1, 0, 0, 1)); }).text;
    EXPECT_LE(lines_of(text), std::max<std::size_t>(lines, 7));
    EXPECT_GT(lines_of(text) + 7, std::min<std::size_t>(lines, 32));
  }
}

// Only the first of a step is told; all are counted.
TEST(overflow_watch, calls_back_once_a_step) {
  std::vector<std::string> told;
  overflow_watch<float16> watch({.call_back = [&](lowp::watch_alarm const& alarm) {
    told.push_back(std::to_string(alarm.step) + " " + alarm.name + " " + alarm.tensor);
  }});
  std::size_t const a = watch.add("a");
  std::size_t const b = watch.add("b");
  for (unsigned const step : {1U, 2U, 3U}) {
    watch.step(step);
    watch.forward(a).output(numbers{step == 2 ? 1.0f : 1e5f});
    watch.forward(b).input(numbers{inf, nan_value}).output(numbers{nan_value});
  }
  EXPECT_EQ(told, (std::vector<std::string>{"1 a output", "2 b input[0]", "3 a output"}));
  EXPECT_EQ(watch.places()[a].overflow, 2U);
  EXPECT_EQ(watch.places()[a].nan, 0U);
  EXPECT_EQ(watch.places()[b].nan, 6U);
  EXPECT_EQ(watch.places()[b].infinite, 3U);
  EXPECT_EQ(watch.first()->step, 1U);
}

// The frames of the call_back take the memory of the frame that called it.
TEST(overflow_watch, calls_back_what_begins_frames) {
  overflow_watch<float>* again = nullptr;
  std::string told;
  overflow_watch<float> watch({.frames = 1, .call_back = [&](lowp::watch_alarm const& alarm) {
                                 told = alarm.text.substr(alarm.text.rfind('\n') + 1);
                                 again->forward(1).input(numbers{1});
                               }});
  again = &watch;
  watch.add("a", "", {"model.cpp", 1});
  watch.add("b");
  for (unsigned const step : {1U, 2U}) {
    watch.step(step);
    numbers const x{step == 1 ? 1 : inf};
    // The output makes the watch read the last two weights, which wait in step 2.
    watch.forward(0).weight("u", numbers{1}).weight("v", x).weight("w", x).output(x);
  }
  EXPECT_EQ(told, "a (model.cpp:1): v: 1 of 1 infinite");
  EXPECT_EQ(watch.places()[0].infinite, 3U);
  EXPECT_EQ(watch.places()[1].infinite, 0U);
}

TEST(overflow_watch, counts_and_goes_on) {
  overflow_watch watch({.throws = false});
  std::size_t const a = watch.add("a");
  watch.forward(a).output(numbers{1});
  EXPECT_FALSE(watch.first());
  for (int i = 0; i < 5; ++i) watch.forward(a).output(numbers{inf});
  EXPECT_EQ(watch.places()[a].infinite, 5U);
  EXPECT_EQ(watch.first()->name, "a");
}

TEST(overflow_watch, throws_once_a_step) {
  overflow_watch watch;
  std::size_t const a = watch.add("a");
  for (unsigned const step : {1U, 2U}) {
    watch.step(step);
    EXPECT_THROW(watch.forward(a).output(numbers{inf}), lowp::watch_error);
    watch.forward(a).output(numbers{inf});
  }
  EXPECT_EQ(watch.places()[a].infinite, 4U);
}

// Steps of these batches are not counted: each bad one is skipped, and the watch hears of the next.
TEST(overflow_watch, throws_anew_where_no_step_was_ever_begun) {
  overflow_watch watch;
  std::size_t const a = watch.add("a");
  std::size_t const b = watch.add("b");
  std::string thrown;
  auto const batch = [&](float of_a, float of_b) {
    try {
      watch.forward(a).weight(numbers{1}).output(numbers{of_a});
      watch.forward(b).output(numbers{of_b});
      thrown += "- ";
    } catch (lowp::watch_error const& error) {
      EXPECT_EQ(error.alarm.step, 0U);
      thrown += error.alarm.name + " ";
    }
  };
  batch(inf, inf);
  batch(1, 1);
  batch(1, nan_value);
  batch(inf, 1);
  EXPECT_EQ(thrown, "a - b a ");
  EXPECT_EQ(watch.first()->trouble, watch_trouble::infinite);
  EXPECT_EQ(watch.places()[a].infinite, 2U);
  watch.step(0);  // from now on, once a step
  batch(inf, 1);
  batch(inf, nan_value);
  watch.step(0);
  batch(1, nan_value);
  EXPECT_EQ(thrown, "a - b a a - b ");
}
TEST(overflow_watch, calls_back_once_where_no_step_was_ever_begun) {
  int told = 0;
  overflow_watch watch({.call_back = [&](lowp::watch_alarm const&) { ++told; }});
  std::size_t const a = watch.add("a");
  for (int i = 0; i < 3; ++i) watch.forward(a).output(numbers{inf});
  EXPECT_EQ(told, 1);
  EXPECT_EQ(watch.places()[a].infinite, 3U);
}

TEST(overflow_watch, looks_at_every_kth_step_only) {
  overflow_watch watch({.every = 4, .throws = false});
  std::size_t const a = watch.add("a");
  for (unsigned step = 0; step < 12; ++step) {
    EXPECT_EQ(watch.step(step), step % 4 == 0);
    watch.forward(a).output(numbers{static_cast<float>(step), inf});
    watch.update(a, report_of(1, 0, 0, 1));  // costs nothing
  }
  EXPECT_EQ(watch.places()[a].infinite, 3U);
  EXPECT_EQ(watch.places()[a].nan, 12U);
  EXPECT_EQ(watch.first()->step, 0U);
}

// `a` overflowed; the update of `b` is shown to the watch first.
TEST(overflow_watch, says_of_a_step_that_is_not_watched_that_it_does_not_know_the_cause) {
  overflow_watch watch({.every = 3});
  std::size_t const a = watch.add("a", "", {"x.cpp", 1});
  std::size_t const b = watch.add("b", "", {"x.cpp", 2});
  lowp::update_amax const lost{{lowp_test::float_bits(nan_value)}, {0}};
  auto const step = [&](unsigned number, float made) {
    watch.step(number);
    watch.forward(a).output(numbers{made});
    watch.forward(b).input(numbers{made});
  };
  std::string const cause = ", not necessarily where it began: watch each step to see";
  step(1, inf);
  lowp::watch_alarm alarm = alarm_of([&] { watch.update(b, report_of(4, 0, 0, 1)); });
  EXPECT_EQ(alarm.text,
            "Detected inf/nan during batch_number=1\n"
            "Last 0 forward frames:\n"
            "abs min  abs max  metadata\n"
            "b (x.cpp:2): update: 1 of 4 not finite\n"
            "batch_number=1 was not watched (policy.every = 3), and no frame was seen before it; "
            "this is the first update found not finite" +
                cause);
  step(3, 2);
  step(4, inf);
  alarm = alarm_of([&] { watch.update(b, lost); });
  EXPECT_EQ(alarm.text.substr(0, 64),
            "Detected inf/nan during batch_number=4\nLast 2 forward frames:\nab");
  EXPECT_EQ(alarm.text.substr(alarm.text.rfind('\n')),
            "\nbatch_number=4 was not watched (policy.every = 3), and the frames above are of "
            "batch_number=3 and before; this is the first update found not finite" +
                cause);
  step(5, 1);
  alarm = alarm_of([&] { watch.update(b, report_of(4, 0, 1, 0)); });
  EXPECT_NE(alarm.text.find("this is the first update found to overflow" + cause),
            std::string::npos);
  // Who stands still is known, the frames are old nonetheless.
  step(5, 1);
  alarm = alarm_of([&] { watch.stalled(b, {}); });
  EXPECT_EQ(alarm.text.substr(alarm.text.rfind('\n')),
            "\nbatch_number=5 was not watched (policy.every = 3), and the frames above are of "
            "batch_number=3 and before");
  // In a watched step there is nothing to say.
  step(6, 1);
  alarm = alarm_of([&] { watch.update(b, lost); });
  EXPECT_EQ(alarm.text.find("not watched"), std::string::npos);
  // If each step is watched, the watch names the cause.
  overflow_watch each;
  each.step(4);
  alarm = alarm_of([&] { each.forward(each.add("a")).output(numbers{inf}); });
  EXPECT_EQ(alarm.name, "a");
}

TEST(overflow_watch, names_updates_that_overflow_and_tensors_that_stand_still) {
  overflow_watch watch;
  std::size_t const norm = watch.add("norm", "LayerNorm");
  watch.forward(norm).weight(numbers{1}).output(numbers{2});
  watch.update(norm, report_of(4, 4, 0, 0));
  lowp::watch_alarm alarm = alarm_of([&] { watch.update(norm, report_of(4, 0, 3, 0)); });
  EXPECT_EQ(alarm.trouble, watch_trouble::overflow);
  EXPECT_EQ(alarm.text.substr(alarm.text.find("): ")), "): update: 3 of 4 beyond what is stored");
  watch.step(1);
  alarm = alarm_of([&] { watch.update(norm, report_of(4, 0, 3, 1)); });
  EXPECT_EQ(alarm.trouble, watch_trouble::nan);
  EXPECT_EQ(alarm.text.substr(alarm.text.find("): ")), "): update: 1 of 4 not finite");

  // A second moment overflows, and nothing else.
  std::vector<float> p(4, 1), m(4);
  std::vector<float> const g{1e4f, 1, 1, 1};
  std::vector<float16> v(4);
  lowp::update_report lost;
  lowp::update(p, g, m, v, lowp::adamw{}, 1, lost);
  watch.step(4);
  alarm = alarm_of([&] { watch.update(norm, lost); });
  EXPECT_EQ(alarm.trouble, watch_trouble::nan);
  EXPECT_EQ(alarm.text.substr(alarm.text.find("): ")), "): update: 1 of 4 not finite");

  // Nothing of what is asked for arrives.
  lowp::stall_watch stalls({.evidence = 0});
  std::size_t const number = stalls.add("norm.weight", 0x1p-7);
  watch.step(2);
  alarm = alarm_of([&] {
    for (unsigned step = 0; step < 100; ++step) {
      lowp::update_report report = report_of(1, 1, 0, 0);
      report.requested.add(1e-4, lowp::detail::alone{});
      if (auto const stall = stalls.observe(number, step, 1e-4, report))
        watch.stalled(norm, *stall);
    }
  });
  EXPECT_EQ(alarm.trouble, watch_trouble::stalled);
  EXPECT_EQ(alarm.tensor, "norm.weight");
  EXPECT_EQ(alarm.text.substr(0, 47), "Detected stalled tensor during batch_number=2\nL");
  EXPECT_NE(alarm.text.find("2.00e+00 2.00e+00 output\nnorm (overflow_watch_test.cpp:"),
            std::string::npos);
  EXPECT_NE(alarm.text.find("): norm.weight is frozen at step "), std::string::npos);
  EXPECT_EQ(watch.places()[norm].stalled, 1U);
  // A tensor that is called as its place is named once.
  lowp::stall_alarm same{0, 5, 1e-4, {.name = "norm"}};
  watch.step(3);
  alarm = alarm_of([&] { watch.stalled(norm, same); });
  EXPECT_EQ(alarm.text.substr(alarm.text.find("): ")), "): " + same.verdict());
  EXPECT_EQ(same.verdict().substr(0, 17), "frozen at step 5:");
}

TEST(overflow_watch, names_what_an_update_saw) {
  overflow_watch<float16> watch({.every = 100});
  std::size_t const a = watch.add("a", "Linear");
  auto const after = [&](float gradient, float weight) {
    std::uint64_t const nan[] = {std::isnan(gradient) ? 1U : 0U, std::isnan(weight) ? 1U : 0U};
    return lowp::update_amax{{nan[0] != 0 ? 0 : lowp_test::float_bits(gradient)},
                             {nan[1] != 0 ? 0 : lowp_test::float_bits(weight)},
                             nan[0],
                             nan[1]};
  };
  auto const verdict = [](lowp::watch_alarm const& alarm) {
    std::size_t const begin = alarm.text.find("): ");
    return alarm.text.substr(begin, alarm.text.find('\n', begin) - begin);
  };
  watch.step(0);
  watch.update(a, after(65519, 65519));  // rounds to 65504
  watch.step(7);                         // in any step
  lowp::watch_alarm alarm = alarm_of([&] { watch.update(a, after(1, 65520)); });
  EXPECT_EQ(alarm.trouble, watch_trouble::overflow);
  EXPECT_EQ(alarm.tensor, "weight");
  EXPECT_EQ(alarm.step, 7U);
  EXPECT_EQ(alarm.range.max_abs.value(), 65520);
  EXPECT_EQ(verdict(alarm), "): weight: up to 65520 in an update");
  watch.step(8);
  alarm = alarm_of([&] { watch.update(a, "bias", after(inf, nan_value)); });
  EXPECT_EQ(alarm.trouble, watch_trouble::infinite);
  EXPECT_EQ(verdict(alarm), "): bias.grad: infinite in an update");
  watch.step(9);
  alarm = alarm_of([&] { watch.update(a, "bias", after(0, nan_value)); });
  EXPECT_EQ(alarm.trouble, watch_trouble::nan);
  EXPECT_EQ(verdict(alarm), "): bias: NaN in an update");
  EXPECT_EQ(alarm.range.nan, 1U);
  EXPECT_EQ(watch.places()[a].overflow, 1U);
  EXPECT_EQ(watch.places()[a].infinite, 1U);
  EXPECT_EQ(watch.places()[a].nan, 1U);
}

TEST(overflow_watch, takes_every_readable_range_and_findings_of_others) {
  overflow_watch<float16> watch;
  std::size_t const a = watch.add("a");
  std::array<lowp::float8_e5m2, 2> codes{lowp::float8_e5m2(2), lowp::float8_e5m2(4)};
  std::vector<float16> const halves{float16(3)};
  watch.forward(a)
      .weight(lowp::scaled{codes, 2.0f})
      .input(std::span<float16 const>(halves))
      .input(lowp::abs_range_of<float16>(numbers{5, 6}))
      .output(halves);
  EXPECT_EQ(watch.text(),
            "Last 1 forward frames:\n"
            "abs min  abs max  metadata\n"
            "                  a\n"
            "1.00e+00 2.00e+00 weight\n"
            "3.00e+00 3.00e+00 input[0]\n"
            "5.00e+00 6.00e+00 input[1]\n"
            "3.00e+00 3.00e+00 output\n");
}

template <class Act>
std::string refusal(Act const& act) {
  try {
    act();
  } catch (std::invalid_argument const& error) {
    return error.what();
  }
  return "";
}

TEST(overflow_watch, refuses_what_makes_no_sense) {
  EXPECT_EQ(refusal([] { overflow_watch({.frames = 0}); }),
            "lowp::overflow_watch: policy.frames is 0");
  EXPECT_EQ(refusal([] { overflow_watch({.every = 0}); }),
            "lowp::overflow_watch: policy.every is 0");
  EXPECT_EQ(refusal([] { overflow_watch({.weights_every = 0}); }),
            "lowp::overflow_watch: policy.weights_every is 0");
  overflow_watch watch({.frames = 2});
  EXPECT_EQ(refusal([&] { watch.forward(0); }), "lowp::overflow_watch: there is no place 0 of 0");
  std::size_t const a = watch.add("a");
  EXPECT_EQ(refusal([&] { watch.update(3, lowp::update_report{}); }),
            "lowp::overflow_watch: there is no place 3 of 1");
  auto const old = watch.forward(a);
  watch.forward(a);
  old.output(numbers{1});
  watch.forward(a);
  EXPECT_EQ(refusal([&] { old.output(numbers{1}); }),
            "lowp::overflow_watch: a tensor of a frame comes after 2 later frames");
  std::array<float, 0> const none{};
  watch.forward(a).output(none);
}

}  // namespace
