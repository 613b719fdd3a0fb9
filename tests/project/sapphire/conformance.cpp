// SPDX-License-Identifier: Apache-2.0
// The fingerprint of ../flags/conformance.hpp, by UNIT, as text: for a machine that has no files,
// no environment and no test framework.
#include <lowp/simd/dispatch.hpp>

#include <pthread.h>

#include <cinttypes>
#include <cstdio>

#include "project/flags/result.hpp"

flags_test::conformance_result UNIT();

// The first exception needs a preparation. The C library ends it with a system call that such a
// machine may lack. There is one thread.
extern "C" int pthread_once(pthread_once_t* done, void (*prepare)()) noexcept(false) {
  if (*done == PTHREAD_ONCE_INIT) {
    *done = PTHREAD_ONCE_INIT + 1;
    prepare();
  }
  return 0;
}

int main() {
  const auto isa = lowp::isa();
  std::printf("isa %.*s\n", static_cast<int>(isa.size()), isa.data());
  const auto [fingerprint, expected, report] = UNIT();
  std::printf("fingerprint %016" PRIx64 "\n", fingerprint);
  std::printf("count %" PRIu64 " stalled %" PRIu64 " overflowed %" PRIu64 " nonfinite %" PRIu64
              "\n",
              report.count, report.stalled, report.overflowed, report.nonfinite);
  return fingerprint == expected ? 0 : 1;
}
