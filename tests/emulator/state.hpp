// SPDX-License-Identifier: Apache-2.0
// Vector and mask registers of an interrupted program, in the XSAVE area of its signal frame.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "machine.hpp"

namespace emulator {

// The elements of a vector, as many as it has.
struct vector {
  static constexpr int bytes = 64;
  std::array<std::uint8_t, bytes> data{};

  template <class Element>
  Element get(int i) const {
    Element x;
    std::memcpy(&x, &data[static_cast<std::size_t>(i) * sizeof x], sizeof x);
    return x;
  }
  template <class Element>
  void set(int i, Element x) {
    std::memcpy(&data[static_cast<std::size_t>(i) * sizeof x], &x, sizeof x);
  }
};

class vector_state {
 public:
  vector_state(std::uint8_t* area, const state_layout& layout) : area_(area), layout_(layout) {}

  // Linux says by a magic number that the frame holds an XSAVE area, and by bits which components
  // have room.
  bool has_avx512() const {
    constexpr std::uint64_t needed =
        1U << sse | 1U << avx | 1U << opmask | 1U << zmm_high256 | 1U << high16_zmm;
    return load<std::uint32_t>(magic_at) == magic &&
           (load<std::uint64_t>(room_at) & needed) == needed;
  }

  vector read(int reg) const {
    vector v;
    for_each_part(reg, [&](component c, int i, std::size_t at, std::size_t size) {
      if (in_use(c)) std::memcpy(&v.data[at], part(c, i, size), size);
    });
    return v;
  }
  void write(int reg, const vector& v) {
    for_each_part(reg, [&](component c, int i, std::size_t at, std::size_t size) {
      use(c);
      std::memcpy(part(c, i, size), &v.data[at], size);
    });
  }

  std::uint64_t read_mask(int k) const {
    std::uint64_t mask = 0;
    if (in_use(opmask)) std::memcpy(&mask, part(opmask, k, sizeof mask), sizeof mask);
    return mask;
  }

 private:
  static constexpr std::size_t magic_at = 464;
  static constexpr std::uint32_t magic = 0x46505853;
  static constexpr std::size_t room_at = 472;
  static constexpr std::size_t in_use_at = 512;  // XSTATE_BV, the first word of the header

  // The first sixteen registers lie in three places.
  template <class Visit>
  static void for_each_part(int reg, const Visit& visit) {
    if (reg >= 16) {
      visit(high16_zmm, reg - 16, 0, 64);
    } else {
      visit(sse, reg, 0, 16);
      visit(avx, reg, 16, 16);
      visit(zmm_high256, reg, 32, 32);
    }
  }

  template <class T>
  T load(std::size_t at) const {
    T x;
    std::memcpy(&x, area_ + at, sizeof x);
    return x;
  }
  std::uint8_t* part(component c, int i, std::size_t size) const {
    return area_ + layout_[c].offset + static_cast<std::size_t>(i) * size;
  }

  // A component that is not in use reads as zero, whatever the area holds.
  bool in_use(component c) const { return (load<std::uint64_t>(in_use_at) >> c & 1) != 0; }
  void use(component c) {
    if (in_use(c)) return;
    std::memset(area_ + layout_[c].offset, 0, layout_[c].size);
    const std::uint64_t now = load<std::uint64_t>(in_use_at) | std::uint64_t{1} << c;
    std::memcpy(area_ + in_use_at, &now, sizeof now);
  }

  std::uint8_t* area_;
  const state_layout& layout_;
};

}  // namespace emulator
