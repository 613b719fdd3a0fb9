// SPDX-License-Identifier: Apache-2.0
// A number that stands for all bits that are noted, and inputs that no arithmetic makes.
#pragma once

#include <lowp/lowp.hpp>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

// Each unit has its own, as a program's units would.
namespace {

class fingerprint {
 public:
  template <class T>
  void note(T const& x) {
    if constexpr (std::same_as<T, float>)
      add(std::bit_cast<std::uint32_t>(x));
    else if constexpr (std::same_as<T, double>)
      add(std::bit_cast<std::uint64_t>(x));
    else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>)
      add(static_cast<std::uint64_t>(x));
    else
      add(x.bits());
  }
  template <class T>
  void note(std::vector<T> const& values) {
    for (T const& x : values) note(x);
  }
  void note(lowp::update_report const& r) {
    note(r.count);
    note(r.stalled);
    note(r.overflowed);
    note(r.nonfinite);
  }
  void note(lowp::gradient_report const& r) {
    note(r.count);
    note(r.nonfinite);
    note(r.nan != 0 ? 0x7fc00000U : r.largest.bits);
  }
  std::uint64_t value() const { return hash_; }

 private:
  void add(std::uint64_t x) { hash_ = (hash_ ^ x) * 0x100000001b3U ^ hash_ >> 29; }

  std::uint64_t hash_ = 0xcbf29ce484222325U;
};

// Patterns of floats: any; near 1; subnormal; and the special ones.
inline std::vector<float> numbers(std::uint32_t seed, std::size_t size = 333) {
  std::vector<float> x;
  for (std::uint32_t i = 0; i < size; ++i) {
    auto const words = lowp::philox4x32({i, 0, 0, 0}, {seed, 0});
    std::uint32_t bits = words[0];
    if (i % 4 == 1) bits = (bits & 0x83ffffffU) + 0x3c000000U;
    if (i % 4 == 2) bits = (bits & 0x81ffffffU) + 0x3e000000U;
    if (i % 16 == 3) bits &= 0x807fffffU;
    if (i % 32 == 7)
      bits = (words[2] & 0x80000000U) | (words[1] % 4 == 0   ? 0x7f800000U
                                         : words[1] % 4 == 1 ? 0x7fa00001U
                                                             : 0U);
    x.push_back(std::bit_cast<float>(bits));
  }
  return x;
}
template <class T>
std::vector<T> codes(std::uint32_t seed, std::size_t size = 333) {
  std::vector<T> x;
  for (std::uint32_t i = 0; i < size; ++i) {
    auto const words = lowp::philox4x32({i, 1, 0, 0}, {seed, 0});
    x.push_back(T::from_bits(static_cast<typename T::storage>(words[0])));
  }
  return x;
}

}  // namespace
