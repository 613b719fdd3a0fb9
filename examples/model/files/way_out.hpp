// SPDX-License-Identifier: Apache-2.0
// Ends a program one way, for signals and for every error.
#pragma once

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "problem.hpp"
#include "text.hpp"

/// Set by a signal: whatever is at work ends soon, and leaves no file behind.
inline std::atomic<bool> stop = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // so that a signal handler may set it

inline void end_on_signals() {
  constexpr auto on_signal = [](int number) {
    stop = true;
    std::signal(number, SIG_DFL);  // the second one ends the program at once
  };
  for (int const number : {SIGINT, SIGTERM, SIGXCPU}) std::signal(number, on_signal);
  // nohup has ignored it.
  if (std::signal(SIGHUP, on_signal) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // so that a write fails, and the part of a file is removed
}

/// Returns what `body` returns if `out` takes all of it. Else says why not in one line of `err`, by
/// what does not throw, should there be nobody to tell.
template <class Status, class Body>
Status way_out(char const* program, std::FILE* out, std::FILE* err, Body const& body) {
  auto const complain = [&](Status what, char const* text) {
    for (char const* part : {program, ": ", text, "\n"}) std::fputs(part, err);
    return what;
  };
  try {
    Status const result = body();
    if (std::fflush(out) != 0 || std::ferror(out) != 0)
      throw problem(std::string("cannot write to the standard output: ") + std::strerror(errno));
    return result;
  } catch (interruption const& e) {
    return complain(Status::interrupted, e.what());
  } catch (std::bad_alloc const&) {
    return complain(Status::trouble, "there is not enough memory");
  } catch (std::exception const& e) {
    // The library's errors say that they are the library's, which is no news to whoever uses the
    // program.
    std::string text = e.what();
    for (std::string_view const name : {"lowp::safetensors: ", "lowp::atomic_file: "})
      if (text.starts_with(name)) {
        text.erase(0, name.size());
        break;
      }
    return complain(Status::trouble, one_line(text).c_str());
  }
}
