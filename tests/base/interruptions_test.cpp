// SPDX-License-Identifier: Apache-2.0
// Calls that an exception leaves, that a signal interrupts, that run on many threads or in a child
// process: each has the bits of a call alone, and the control register stays.
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "support/support.hpp"

#if defined(__SSE2__)
#include <immintrin.h>

namespace {

using namespace lowp_test;

constexpr std::size_t size = 5000;
constexpr unsigned default_state = 0x1f80;
constexpr unsigned states[] = {default_state, default_state | _MM_ROUND_UP,
                               default_state | 0x8040U,  // subnormals are flushed
                               default_state | _MM_ROUND_TOWARD_ZERO | _MM_EXCEPT_MASK};

std::vector<float> const& numbers() {
  static std::vector<float> const made = [] {
    std::vector<float> x(size);
    std::mt19937 random(5);
    for (float& each : x) each = float_of(static_cast<std::uint32_t>(random()));
    return x;
  }();
  return made;
}

struct outputs {
  lowp::bfloat16 drawn[size];
  float widened[size];

  void fill(std::uint64_t seed) {
    lowp::cast(numbers(), drawn, lowp::stochastic{.seed = seed});
    lowp::cast(drawn, widened);
  }
  bool operator==(outputs const& other) const {
    return std::memcmp(this, &other, sizeof(outputs)) == 0;
  }
};

outputs filled(std::uint64_t seed) {
  outputs out;
  out.fill(seed);
  return out;
}

struct throwing {
  template <class F>
  F operator()(F const& x) const {
    if (lowp::lanes::any(lowp::lanes::is_nan(x))) throw std::runtime_error("a NaN");
    return x;
  }
};

TEST(interruptions, by_an_exception) {
  std::vector<float> out(size);
  for (unsigned const state : states) {
    bool caught = false;
    _mm_setcsr(state);
    try {
      lowp::transform(throwing{}, lowp::nearest_even{}, out, numbers());
    } catch (std::runtime_error const&) {
      caught = true;
    }
    unsigned const after = _mm_getcsr();
    _mm_setcsr(default_state);
    ASSERT_TRUE(caught);
    ASSERT_EQ(after, state);
  }
}

outputs of_handler;
outputs const* expected_by_handler;
std::atomic<int> signals, wrong_in_handler;

extern "C" void call_in_handler(int) {
  of_handler.fill(8);
  wrong_in_handler += of_handler == *expected_by_handler ? 0 : 1;
  ++signals;
}

TEST(interruptions, by_signals_that_call_the_library) {
  outputs const expected = filled(7);
  outputs const expected_there = filled(8);
  expected_by_handler = &expected_there;
  struct sigaction action{};
  struct sigaction before{};
  action.sa_handler = call_in_handler;
  ASSERT_EQ(::sigaction(SIGALRM, &action, &before), 0);
  itimerval const each_millisecond{{0, 1000}, {0, 1000}};
  ::setitimer(ITIMER_REAL, &each_millisecond, nullptr);
  int wrong = 0;
  outputs got;
  _mm_setcsr(states[2]);
  while (signals < 50) {
    got.fill(7);
    wrong += _mm_getcsr() == states[2] && got == expected ? 0 : 1;
  }
  _mm_setcsr(default_state);
  itimerval const never{};
  ::setitimer(ITIMER_REAL, &never, nullptr);
  ::sigaction(SIGALRM, &before, nullptr);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(wrong_in_handler, 0);
}

TEST(interruptions, by_sixteen_threads_at_once) {
  constexpr unsigned count = 16;
  std::vector<outputs> expected;
  for (unsigned i = 0; i < count; ++i) expected.push_back(filled(i));
  std::atomic<unsigned> ready = 0;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      unsigned const state = states[i % std::size(states)];
      outputs got;
      for (++ready; ready < count;) std::this_thread::yield();
      for (int repeat = 0; repeat < 20; ++repeat) {
        _mm_setcsr(state);
        got.fill(i);
        wrong += _mm_getcsr() == state && got == expected[i] ? 0 : 1;
      }
    });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(wrong, 0);
}

TEST(interruptions, by_a_fork) {
  outputs const expected = filled(3);
  for (int i = 0; i < 4; ++i) {
    pid_t const child = ::fork();
    if (child == 0) ::_exit(filled(3) == expected ? 0 : 1);
    EXPECT_TRUE(filled(3) == expected);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
}

}  // namespace
#endif
