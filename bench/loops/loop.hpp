// SPDX-License-Identifier: Apache-2.0
// Loops as one writes them without a library. Each file is compiled by the project's compiler and,
// if it is installed, by the other one too: loops measure compilers.
#pragma once

#include "harness/registers.hpp"
#include "harness/suite.hpp"

#include <string>

namespace bench {

/// Calls add(name, width), as in "cast/clang14_loop_avx512" for "cast", for the widths worth
/// comparing: wider registers are not always faster.
template <class Add>
void for_each_loop(std::string name, Add add) {
#if defined(__clang__)
  name.append("/clang").append(std::to_string(__clang_major__)).append("_loop_");
#else
  name.append("/gcc").append(std::to_string(__GNUC__)).append("_loop_");
#endif
  for (registers width : all_registers)
    if (available(width) && (width != registers::baseline || width == widest()))
      add(name + name_of(width), width);
}

}  // namespace bench
