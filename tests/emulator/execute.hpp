// SPDX-License-Identifier: Apache-2.0
// Executes a decoded instruction on the registers.
#pragma once

#include <cstdint>
#include <cstring>

#include "arithmetic.hpp"
#include "instruction.hpp"
#include "state.hpp"

namespace emulator {

// The second source. Memory is read only for elements of the mask, as the hardware suppresses
// faults; `masked` is false for VCVTNE2PS2BF16, which suppresses none.
inline vector second_source(const instruction& i, const vector_state& state,
                            const std::uint8_t* memory, bool masked) {
  if (!i.in_memory) return state.read(i.second_source);
  const std::uint64_t asked = masked && i.mask != 0 ? state.read_mask(i.mask) : ~std::uint64_t{0};
  vector v;
  for (int element = 0; element < i.vector_bytes / 4; ++element) {
    if ((asked >> element & 1) == 0) continue;
    std::uint32_t x = 0;
    std::memcpy(&x, memory + (i.broadcast ? 0 : 4 * element), sizeof x);
    v.set(element, x);
  }
  return v;
}

// Elements of the result that the mask asks for, zero beyond.
template <class Element, class Compute>
void write_result(const instruction& i, vector_state& state, int elements, const Compute& compute) {
  const std::uint64_t asked = i.mask != 0 ? state.read_mask(i.mask) : ~std::uint64_t{0};
  const vector old = state.read(i.destination);
  vector result;
  for (int element = 0; element < elements; ++element) {
    if ((asked >> element & 1) != 0)
      result.set<Element>(element, compute(element));
    else if (!i.zeroing)
      result.set(element, old.get<Element>(element));
  }
  state.write(i.destination, result);
}

// `memory` is the address of the second source, if it is in memory.
inline void execute(const instruction& i, vector_state& state, const std::uint8_t* memory) {
  const int floats = i.vector_bytes / 4;
  switch (i.operation) {
    case operation::vcvtneps2bf16: {
      const vector source = second_source(i, state, memory, true);
      write_result<std::uint16_t>(i, state, floats, [&](int element) {
        return to_bfloat16(source.get<std::uint32_t>(element));
      });
      break;
    }
    case operation::vcvtne2ps2bf16: {
      const vector high = state.read(i.first_source);
      const vector low = second_source(i, state, memory, false);
      write_result<std::uint16_t>(i, state, 2 * floats, [&](int element) {
        return to_bfloat16(element < floats ? low.get<std::uint32_t>(element)
                                            : high.get<std::uint32_t>(element - floats));
      });
      break;
    }
    case operation::vdpbf16ps: {
      const vector sum = state.read(i.destination);
      const vector a = state.read(i.first_source);
      const vector b = second_source(i, state, memory, true);
      write_result<std::uint32_t>(i, state, floats, [&](int element) {
        return dot_product_add(sum.get<std::uint32_t>(element), a.get<std::uint32_t>(element),
                               b.get<std::uint32_t>(element));
      });
      break;
    }
  }
}

}  // namespace emulator
