// SPDX-License-Identifier: Apache-2.0
#include "handler.hpp"

#if LOWP_HAS_EMULATOR

#include <asm/prctl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "execute.hpp"

namespace emulator {
namespace {

// CPUID may trap itself, so it is asked in advance.
state_layout layout;
struct sigaction previous;
std::atomic<unsigned long> count;

// In the order of their numbers in an instruction.
constexpr std::array<int, 16> general_registers{
    REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
    REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

std::uint64_t segment_base(segment s) {
  if (s == segment::none) return 0;
  std::uint64_t base = 0;
  syscall(SYS_arch_prctl, s == segment::fs ? ARCH_GET_FS : ARCH_GET_GS, &base);
  return base;
}

std::uint64_t locate(const address& where, const greg_t* registers, std::uint64_t next) {
  const auto value = [&](int number) {
    return static_cast<std::uint64_t>(
        registers[general_registers[static_cast<std::size_t>(number)]]);
  };
  auto at = static_cast<std::uint64_t>(where.displacement);
  if (where.base == address::next_instruction)
    at += next;
  else if (where.base != address::none)
    at += value(where.base);
  if (where.index != address::none)
    at += value(where.index) * static_cast<std::uint64_t>(where.scale);
  if (where.of_32_bits) at = static_cast<std::uint32_t>(at);
  return at + segment_base(where.of);
}

bool is_marker(const std::uint8_t* code) { return code[0] == 0x0f && code[1] == 0x0b; }

bool complete(ucontext_t& context) {
  greg_t* const registers = context.uc_mcontext.gregs;
  const auto* code = reinterpret_cast<const std::uint8_t*>(registers[REG_RIP]);
  if (is_marker(code)) code += 2;
  const std::optional<instruction> i = decode(code);
  if (!i) return false;
  vector_state state(reinterpret_cast<std::uint8_t*>(context.uc_mcontext.fpregs), layout);
  if (!state.has_avx512()) return false;
  const auto next = reinterpret_cast<std::uint64_t>(code) + static_cast<std::uint64_t>(i->length);
  const auto* memory =
      i->in_memory ? reinterpret_cast<const std::uint8_t*>(locate(i->where, registers, next))
                   : nullptr;
  execute(*i, state, memory);
  registers[REG_RIP] = static_cast<greg_t>(next);
  return true;
}

void on_illegal_instruction(int number, siginfo_t* info, void* context) {
  if (complete(*static_cast<ucontext_t*>(context)))
    count.fetch_add(1, std::memory_order_relaxed);
  else if ((previous.sa_flags & SA_SIGINFO) != 0)
    previous.sa_sigaction(number, info, context);
  else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN)
    previous.sa_handler(number);
  else
    sigaction(SIGILL, &previous, nullptr);  // and the instruction traps once more
}

}  // namespace

void install() {
  layout = standard_layout();
  struct sigaction action{};
  action.sa_sigaction = on_illegal_instruction;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGILL, &action, &previous);
}

unsigned long completed() { return count.load(std::memory_order_relaxed); }

}  // namespace emulator

#endif
