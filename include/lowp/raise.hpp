// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/config.hpp>

#include <string>

namespace lowp::detail {

inline namespace LOWP_UNIT {

/// Throws; where exceptions are switched off, ends the program as the standard library does.
template <class Exception>
[[noreturn]] inline void raise(std::string const& what) {
#if defined(__cpp_exceptions)
  throw Exception(what);
#else
  static_cast<void>(what);
  __builtin_trap();
#endif
}

}  // namespace LOWP_UNIT

}  // namespace lowp::detail
