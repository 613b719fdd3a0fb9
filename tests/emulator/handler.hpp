// SPDX-License-Identifier: Apache-2.0
// AVX512_BF16 on a processor that has AVX-512 but not these three instructions: each traps, and is
// completed in the saved registers.
#pragma once

#include "machine.hpp"

#if LOWP_HAS_EMULATOR

namespace emulator {

// Completes every AVX512_BF16 instruction that traps in this process. `ud2` directly before one is
// a trap too, so that a processor with the instruction can be compared with this. Other illegal
// instructions go to the former handler. The processor must have AVX-512.
void install();

// Counts the completed instructions.
unsigned long completed();

}  // namespace emulator

#endif
