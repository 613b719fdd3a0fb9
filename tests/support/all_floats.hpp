// SPDX-License-Identifier: Apache-2.0
// A conversion of all 2^32 floats against the oracle's segments, on every processor.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "oracle/segments.hpp"
#include "support.hpp"

namespace lowp_test {

struct segment {
  std::uint32_t first, last, code;
};

inline std::vector<segment> segments_of(oracle::facts const& f, oracle::mode m, oracle::policy p,
                                        std::uint32_t r = 0) {
  std::vector<segment> segments;
  oracle::for_each_segment(
      f, m, p,
      [&](std::uint32_t first, std::uint32_t last, std::uint32_t code) {
        segments.push_back({first, last, code});
      },
      r);
  return segments;
}

// Calls work(i) for every i below count, in any order, until one says false.
inline void in_parallel(std::size_t count, std::function<bool(std::size_t)> const& work) {
  std::atomic<std::size_t> next{0};
  auto const take_all = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      if (!work(i)) next = count;
    }
  };
  std::vector<std::thread> others(std::max(1U, std::thread::hardware_concurrency()) - 1);
  for (std::thread& other : others) other = std::thread(take_all);
  take_all();
  for (std::thread& other : others) other.join();
}

// The part of `segments` that begins with the float pattern `first` must be in `results`.
template <class T>
testing::AssertionResult agree(std::vector<T> const& results, std::uint32_t first,
                               std::vector<segment> const& segments, char const* mode) {
  auto const last = static_cast<std::uint32_t>(first + (results.size() - 1));
  auto s = std::lower_bound(segments.begin(), segments.end(), first,
                            [](segment const& a, std::uint32_t x) { return a.last < x; });
  for (; s != segments.end() && s->first <= last; ++s) {
    T const* const begin = results.data() + (std::max(s->first, first) - first);
    T const* const end = results.data() + (std::min(s->last, last) - first) + 1;
    std::uint32_t differences = 0;
    for (T const* x = begin; x != end; ++x) differences |= x->bits() ^ s->code;
    if (differences == 0) continue;
    for (T const* x = begin; x != end; ++x) {
      float const input = float_of(first + static_cast<std::uint32_t>(x - results.data()));
      if (x->bits() != s->code) return has_bits(*x, s->code, input, mode);
    }
  }
  return testing::AssertionSuccess();
}

// `convert(floats, results)` converts a span.
template <class T, class Convert>
void check_all_floats(std::vector<segment> const& segments, char const* mode, Convert convert) {
  constexpr std::size_t chunk = std::size_t{1} << 16;
  in_parallel((std::size_t{1} << 32) / chunk, [&](std::size_t i) {
    thread_local std::vector<float> floats(chunk);
    thread_local std::vector<T> results(chunk);
    auto const first = static_cast<std::uint32_t>(i * chunk);
    for (std::size_t j = 0; j < chunk; ++j) {
      floats[j] = float_of(first + static_cast<std::uint32_t>(j));
    }
    // A result of an earlier chunk must not pass for a new one.
    std::fill(results.begin(), results.end(), of_code<T>(~segments.front().code));
    convert(floats, results);
    auto const result = agree(results, first, segments, mode);
    EXPECT_TRUE(result);
    return static_cast<bool>(result);
  });
}

template <class T, class R>
void check_cast_of_all_floats(named_mode<R> const& m) {
  oracle::policy const policy = oracle::default_policy(facts<T>);
  check_all_floats<T>(segments_of(facts<T>, m.mode, policy), m.name,
                      [&](std::vector<float> const& floats, std::vector<T>& results) {
                        lowp::cast(floats, results, m.rounding);
                      });
}

}  // namespace lowp_test
