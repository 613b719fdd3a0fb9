// SPDX-License-Identifier: Apache-2.0
// The threads that fold a row together, their shares, and their memory. fold::sum has as many sums
// as a block has threads. A thread of a warp has eight of these sums, a thread of a block has one:
//
//     warp     thread 0: elements 0 1 2 3 4 5 6 7, 256 257 ...     thread 1: 8 9 ...
//     block    thread 0: elements 0, 256, 512 ...                  thread 1: 1, 257 ...
#pragma once

#include <lowp/cuda/rows/row_operand.hpp>
#include <lowp/lanes/row_folds.hpp>

namespace lowp::cuda {

inline constexpr unsigned warp_threads = 32;
static_assert(warp_threads * chunk_size == fold::sums);

template <unsigned Threads, class Thread>
class row_team {
 public:
  static constexpr bool is_warp = Threads == warp_threads;
  static_assert(is_warp || Threads == fold::sums);
  static constexpr unsigned threads = Threads;
  static constexpr int sums = fold::sums / Threads;
  /// Distances: between two of a thread's elements, and between those it takes at a time and the
  /// next.
  static constexpr unsigned step = is_warp ? 1 : Threads, stride = Threads * chunk_size;

  LOWP_FN explicit row_team(Thread const& thread) : thread_(thread) {}
  LOWP_FN unsigned thread() const {
    return is_warp ? thread_.thread() % Threads : thread_.thread();
  }
  LOWP_FN unsigned number() const { return is_warp ? thread_.thread() / Threads : 0; }

  /// Returns the first element of the first chunk that it loads and stores. The next chunk is
  /// `stride` away.
  LOWP_FN unsigned first_of_chunk() const { return thread() * chunk_size; }
  /// Returns the first element that it adds to a sum.
  LOWP_FN unsigned first_of_sums() const { return is_warp ? first_of_chunk() : thread(); }
  /// Waits, so that the others may read what a thread has written.
  LOWP_FN void barrier() const {
    if constexpr (!is_warp) thread_.barrier();
  }
  /// Returns fold::sums floats that the team shares. Write before a barrier, read after it. The
  /// next call returns others, so that a slow thread may still read.
  LOWP_FN float* words() {
    turn_ ^= 1;
    return thread_.template shared<float, 2 * fold::sums>() + turn_ * fold::sums;
  }
  /// Returns the fold over the threads of a warp: distances 16, 8, 4, 2, 1.
  template <class Fold, int Distance = warp_threads / 2>
  LOWP_FN float among_warp(float x) const {
    if constexpr (Distance == 0) {
      return x;
    } else {
      float const other = detail::warp<Thread>{thread_}.template other<Distance>(x);
      return among_warp<Fold, Distance / 2>(detail::fold_of(Fold{}, x, other));
    }
  }

 private:
  Thread const& thread_;
  unsigned turn_ = 0;
};

/// A fold over the threads of a team. add(k, x) adds one of the elements that a thread takes at a
/// time.
template <class Fold, class Team>
class team_fold;

template <class Team>
class team_fold<fold::maximum, Team> {
 public:
  static constexpr bool is_ordered = false;

  LOWP_FN void add(int, float x) { largest_ = lanes::maximum_number(x, largest_); }
  LOWP_FN float total(Team& team) const {
    float most = team.template among_warp<fold::maximum>(largest_);
    if constexpr (!Team::is_warp) {
      constexpr unsigned warps = Team::threads / warp_threads;
      float* const words = team.words();
      if (team.thread() % warp_threads == 0) words[team.thread() / warp_threads] = most;
      team.barrier();
      LOWP_UNROLL_ON_GPU
      for (unsigned warp = 0; warp < warps; ++warp) most = lanes::maximum_number(words[warp], most);
    }
    return most;
  }

 private:
  float largest_ = detail::neutral<float>(fold::maximum{});
};

template <class Team>
class team_fold<fold::sum, Team> {
 public:
  static constexpr bool is_ordered = true;

  LOWP_FN void add(int k, float x) {
    float& sum = sums_[k % Team::sums];
    sum = lanes::add(sum, x);
  }
  /// Adds sum i of the upper half to sum i of the lower one, until one is left.
  LOWP_FN float total(Team& team) {
    if constexpr (Team::is_warp) {
      LOWP_UNROLL_ON_GPU
      for (float& sum : sums_) sum = team.template among_warp<fold::sum>(sum);
      return halved(sums_);
    } else {
      float* const words = team.words();
      words[team.thread()] = sums_[0];
      team.barrier();
      unsigned const lane = team.thread() % warp_threads;
      float every_32nd[chunk_size];
      LOWP_UNROLL_ON_GPU
      for (unsigned k = 0; k < chunk_size; ++k) every_32nd[k] = words[lane + k * warp_threads];
      return team.template among_warp<fold::sum>(halved(every_32nd));
    }
  }

 private:
  LOWP_FN static float halved(float (&x)[chunk_size]) {
    LOWP_UNROLL_ON_GPU
    for (int half = chunk_size / 2; half != 0; half /= 2) {
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < half; ++k) x[k] = lanes::add(x[k], x[k + half]);
    }
    return x[0];
  }
  float sums_[Team::sums] = {};
};

template <class First, class Second, class Team>
class team_fold<fold::both<First, Second>, Team> {
  using first_fold = team_fold<First, Team>;
  using second_fold = team_fold<Second, Team>;

 public:
  static constexpr bool is_ordered = first_fold::is_ordered || second_fold::is_ordered;

  LOWP_FN void add(int k, fold::pair<float> const& x) {
    first_.add(k, x.first);
    second_.add(k, x.second);
  }
  LOWP_FN fold::pair<float> total(Team& team) {
    float const first = first_.total(team);
    return {first, second_.total(team)};
  }

 private:
  first_fold first_;
  second_fold second_;
};

/// A thread's elements in a row that its team shares. Element e is at kept_place<4>(e). An offset
/// counts from the thread's first elements and is a multiple of 64.
template <class Team>
class row_memory {
 public:
  /// @param floats  aligned to 16 bytes
  template <class Thread>
  LOWP_FN row_memory(Thread const& thread, float* floats, Team const& team)
      : half_{thread.register_address(floats + kept_place<4>(team.first_of_chunk())),
              thread.register_address(floats + kept_place<4>(team.first_of_chunk() + 4))},
        own_(thread.register_address(floats + kept_place<4>(team.first_of_sums()))) {}

  LOWP_FN void load_chunk(unsigned offset, float (&x)[chunk_size]) const {
    LOWP_UNROLL_ON_GPU
    for (int half = 0; half < 2; ++half) {
      four_floats const some = *reinterpret_cast<four_floats const*>(half_[half] + offset);
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < 4; ++k) x[half * 4 + k] = some.x[k];
    }
  }
  LOWP_FN void store_chunk(unsigned offset, float const (&x)[chunk_size]) const {
    LOWP_UNROLL_ON_GPU
    for (int half = 0; half < 2; ++half) {
      four_floats some;
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < 4; ++k) some.x[k] = x[half * 4 + k];
      *reinterpret_cast<four_floats*>(half_[half] + offset) = some;
    }
  }
  /// Loads the elements that the thread adds to its sums, and zeros behind the row's end.
  /// @param left  elements from the first one to the row's end
  LOWP_FN void load_own(unsigned offset, int left, float (&x)[chunk_size]) const {
    constexpr int step = Team::step;
    if constexpr (Team::is_warp) {
      load_chunk(offset, x);
    } else {
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k)
        x[k] = left > k * step ? own_[offset + static_cast<unsigned>(k * step)] : 0;
    }
  }
  LOWP_FN void store_own(unsigned offset, float const (&x)[chunk_size]) const {
    if constexpr (Team::is_warp) {
      store_chunk(offset, x);
    } else {
      LOWP_UNROLL_ON_GPU
      for (unsigned k = 0; k < chunk_size; ++k) own_[offset + k * Team::step] = x[k];
    }
  }

 private:
  float *half_[2], *own_;
};

}  // namespace lowp::cuda
