// SPDX-License-Identifier: Apache-2.0
// A CRC per operation, format and rounding over fixed inputs. Through checksums.txt the results of
// a processor and a GPU are compared by machines that need not have both.
#pragma once

#include <lowp/lowp.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "support/support.hpp"

namespace lowp_test {

// CRC-32 of ISO 3309: polynomial 0x04c11db7, reflected, inverted before and after.
class crc32 {
 public:
  void add(void const* data, std::size_t bytes) {
    auto const* p = static_cast<unsigned char const*>(data);
    for (std::size_t i = 0; i < bytes; ++i) {
      state_ ^= p[i];
      for (int bit = 0; bit < 8; ++bit) state_ = state_ >> 1 ^ ((state_ & 1U) * 0xedb88320U);
    }
  }
  [[nodiscard]] std::uint32_t value() const { return ~state_; }

 private:
  std::uint32_t state_ = 0xffffffffU;
};
template <class... T>
std::uint32_t crc_of(std::vector<T> const&... parts) {
  crc32 crc;
  (crc.add(parts.data(), parts.size() * sizeof(T)), ...);
  return crc.value();
}

// Any pattern; for floats a third near 1, a third at the bottom of the formats' ranges.
template <lowp::element T>
std::vector<T> fixed_inputs(std::uint32_t seed) {
  constexpr std::uint32_t size = 1003;
  std::vector<T> x(size);
  for (std::uint32_t i = 0; i < size; ++i) {
    std::uint32_t bits = lowp::philox4x32({i, 0, 0, 0}, {seed, 0})[0];
    if constexpr (std::is_same_v<T, float>) {
      if (i % 3 == 1) bits = (bits & 0x83ffffffU) + 0x3c000000U;
      if (i % 3 == 2) bits = (bits & 0x87ffffffU) + 0x34000000U;
      x[i] = std::bit_cast<float>(bits);
    } else {
      x[i] = T::from_bits(static_cast<typename T::storage>(bits));
    }
  }
  return x;
}

// Checksums of one format: "operation format rounding" -> CRC. The backend's functions take vectors
// and the arguments of lowp's.
template <lowp::narrow T, class Backend>
std::map<std::string, std::uint32_t> checksums_of(Backend& backend) {
  std::map<std::string, std::uint32_t> found;
  auto const note = [&](char const* operation, char const* rounding, std::uint32_t crc) {
    found[std::string(operation) + ' ' + facts<T>.name + ' ' + rounding] = crc;
  };
  std::vector<float> const x = fixed_inputs<float>(1);
  std::vector<T> const t = fixed_inputs<T>(2);
  auto const run = [&](auto const& rounding, char const* name) {
    std::vector<T> to(x.size());
    backend.cast(x, to, rounding, lowp::default_overflow<T>);
    note("cast", name, crc_of(to));

    std::vector<T> p = t;
    backend.fused_add(p, -0.37f, x, rounding);
    note("fused_add", name, crc_of(p));

    if constexpr (std::numeric_limits<T>::is_signed) {
      lowp::per_slot const kernel_operands{
          .param = rounding, .first = rounding, .second = rounding};
      std::vector<T> q = t;
      std::vector<T> momentum = fixed_inputs<T>(3);
      lowp::sgd const sgd{
          .lr = 0.3, .momentum = 0.9, .dampening = 0.1, .weight_decay = 0.02, .nesterov = true};
      backend.update(q, fixed_inputs<T>(4), momentum, sgd, 2, kernel_operands);
      note("sgd", name, crc_of(q, momentum));

      std::vector<T> r = t;
      std::vector<float> m = fixed_inputs<float>(5);
      std::vector<T> v = fixed_inputs<T>(6);
      lowp::update_report const report =
          backend.update(r, fixed_inputs<float>(7), m, v, lowp::adamw{}, 5, kernel_operands);
      std::vector<std::uint64_t> const counts{report.count, report.stalled, report.overflowed,
                                              report.nonfinite};
      note("adamw", name, crc_of(r, m, v, counts));
    }
  };
  for_each_mode([&](auto const& mode) { run(mode.rounding, mode.name); });
  run(lowp::stochastic{.seed = 21, .stream = 22, .offset = 23}, "stochastic");

  std::vector<float> wide(t.size());
  backend.cast(t, wide, lowp::nearest_even{}, lowp::overflow::infinity);
  note("decode", "exact", crc_of(wide));
  return found;
}

// checksums.txt: a line for each. A program on another machine than its compiler's has it where
// LOWP_CHECKSUMS says.
inline std::map<std::string, std::uint32_t> known_checksums() {
  std::map<std::string, std::uint32_t> known;
  char const* const carried = std::getenv("LOWP_CHECKSUMS");
  std::ifstream file(carried != nullptr ? carried : LOWP_TESTS "/cuda/checksums.txt");
  EXPECT_TRUE(file.is_open()) << "cannot read checksums.txt";
  std::string operation;
  std::string format;
  std::string rounding;
  std::string crc;
  while (file >> operation >> format >> rounding >> crc) {
    std::string name = operation;
    name.append(" ").append(format).append(" ").append(rounding);
    known[name] = static_cast<std::uint32_t>(std::stoul(crc, nullptr, 16));
  }
  return known;
}

// Each is the known one; one that is not there is printed as its line would be.
inline void expect_known(std::map<std::string, std::uint32_t> const& found) {
  std::map<std::string, std::uint32_t> const known = known_checksums();
  for (auto const& [name, crc] : found) {
    auto const at = known.find(name);
    if (at == known.end() || at->second != crc) {
      std::array<char, 16> text{};
      std::snprintf(text.data(), text.size(), "%08x", crc);
      ADD_FAILURE() << "not in checksums.txt:\n" << name << ' ' << text.data();
    }
  }
}

}  // namespace lowp_test
