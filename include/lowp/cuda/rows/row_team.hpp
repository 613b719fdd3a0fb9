// SPDX-License-Identifier: Apache-2.0
// The threads that fold a row together, their shares, and their memory. fold::sum has as many sums
// as a block has threads. A thread of a warp has eight of these sums, a thread of a block has one:
//
//     warp     thread 0: elements 0 1 2 3 4 5 6 7, 256 257 ...     thread 1: 8 9 ...
//     block    thread 0: elements 0, 256, 512 ...                  thread 1: 1, 257 ...
//
// Short rows share a warp: 8 threads have a row of at most 64 elements, 16 one of 128. A row of 32
// elements that stays in registers has 4. The other sums are zero, so the bits are the same. A
// warp's rows take each step together.
#pragma once

#include <lowp/cuda/rows/row_operand.hpp>
#include <lowp/lanes/row_folds.hpp>

namespace lowp::cuda {

inline constexpr unsigned warp_threads = 32;
static_assert(warp_threads * chunk_size == fold::sums);
/// A row's part of shared memory is a multiple of this: the shortest row with a warp's threads.
inline constexpr std::size_t row_unit = 8 * chunk_size;

template <unsigned Threads, class Thread>
class row_team {
 public:
  static constexpr bool is_warp = Threads == warp_threads;
  static_assert(is_warp || Threads == fold::sums);
  static constexpr int sums = fold::sums / Threads;
  /// Distances: between two of a thread's elements, and between those it takes at a time and the
  /// next.
  static constexpr unsigned step = is_warp ? 1 : Threads, stride = Threads * chunk_size;

  /// @param shift  log2 of the threads that have a row of a warp
  LOWP_FN explicit row_team(Thread const& thread, unsigned shift = most_shift)
      : thread_(thread), shift_(shift) {}
  LOWP_FN unsigned threads() const { return is_warp ? 1u << shift_ : Threads; }
  LOWP_FN unsigned thread() const { return thread_.thread() & (threads() - 1); }
  LOWP_FN unsigned number() const { return is_warp ? thread_.thread() >> shift_ : 0; }
  /// Returns the teams of the block.
  LOWP_FN unsigned count() const { return is_warp ? thread_.threads() >> shift_ : 1; }

  /// Returns the first element of the first chunk that it loads and stores. The next chunk is
  /// `stride` away.
  LOWP_FN unsigned first_of_chunk() const { return thread() * chunk_size; }
  /// Returns the first element that it adds to a sum.
  LOWP_FN unsigned first_of_sums() const { return is_warp ? first_of_chunk() : thread(); }
  /// Waits, so that the others may read what a thread has written.
  LOWP_FN void barrier() const {
    if constexpr (!is_warp) thread_.barrier();
  }
  /// Likewise if threads read what is not their own.
  LOWP_FN void full_barrier() const { is_warp ? thread_.warp_barrier() : thread_.barrier(); }
  /// Returns true if a row wants something whose team is in this warp.
  LOWP_FN bool any(bool wants) const { return is_warp ? thread_.any_of_warp(wants) : wants; }
  /// Returns fold::sums floats that the team shares. Write before a barrier, read after it. The
  /// next call returns others, so that a slow thread may still read.
  LOWP_FN float* words() {
    turn_ ^= 1;
    return thread_.template shared<float, 2 * fold::sums>() + turn_ * fold::sums;
  }
  /// Returns the fold over the threads of a warp that have a row. Each distance is half of the one
  /// before, down to 1.
  template <class Fold>
  LOWP_FN float among_warp(float x) const {
    unsigned const distance = (is_warp ? threads() : warp_threads) / 2;
    return among_near<Fold>(among_far<Fold>(x, distance), distance);
  }
  /// Returns the sum of all sums of a warp's row. With each distance, a thread keeps half of its
  /// eight sums, and gives the others away. Three of them later it has one.
  LOWP_FN float sum_of_row(float (&x)[chunk_size]) const {
    unsigned const distance = threads() / 2;
    halve<4>(x, distance);
    halve<2>(x, distance / 2);
    if (distance < 4) {  // four threads have two sums each
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < 2; ++k) {
        x[k] = lanes::add(x[k], other(x[k], distance));
        x[k] = lanes::add(x[k], other(x[k], distance / 2));
      }
      return lanes::add(x[0], x[1]);
    }
    halve<1>(x, distance / 4);
    return among_far<fold::sum>(among_near<fold::sum>(x[0], distance), distance);
  }

 private:
  static constexpr unsigned most_shift = 5;

  LOWP_FN float other(float x, unsigned distance) const {
    return lanes::from_bits<float>(thread_.exchanged(lanes::bits(x), distance));
  }
  // The first three distances, and the others.
  template <class Fold>
  LOWP_FN float among_far(float x, unsigned distance) const {
    LOWP_UNROLL_ON_GPU
    for (int i = 0; i < 3; ++i, distance /= 2)
      if (i < 2 || distance != 0) x = detail::fold_of(Fold{}, x, other(x, distance));
    return x;
  }
  template <class Fold>
  LOWP_FN float among_near(float x, unsigned distance) const {
    for (distance /= chunk_size; distance != 0; distance /= 2)
      x = detail::fold_of(Fold{}, x, other(x, distance));
    return x;
  }
  template <int Kept>
  LOWP_FN void halve(float (&x)[chunk_size], unsigned distance) const {
    bool const is_upper = (thread_.thread() & distance) != 0;
    LOWP_UNROLL_ON_GPU
    for (int k = 0; k < Kept; ++k) {
      float const low = x[k], high = x[k + Kept];  // no place that depends on the thread
      x[k] = lanes::add(is_upper ? high : low, other(is_upper ? low : high, distance));
    }
  }

  Thread const& thread_;
  unsigned shift_;
  unsigned turn_ = 0;
};

/// A thread, to accesses of halves of chunks.
template <class Thread>
struct thread_in_row {
  Thread const& thread;
  unsigned of_row;

  LOWP_FN unsigned threads() const { return of_row; }
  template <class T>
  LOWP_FN T read(unsigned char const* at) const {
    return thread.template read<T>(at);
  }
  LOWP_FN void write(unsigned char* at, auto const& x) const { thread.write(at, x); }
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
      constexpr unsigned warps = fold::sums / warp_threads;
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
      return team.sum_of_row(sums_);
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
 public:
  static constexpr bool is_ordered =
      team_fold<First, Team>::is_ordered || team_fold<Second, Team>::is_ordered;

  LOWP_FN void add(int k, fold::pair<float> const& x) {
    first_.add(k, x.first);
    second_.add(k, x.second);
  }
  LOWP_FN fold::pair<float> total(Team& team) {
    float const first = first_.total(team);
    return {first, second_.total(team)};
  }

 private:
  team_fold<First, Team> first_;
  team_fold<Second, Team> second_;
};

/// A thread's elements in a row that its team shares. Element e is at kept_place<4>(e). An offset
/// counts from the thread's first elements and is a multiple of 64.
template <class Team>
class row_memory {
 public:
  /// @param row   aligned to 16 bytes
  /// @param lead  elements from the start of the first chunk to the row
  LOWP_FN row_memory(auto const& thread, float* row, Team const& team, unsigned lead = 0)
      : row_memory(thread, row, team.first_of_chunk(), team.first_of_chunk() + 4,
                   lead + team.first_of_sums()) {}
  /// The halves of a thread's chunks begin with these elements.
  LOWP_FN row_memory(auto const& thread, float* row, unsigned first, unsigned second, unsigned own)
      : half_{thread.register_address(row + kept_place<4>(first)),
              thread.register_address(row + kept_place<4>(second))},
        own_(thread.register_address(row + kept_place<4>(own))) {}

  LOWP_FN void load_chunk(unsigned offset, float (&x)[chunk_size], bool has_second = true) const {
    LOWP_UNROLL_ON_GPU
    for (int half = 0; half < 2; ++half) {
      if (half == 1 && !has_second) continue;
      floats<4> const some = *reinterpret_cast<floats<4> const*>(half_[half] + offset);
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < 4; ++k) x[half * 4 + k] = some.x[k];
    }
  }
  LOWP_FN void store_chunk(unsigned offset, float const (&x)[chunk_size]) const {
    LOWP_UNROLL_ON_GPU
    for (int half = 0; half < 2; ++half) {
      floats<4> some;
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < 4; ++k) some.x[k] = x[half * 4 + k];
      *reinterpret_cast<floats<4>*>(half_[half] + offset) = some;
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
