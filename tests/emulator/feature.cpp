// SPDX-License-Identifier: Apache-2.0
#include "feature.hpp"

#if LOWP_HAS_EMULATOR

#include <asm/prctl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "handler.hpp"

// Read by __builtin_cpu_supports of libgcc and compiler-rt alike; the numbers of its bits are part
// of their interface.
extern "C" __attribute__((visibility("hidden"))) std::uint32_t __cpu_features2[];

namespace emulator {
namespace {

presence outcome = presence::not_asked_for;
struct sigaction previous;

// For this thread, and those that it starts.
bool set_cpuid_trap(bool on) { return syscall(SYS_arch_prctl, ARCH_SET_CPUID, on ? 0 : 1) == 0; }

void on_fault(int, siginfo_t*, void* context) {
  if (!answer_cpuid(static_cast<ucontext_t*>(context)->uc_mcontext.gregs, set_cpuid_trap))
    sigaction(SIGSEGV, &previous, nullptr);  // and the instruction traps once more
}

bool is_asked_for(char** environment) {
  for (; *environment != nullptr; ++environment)
    if (std::strcmp(*environment, "LOWP_ISA=avx512_bf16") == 0) return true;
  return false;
}

presence prepare(char** environment) {
  if (!is_asked_for(environment)) return presence::not_asked_for;
  if (!has_avx512()) return presence::impossible;
  if (has_avx512_bf16()) return presence::of_the_processor;
  install();
  if (fake_cpuid()) {
    __builtin_cpu_init();
    restore_cpuid();
    return presence::faked_cpuid;
  }
  __builtin_cpu_init();
  fake_model(true);
  return presence::faked_model;
}

// Before all constructors, because one of the compiler's run time asks CPUID for the last time.
void at_start(int, char**, char** environment) { outcome = prepare(environment); }
__attribute__((section(".preinit_array"), used)) void (*const hook)(int, char**, char**) = at_start;

}  // namespace

presence found() { return outcome; }

bool fake_cpuid() {
  struct sigaction action{};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, &previous);
  if (set_cpuid_trap(true)) return true;
  sigaction(SIGSEGV, &previous, nullptr);
  return false;
}

void restore_cpuid() {
  set_cpuid_trap(false);
  sigaction(SIGSEGV, &previous, nullptr);
}

bool answer_cpuid(greg_t* registers, bool (*set_trap)(bool)) {
  const auto* code = reinterpret_cast<const std::uint8_t*>(registers[REG_RIP]);
  if (code[0] != 0x0f || code[1] != 0xa2) return false;
  const auto leaf = static_cast<std::uint32_t>(registers[REG_RAX]);
  const auto subleaf = static_cast<std::uint32_t>(registers[REG_RCX]);
  set_trap(false);
  cpuid_result r = cpuid(leaf, subleaf);
  set_trap(true);
  if (leaf == bf16_leaf && subleaf == 0 && r.eax < bf16_subleaf) r.eax = bf16_subleaf;
  if (leaf == bf16_leaf && subleaf == bf16_subleaf) r.eax |= bf16_bit_of_eax;
  registers[REG_RAX] = r.eax;
  registers[REG_RBX] = r.ebx;
  registers[REG_RCX] = r.ecx;
  registers[REG_RDX] = r.edx;
  registers[REG_RIP] += 2;
  return true;
}

void fake_model(bool present) {
  constexpr unsigned number = 36;
  constexpr std::uint32_t bit = 1U << (number - 32);
  __cpu_features2[0] = present ? __cpu_features2[0] | bit : __cpu_features2[0] & ~bit;
}

}  // namespace emulator

#endif
