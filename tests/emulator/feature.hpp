// SPDX-License-Identifier: Apache-2.0
// Lets a program with LOWP_ISA=avx512_bf16 find the instructions on a processor that has only the
// AVX-512 of the emulator. It bypasses nothing of the choice of a backend.
#pragma once

#include "machine.hpp"

#if LOWP_HAS_EMULATOR

#include <ucontext.h>

namespace emulator {

enum class presence {
  not_asked_for,     // LOWP_ISA says something else
  of_the_processor,  // nothing to emulate
  impossible,        // no AVX-512 either
  faked_cpuid,       // CPUID itself says so, while the compiler's run time asks it
  faked_model        // what the run time remembers says so: here CPUID cannot be made to trap
};

// Tells what was found, and done, before the first constructor of the program ran.
presence found();

// Makes CPUID trap and answer that AVX512_BF16 is there, or lets it be again. False if the kernel
// or the processor cannot.
bool fake_cpuid();
void restore_cpuid();

// Answers a CPUID that trapped; false if something else trapped. `set_trap` turns the trap off and
// on again.
bool answer_cpuid(greg_t* registers, bool (*set_trap)(bool on));

// Sets or clears the bit in which the compiler's run time remembers AVX512_BF16.
void fake_model(bool present);

}  // namespace emulator

#endif
