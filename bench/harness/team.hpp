// SPDX-License-Identifier: Apache-2.0
// Who works in a program: one thread, or all threads of an OpenMP team if BENCH_TEAM is defined.
#pragma once

#include <lowp/lowp.hpp>

#if defined(BENCH_TEAM)
#include <lowp/openmp.hpp>

#include <omp.h>
#endif

#include <algorithm>
#include <cstddef>

namespace bench {

#if defined(BENCH_TEAM)
namespace on = lowp::openmp;
inline std::size_t threads() { return static_cast<std::size_t>(omp_get_max_threads()); }
#else
namespace on = lowp;
inline std::size_t threads() { return 1; }
#endif

/// Calls `part(first, count)` on each thread, for its share of n elements: a multiple of `unit`,
/// but for the last.
template <class Part>
void divide(std::size_t n, std::size_t unit, Part const& part) {
  std::size_t const share = (n / unit + threads() - 1) / threads() * unit;
#if defined(BENCH_TEAM)
#pragma omp parallel for schedule(static)
#endif
  for (std::size_t first = 0; first < n; first += share) part(first, std::min(share, n - first));
}

}  // namespace bench
