// SPDX-License-Identifier: Apache-2.0
// The fingerprint of ../flags/conformance.hpp, by UNIT, as text: for a machine that has no files,
// no environment and no test framework.
#include <lowp/simd/dispatch.hpp>

#if defined(__linux__)
#include <pthread.h>
#endif

#include <cinttypes>
#include <cstdio>

#include "project/flags/result.hpp"
#include "support/control_register.hpp"

flags_test::conformance_result UNIT();

#if defined(__linux__)
// The first exception needs a preparation. The C library ends it with a system call that such a
// machine may lack. There is one thread.
extern "C" int pthread_once(pthread_once_t* done, void (*prepare)()) noexcept(false) {
  if (*done == PTHREAD_ONCE_INIT) {
    *done = PTHREAD_ONCE_INIT + 1;
    prepare();
  }
  return 0;
}
#endif

// Counts the states of the control register that change the fingerprint, or do not stay.
unsigned states_that_matter([[maybe_unused]] std::uint64_t fingerprint) {
  unsigned wrong = 0;
#if defined(LOWP_TEST_CONTROL_REGISTER)
  for (const auto state : lowp_test::control_states()) {
    lowp_test::write_control(state);
    auto const got = UNIT().fingerprint;
    bool const stayed = lowp_test::read_control() == state;
    lowp_test::write_control(lowp_test::default_control);
    if (got != fingerprint || !stayed) ++wrong;
  }
#endif
  return wrong;
}

// Any argument asks for these states too.
int main(int arguments, char**) {
  auto const isa = lowp::isa();
  std::printf("isa %.*s\n", static_cast<int>(isa.size()), isa.data());
  auto const [fingerprint, expected, report] = UNIT();
  std::printf("fingerprint %016" PRIx64 "\n", fingerprint);
  std::printf("count %" PRIu64 " stalled %" PRIu64 " overflowed %" PRIu64 " nonfinite %" PRIu64
              "\n",
              report.count, report.stalled, report.overflowed, report.nonfinite);
  if (arguments > 1) std::printf("states that matter %u\n", states_that_matter(fingerprint));
  return fingerprint == expected ? 0 : 1;
}
