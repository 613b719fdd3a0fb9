// SPDX-License-Identifier: Apache-2.0
// Threads that take turns on one processor: each runs until it waits for the others. The operating
// system has none to wake up.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>

namespace lowp_test {

class fibers {
 public:
  // Runs function(0) to function(count - 1), each as a fiber. A round goes backwards or not: what
  // one order hides, the other one shows.
  template <class F>
  static void run(unsigned count, bool backwards, F const& function) {
    while (all_.size() < count) all_.emplace_back();
    function_ = &function;
    call_ = [](unsigned thread) { (*static_cast<F const*>(function_))(thread); };
    for (unsigned thread = 0; thread < count; ++thread) all_[thread].prepare();
    for (unsigned ended = 0; ended < count;) {
      progress_ = false;
      for (unsigned turn = 0; turn < count; ++turn) {
        running_ = backwards ? count - 1 - turn : turn;
        fiber& next = all_[running_];
        if (next.has_ended) continue;
        ::swapcontext(&scheduler_, &next.context);
        if (next.has_ended) ++ended;
        progress_ |= next.has_ended;
      }
      if (!progress_) {
        std::fputs("the threads of a block wait for each other for ever\n", stderr);
        std::abort();
      }
    }
  }

  class barrier {
   public:
    explicit barrier(unsigned count) : count_(count) {}
    void arrive_and_wait() {
      if (++arrived_ == count_) {
        arrived_ = 0;
        ++generation_;
        progress_ = true;
        return;
      }
      unsigned const mine = generation_;
      while (generation_ == mine) ::swapcontext(&all_[running_].context, &scheduler_);
    }

   private:
    unsigned count_, arrived_ = 0, generation_ = 0;
  };

 private:
  struct fiber {
    static constexpr std::size_t stack_bytes = std::size_t{1} << 18;
    ucontext_t context{};
    std::unique_ptr<std::byte[]> stack = std::make_unique_for_overwrite<std::byte[]>(stack_bytes);
    bool has_ended = false;

    void prepare() {
      has_ended = false;
      ::getcontext(&context);
      context.uc_stack.ss_sp = stack.get();
      context.uc_stack.ss_size = stack_bytes;
      context.uc_link = &scheduler_;
      ::makecontext(&context, start, 0);
    }
  };
  static void start() {
    call_(running_);
    all_[running_].has_ended = true;
  }

  static inline std::deque<fiber> all_;
  static inline ucontext_t scheduler_;
  static inline void const* function_ = nullptr;
  static inline void (*call_)(unsigned thread) = nullptr;
  static inline unsigned running_ = 0;
  static inline bool progress_ = false;
};

}  // namespace lowp_test
