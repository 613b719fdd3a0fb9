// SPDX-License-Identifier: Apache-2.0
// A program that dies while it saves: really, in a process of its own.
#pragma once

#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <exception>

namespace lowp_test {

enum class end { saved, refused, killed, unknown };

inline end end_of(pid_t child) {
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return end::unknown;
  if (WIFSIGNALED(status)) return end::killed;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return end::saved;
  return WIFEXITED(status) && WEXITSTATUS(status) == 1 ? end::refused : end::unknown;
}

template <class Save>
[[noreturn]] void save_and_exit(Save&& save) {
  try {
    save();
  } catch (std::exception const&) {
    ::_exit(1);
  }
  ::_exit(0);
}

// No file of the process can grow beyond `bytes`: the next byte ends the process, or is refused as
// by a full disk.
enum class at_limit { dies, fails };
template <class Save>
end save_with_limit(std::size_t bytes, at_limit then, Save&& save) {
  pid_t const child = ::fork();
  if (child != 0) return end_of(child);
  rlimit const limit{bytes, bytes};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  rlimit const no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::signal(SIGXFSZ, then == at_limit::dies ? SIG_DFL : SIG_IGN);
  save_and_exit(save);
}

// Killed by SIGKILL at its `stops`-th entry into or return from the kernel; `saved` if it had
// fewer. `unknown` if the system does not let a process watch its child.
template <class Save>
end save_with_stops(int stops, Save&& save) {
  pid_t const child = ::fork();
  if (child == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(2);
    ::raise(SIGSTOP);
    save_and_exit(save);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return end::unknown;
  for (int i = 0; i < stops; ++i) {
    ::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    if (::waitpid(child, &status, 0) != child) return end::unknown;
    if (WIFEXITED(status))
      return WEXITSTATUS(status) == 0   ? end::saved
             : WEXITSTATUS(status) == 1 ? end::refused
                                        : end::unknown;
  }
  ::kill(child, SIGKILL);
  return end_of(child);
}

}  // namespace lowp_test
