// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/base/config.hpp>

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

}  // namespace lowp::detail::inline LOWP_UNIT
