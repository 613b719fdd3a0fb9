// SPDX-License-Identifier: Apache-2.0
// Rows of floats in a GPU's shared memory.
#pragma once

#include <lowp/cuda/rows/row_team.hpp>

namespace lowp::cuda {

/// A thread's elements in a row that its team shares. Element e is at e ^ (e >> 3 & 4): every other
/// four chunks have their halves exchanged. So eight threads that access a half of eight successive
/// chunks use each bank once. So do 32 threads that access successive elements. An offset counts
/// from the thread's first elements and is a multiple of 64.
template <class Team>
class row_memory {
 public:
  /// @param floats  aligned to 16 bytes
  template <class Thread>
  LOWP_FN row_memory(Thread const& thread, float* floats, Team const& team)
      : half_{thread.register_address(floats + place(team.first_of_chunk())),
              thread.register_address(floats + place(team.first_of_chunk() + 4))},
        own_(thread.register_address(floats + place(team.first_of_sums()))) {}

  LOWP_FN void load_chunk(unsigned offset, float (&x)[chunk_size]) const {
    LOWP_UNROLL_ON_GPU
    for (int half = 0; half < 2; ++half) {
      four const some = *reinterpret_cast<four const*>(half_[half] + offset);
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < 4; ++k) x[half * 4 + k] = some.x[k];
    }
  }
  LOWP_FN void store_chunk(unsigned offset, float const (&x)[chunk_size]) const {
    LOWP_UNROLL_ON_GPU
    for (int half = 0; half < 2; ++half) {
      four some;
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < 4; ++k) some.x[k] = x[half * 4 + k];
      *reinterpret_cast<four*>(half_[half] + offset) = some;
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
  struct alignas(16) four {
    float x[4];
  };
  LOWP_FN static unsigned place(unsigned e) { return e ^ (e >> 3 & 4); }

  float *half_[2], *own_;
};

}  // namespace lowp::cuda
