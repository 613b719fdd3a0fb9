// SPDX-License-Identifier: Apache-2.0
// Rows of floats in a GPU's shared memory.
#pragma once

#include <lowp/cuda/group.hpp>

namespace lowp::cuda {

/// Element e is at e ^ (e >> 3 & 4): every other four groups have their halves exchanged, so that neither
/// eight threads that access a half of eight successive groups nor 32 that access successive elements
/// want the same bank twice.
class row_memory {
 public:
  /// floats: aligned to 16 bytes.
  LOWP_FN explicit row_memory(float* floats) : floats_(floats) {}

  /// The group from `first` on.
  LOWP_FN void load_group(unsigned first, float (&x)[group_size]) const {
    LOWP_UNROLL_ON_GPU
    for (unsigned k = 0; k < group_size; k += 4) {
      four const half = *half_at(first + k);
      LOWP_UNROLL_ON_GPU
      for (unsigned j = 0; j < 4; ++j) x[k + j] = half.x[j];
    }
  }
  LOWP_FN void store_group(unsigned first, float const (&x)[group_size]) const {
    LOWP_UNROLL_ON_GPU
    for (unsigned k = 0; k < group_size; k += 4)
      *half_at(first + k) = {{x[k], x[k + 1], x[k + 2], x[k + 3]}};
  }

  /// Elements first, first + Step and so on; Step is 1, and `first` a group's, or a multiple of 64.
  template <unsigned Step>
  LOWP_FN void load(unsigned first, float (&x)[group_size]) const {
    if constexpr (Step == 1) {
      load_group(first, x);
    } else {
      float const* const from = floats_ + place(first);
      LOWP_UNROLL_ON_GPU
      for (unsigned k = 0; k < group_size; ++k) x[k] = from[k * Step];
    }
  }
  template <unsigned Step>
  LOWP_FN void store(unsigned first, float const (&x)[group_size]) const {
    if constexpr (Step == 1) {
      store_group(first, x);
    } else {
      float* const to = floats_ + place(first);
      LOWP_UNROLL_ON_GPU
      for (unsigned k = 0; k < group_size; ++k) to[k * Step] = x[k];
    }
  }

 private:
  struct alignas(16) four {
    float x[4];
  };
  LOWP_FN static unsigned place(unsigned e) { return e ^ (e >> 3 & 4); }
  LOWP_FN four* half_at(unsigned e) const { return reinterpret_cast<four*>(floats_ + place(e)); }

  float* floats_;
};

}  // namespace lowp::cuda
