// SPDX-License-Identifier: Apache-2.0
// Somebody else's code for an operation of the library. It registers itself, shows that its results
// are the library's, and is timed beside it.
#pragma once

#include "suite.hpp"

#include <benchmark/benchmark.h>
#include <lowp/lowp.hpp>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace bench {

/// An object of static duration: whatever is linked to a program adds its cases to the suite of the
/// operation that it names.
class peer {
 public:
  using add_function = void (*)(suite&);

  peer(char const* operation, add_function add) : operation_(operation), add_(add), next_(first_) {
    first_ = this;
  }
  peer(peer const&) = delete;

  static void add_all(suite& cases) {
    for (peer const* p = first_; p != nullptr; p = p->next_)
      if (cases.operation() == p->operation_) p->add_(cases);
  }

 private:
  // Not a static container: the two compilers do not agree on the name of one that holds strings.
  inline static peer const* first_ = nullptr;

  char const* operation_;
  add_function add_;
  peer const* next_;
};

/// For the table's reader.
inline void note_version(std::string const& library, int major, int minor, int patch) {
  benchmark::AddCustomContext(library, std::to_string(major)
                                           .append(".")
                                           .append(std::to_string(minor))
                                           .append(".")
                                           .append(std::to_string(patch)));
}

/// Elements for which a peer may have an answer of its own.
struct own_way {
  bool nan_codes = false;
  bool subnormal_inputs = false;
};

template <class T>
std::uint32_t code_of(T x) {
  if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<std::uint32_t>(x);
  else
    return x.bits();
}

/// The elements as numbers that every library and every loop understands.
template <class T>
auto* codes(std::span<T> values) {
  if constexpr (std::is_floating_point_v<T>)
    return values.data();
  else if constexpr (std::is_const_v<T>)
    return reinterpret_cast<typename T::storage const*>(values.data());
  else
    return reinterpret_cast<typename T::storage*>(values.data());
}

/// Every 16 leading bits of a float, followed by what rounding to 16 bits and less decides on;
/// every code of a narrow type.
template <class T>
std::vector<T> patterns() {
  std::vector<T> all;
  for (std::uint32_t high = 0; high <= 0xffff; ++high)
    if constexpr (std::is_same_v<T, float>)
      for (std::uint32_t low :
           {0x0000u, 0x0001u, 0x0fffu, 0x1000u, 0x1001u, 0x2fffu, 0x3000u, 0x3001u, 0x7fffu,
            0x8000u, 0x8001u, 0xaaaau, 0xd000u, 0xefffu, 0xf000u, 0xffffu})
        all.push_back(std::bit_cast<float>(high << 16 | low));
    else if constexpr (std::is_same_v<T, double>)  // ties, and what is beside them
      for (std::uint64_t low : {0ull, 1ull, 0x0fffffffffffull, 0x100000000000ull, 0x100000000001ull,
                                0x7fffffffffffull, 0x800000000000ull, 0x800000000001ull})
        all.push_back(std::bit_cast<double>(std::uint64_t{high} << 48 | low));
    else
      all.push_back(T::from_bits(static_cast<typename T::storage>(high)));
  return all;
}

/// "element 5 is 7fc1, not 7fc0", or nothing. Elements with `is_exempt(i)` are skipped.
template <class T, class IsExempt>
std::string difference(std::span<T const> found, std::span<T const> expected, own_way allowed,
                       IsExempt is_exempt) {
  using std::isnan;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (code_of(found[i]) == code_of(expected[i]) || is_exempt(i)) continue;
    if (allowed.nan_codes && isnan(found[i]) && isnan(expected[i])) continue;
    char text[80];
    std::snprintf(text, sizeof(text), "element %zu is %x, not %x", i, code_of(found[i]),
                  code_of(expected[i]));
    return text;
  }
  return "";
}

/// The distance that a peer's result may have: `relative` of the magnitude, and `absolute`.
struct tolerance {
  double relative, absolute;
};

/// "element 5 is 0.25, not 0.125", or nothing.
template <class T>
std::string distance(std::span<T const> found, std::span<T const> expected, tolerance allowed) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    double const f = static_cast<float>(found[i]), e = static_cast<float>(expected[i]);
    if (std::abs(f - e) <= allowed.relative * std::abs(e) + allowed.absolute) continue;
    char text[96];
    std::snprintf(text, sizeof(text), "element %zu is %.9g, not %.9g", i, f, e);
    return text;
  }
  return "";
}

/// `run`, unless `find_difference()`, asked once, has something to say.
template <class FindDifference, class Run>
auto verified(FindDifference find_difference, Run run) {
  auto const found = std::make_shared<std::optional<std::string>>();
  return [=](benchmark::State& state, std::size_t n) {
    if (!*found) *found = find_difference();
    if ((*found)->empty())
      run(state, n);
    else
      state.SkipWithError((**found + " as the library has it").c_str());
  };
}

}  // namespace bench
