// SPDX-License-Identifier: Apache-2.0
// The library allocates nothing while it works, and never prints.
#include <gtest/gtest.h>
#include <lowp/lowp.hpp>
#include <lowp/watch.hpp>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <vector>

namespace {
std::atomic<std::size_t> allocations = 0;

void* counted(std::size_t size) {
  ++allocations;
  if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
}  // namespace

// All other forms of new and delete come down to these.
void* operator new(std::size_t size) { return counted(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

void* aligned(std::size_t size, std::size_t alignment) {
  ++allocations;
  if (void* const memory = std::aligned_alloc(alignment, (size + alignment - 1) & -alignment))
    return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size, std::align_val_t alignment) {
  return aligned(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace {

using namespace lowp;

// Everything once, with inputs that make it round, overflow and stall.
struct workload {
  std::vector<float> x = std::vector<float>(1003, 1e6f);
  std::vector<float> g = std::vector<float>(1003, 1e-3f);
  std::vector<bfloat16> p = std::vector<bfloat16>(1003, bfloat16(1));
  std::vector<float8_e4m3fn> m = std::vector<float8_e4m3fn>(1003, float8_e4m3fn(0));
  std::vector<float16> v = std::vector<float16>(1003, float16(0));
  update_report report{};

  void run() {
    stochastic const random{.seed = 1, .stream = 2, .offset = 3};
    cast(x, m);
    cast(x, p, random);
    cast(p, x, nearest_even{}, overflow::saturate);
    cast(p, p);
    fused_add(p, 0.5f, g);
    fused_add(p, 0.5f, g, random, overflow::saturate, report);
    update(p, g, sgd{.lr = 1}, 1, nearest_even{}, report);
    update(p, g, m, sgd{.lr = 1, .momentum = 0.5}, 2, random);
    update(p, g, m, v, adamw{}, 3, per_slot{.param = random, .first = upward{}, .second = {}},
           report);
    report += report;
    ratio = report.applied_ratio();
  }
  double ratio = 0;
};

TEST(silence, nothing_is_allocated_or_printed) {
  workload work;
  std::size_t const before_all = allocations;
  operator delete(operator new(1));
  ASSERT_EQ(allocations, before_all + 1);  // or nothing is counted

  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  std::size_t const before = allocations;
  work.run();
  work.run();
  std::size_t const after = allocations;
  std::fflush(stdout);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(after, before);
  EXPECT_EQ(work.report.count, 18U * 1003);  // three updates, doubled, three more, doubled
}

// Once it has seen every place in as many frames as it keeps.
TEST(silence, of_a_watch) {
  std::vector<float> const x(100, 2.0f);
  std::vector<bfloat16> const w(100, bfloat16(1));
  overflow_watch<float16> watch({.frames = 5});
  std::size_t const attention = watch.add("attention");
  std::size_t const norm = watch.add("norm");
  auto const steps = [&](std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t i = first; i < last; ++i) {
      watch.step(i);
      watch.forward(attention)
          .weight("a weight of a name that is not short", w)
          .weight("another weight of a name that is not short", w)
          .input(x)
          .input(x)
          .output(x)
          .output(x);
      watch.forward(norm).input(x).output(x);
      watch.backward(norm).output(x).input(x);
    }
  };
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  steps(0, 5);
  std::size_t const before = allocations;
  steps(5, 25);
  std::size_t const after = allocations;
  std::fflush(stdout);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(after, before);
  EXPECT_FALSE(watch.first());
}

}  // namespace
