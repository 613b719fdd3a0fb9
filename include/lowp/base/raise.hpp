// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/base/config.hpp>

#if !defined(__GLIBCXX__)
#include <stdexcept>
#endif

namespace lowp::detail::inline LOWP_UNIT {

/// Throws Exception(arguments...). If exceptions are switched off, ends the program with a trap.
template <class Exception, class... Argument>
[[noreturn]] LOWP_COLD inline void raise(Argument const&... arguments) {
#if defined(__cpp_exceptions)
  throw Exception(arguments...);
#else
  (static_cast<void>(arguments), ...);
  __builtin_trap();
#endif
}

// These throw std::invalid_argument and std::runtime_error. The functions of libstdc++ spare a unit
// <stdexcept> and the <string> in it.
[[noreturn]] LOWP_COLD inline void raise_invalid_argument([[maybe_unused]] char const* text) {
#if !defined(__cpp_exceptions)
  __builtin_trap();
#elif defined(__GLIBCXX__)
  std::__throw_invalid_argument(text);
#else
  throw std::invalid_argument(text);
#endif
}
[[noreturn]] LOWP_COLD inline void raise_runtime_error([[maybe_unused]] char const* text) {
#if !defined(__cpp_exceptions)
  __builtin_trap();
#elif defined(__GLIBCXX__)
  std::__throw_runtime_error(text);
#else
  throw std::runtime_error(text);
#endif
}

}  // namespace lowp::detail::inline LOWP_UNIT
