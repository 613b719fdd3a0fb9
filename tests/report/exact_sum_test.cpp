// SPDX-License-Identifier: Apache-2.0
// Exact sums against the oracle's, in any order of the additions.
#include <gtest/gtest.h>
#include <lowp/report/exact_sum.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "oracle/report.hpp"
#include "oracle/support.hpp"

namespace {

// Any finite float.
float any_float(std::mt19937_64& random) {
  auto bits = static_cast<std::uint32_t>(random());
  if ((bits & 0x7f800000U) == 0x7f800000U) bits ^= 0x40000000U;
  return std::bit_cast<float>(bits);
}

double exactly(oracle::exact_sum const& sum) { return oracle_test::to_double(sum.value()); }

TEST(exact_sum, of_floats_of_all_magnitudes) {
  std::mt19937_64 random(1);
  lowp::exact_sum got;
  oracle::exact_sum want;
  for (int i = 0; i < 200000; ++i) {
    float const x = any_float(random);
    got += double{x};
    want.add(std::bit_cast<std::uint32_t>(x));
    if (i % 64 == 0) {
      ASSERT_LE(std::fabs(got.value() - exactly(want)), 0x1p-51 * std::fabs(exactly(want))) << i;
    }
  }
}

TEST(exact_sum, keeps_the_smallest_beside_the_largest) {
  lowp::exact_sum sum;
  sum += 0x1p-149;
  sum += 0x1.fffffep127;
  sum += -0x1p190;
  EXPECT_EQ(sum.value(), -0x1p190);
  sum += 0x1p190;
  sum += -0x1.fffffep127;
  EXPECT_EQ(sum.value(), 0x1p-149);
  sum += -0x1p-148;
  EXPECT_EQ(sum.value(), -0x1p-149);
}

// Rounds to nearest, ties to even, carries into the next power of two, as a cast of the integer.
TEST(exact_sum, of_64_bits_is_rounded_to_nearest_even) {
  for (std::uint64_t const kept : {0x8000000000000ULL, 0xfffffffffffffULL, 0xccccccccccccdULL})
    for (std::uint64_t const last : {0, 1})
      for (std::uint64_t const rest : {0, 1, 0x3ff, 0x400, 0x401, 0x7ff}) {
        std::uint64_t const n = kept << 12 | last << 11 | rest;
        lowp::exact_sum sum;
        sum += static_cast<double>(n >> 32) * 0x1p32;
        sum += static_cast<double>(n & 0xffffffff);
        EXPECT_EQ(sum.value(), static_cast<double>(n)) << std::hex << n;
      }
}

TEST(exact_sum, takes_every_power_of_two_and_gives_it_back) {
  for (int e = -149; e <= 191; ++e) {
    for (double const x : {std::ldexp(1.0, e), std::ldexp(-1.0, e)}) {
      lowp::exact_sum sum;
      sum += x;
      ASSERT_EQ(sum.value(), x);
      sum += -x;
      ASSERT_EQ(sum.value(), 0);
    }
  }
}

TEST(exact_sum, an_infinity_makes_it_infinite) {
  for (double const x : {double{INFINITY}, double{-INFINITY}}) {
    lowp::exact_sum sum;
    sum += 0x1p190;
    sum += x;
    EXPECT_EQ(sum.value(), x);
    sum += -0x1p190;
    EXPECT_EQ(sum.value(), x);
  }
  lowp::exact_sum sum;
  sum += double{NAN};
  EXPECT_TRUE(std::isinf(sum.value()));
}

TEST(exact_sum, merges) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 2000; ++round) {
    lowp::exact_sum whole;
    std::array<lowp::exact_sum, 3> parts;
    for (int i = 0; i < 9; ++i) {
      double const x = double{any_float(random)};
      whole += x;
      parts[random() % parts.size()] += x;
    }
    lowp::exact_sum merged;
    for (lowp::exact_sum const& part : parts) merged += part;
    ASSERT_EQ(merged.value(), whole.value());
  }
}

template <class Add>
struct shared_with {
  Add add;
};

// Threads of a GPU add word by word, each word at once. Other threads' additions come between two
// words of one. Here one addition, after any of its words, may be interrupted by the next.
TEST(exact_sum, words_may_be_added_in_any_order) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 500; ++round) {
    std::array<double, 8> terms{};
    lowp::exact_sum want;
    for (double& x : terms) {
      x = double{any_float(random)};
      want += x;
    }
    lowp::exact_sum got;
    std::vector<std::size_t> order{0, 1, 2, 3, 4, 5, 6, 7};
    std::shuffle(order.begin(), order.end(), random);
    std::size_t next = 1;
    auto const interrupted = [&](auto&& self, std::size_t term) -> void {
      auto const add = [&](std::uint64_t& word, std::uint64_t addend) {
        std::uint64_t const was = word;
        word += addend;
        if (next < order.size() && random() % 2 == 0) self(self, order[next++]);
        return was;
      };
      got.add(terms[term], shared_with{add});
    };
    interrupted(interrupted, order[0]);
    while (next < order.size()) {
      std::size_t const term = order[next++];
      interrupted(interrupted, term);
    }
    ASSERT_EQ(got.value(), want.value());
  }
}

}  // namespace
