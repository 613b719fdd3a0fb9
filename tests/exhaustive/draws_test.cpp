// SPDX-License-Identifier: Apache-2.0
// Statistics of random bits: 2^30 draws for each way in which two draws may be neighbours.
//
// Seeds are fixed, so a result never changes. Each statistic becomes a standard normal deviate.
// A fair source exceeds 6 with a probability of 2e-9, and anywhere here with less than 3e-7.
#include <lowp/simd/executors.hpp>
#include <lowp/simd/random.hpp>

#include <cmath>
#include <mutex>

#include "support/all_floats.hpp"

namespace {

using namespace lowp_test;

constexpr double limit = 6;
constexpr std::size_t chunk = std::size_t{1} << 20;
constexpr std::size_t chunks = 1024;
constexpr std::uint32_t values = 65536;

struct fill_kernel {
  lowp::random_source source;
  std::uint64_t index;
  std::vector<std::uint16_t>& out;

  template <class Isa>
  LOWP_HOST_FN void body() const {
    using registers = typename Isa::registers;
    lowp::simd::random_batches<registers, lowp::rounding_mode> batches;
    batches.start(source, index);
    constexpr std::size_t step = lowp::simd::batch<registers>;
    static_assert(chunk % step == 0);
    for (std::size_t i = 0; i < chunk; i += step)
      __builtin_memcpy(out.data() + i, batches.next(), 2 * step);
  }
};

// The deviate of a chi-square statistic, by the cube root of Wilson and Hilferty (1931).
double deviate(double chi_square, double degrees) {
  double const variance = 2 / (9 * degrees);
  return (std::cbrt(chi_square / degrees) - (1 - variance)) / std::sqrt(variance);
}

double deviate_from_even(std::vector<std::uint64_t> const& counts) {
  double all = 0;
  for (std::uint64_t const n : counts) all += static_cast<double>(n);
  double const expected = all / static_cast<double>(counts.size());
  double chi_square = 0;
  for (std::uint64_t const n : counts) {
    double const difference = static_cast<double>(n) - expected;
    chi_square += difference * difference / expected;
  }
  return deviate(chi_square, static_cast<double>(counts.size() - 1));
}

// Counts of pairs (a, b): a itself, the leading bytes of both, their differing bits, and products.
struct pair_counts {
  std::vector<std::uint64_t> first = std::vector<std::uint64_t>(values);
  std::vector<std::uint64_t> bytes = first;
  std::vector<std::uint64_t> differing = first;
  std::int64_t products = 0;  // of 2 a - 65535 and 2 b - 65535: each has the mean 0
  std::uint64_t pairs = 0;

  void add(std::uint32_t a, std::uint32_t b) {
    ++first[a];
    ++bytes[(a & 0xff00U) | b >> 8];
    ++differing[a ^ b];
    products += (2 * std::int64_t{a} - 65535) * (2 * std::int64_t{b} - 65535);
    ++pairs;
  }
  void operator+=(pair_counts const& other) {
    for (std::size_t i = 0; i < values; ++i) {
      first[i] += other.first[i];
      bytes[i] += other.bytes[i];
      differing[i] += other.differing[i];
    }
    products += other.products;
    pairs += other.pairs;
  }
};

// A relation gives, for the number of a chunk, the sources of both draws. The second draw lies
// `lag` elements further; no draw is in two pairs then.
struct relation {
  char const* name;
  std::pair<lowp::random_source, lowp::random_source> (*sources)(std::uint64_t, bool);
  std::uint64_t lag = 0;
};

constexpr std::uint64_t seed = 0x243f6a8885a308d3;  // pi
constexpr auto same = [](std::uint64_t, bool is_keyed) {
  lowp::random_source const s{seed, lowp::stream_of(1, 1), 0, is_keyed};
  return std::pair{s, s};
};
template <std::uint32_t A, std::uint32_t B>
constexpr auto draws = [](std::uint64_t, bool is_keyed) {
  std::uint64_t const stream = lowp::stream_of(2, 1);
  return std::pair{lowp::random_source{seed, stream, A, is_keyed},
                   lowp::random_source{seed, stream, B, is_keyed}};
};
constexpr auto tensors = [](std::uint64_t n, bool is_keyed) {
  auto const tensor = static_cast<std::uint32_t>(n);
  return std::pair{lowp::random_source{seed, lowp::stream_of(tensor, 7), 0, is_keyed},
                   lowp::random_source{seed, lowp::stream_of(tensor + 1, 7), 0, is_keyed}};
};
constexpr auto steps = [](std::uint64_t n, bool is_keyed) {
  return std::pair{lowp::random_source{seed, lowp::stream_of(3, n), 0, is_keyed},
                   lowp::random_source{seed, lowp::stream_of(3, n + 1), 0, is_keyed}};
};
constexpr auto seeds = [](std::uint64_t n, bool is_keyed) {
  std::uint64_t const stream = lowp::stream_of(4, 1);
  return std::pair{lowp::random_source{seed, stream, 0, is_keyed},
                   lowp::random_source{seed ^ std::uint64_t{1} << n % 64, stream, 0, is_keyed}};
};
relation const relations[]{{"the next element", same, 1},
                           {"the other half of a word", same, 4},
                           {"the next block", same, 8},
                           {"the next group", same, 128},
                           {"draws 0 and 1", draws<0, 1>},
                           {"draws 0 and 2", draws<0, 2>},
                           {"draws 1 and 2", draws<1, 2>},
                           {"streams of two tensors", tensors},
                           {"steps", steps},
                           {"seeds that differ in one bit", seeds}};

pair_counts counts_of(relation const& r, bool is_keyed) {
  pair_counts all;
  std::mutex merging;
  constexpr std::size_t jobs = 32;
  in_parallel(jobs, [&](std::size_t job) {
    pair_counts mine;
    std::vector<std::uint16_t> a(chunk);
    std::vector<std::uint16_t> b(chunk);
    for (std::size_t n = job; n < chunks; n += jobs) {
      auto const [first, second] = r.sources(n, is_keyed);
      lowp::simd::this_thread{}(fill_kernel{first, n * chunk, a});
      lowp::simd::this_thread{}(fill_kernel{second, n * chunk + r.lag, b});
      for (std::size_t i = 0; i < chunk; ++i)
        if ((i & r.lag) == 0) mine.add(a[i], b[i]);
    }
    std::lock_guard const lock(merging);
    all += mine;
    return true;
  });
  return all;
}

void check_pairs(bool is_keyed) {
  for (relation const& r : relations) {
    pair_counts const counts = counts_of(r, is_keyed);
    double const pairs = static_cast<double>(counts.pairs);
    ASSERT_EQ(counts.pairs, chunk * chunks / (r.lag == 0 ? 1 : 2));
    constexpr double variance = (65536.0 * 65536.0 - 1) / 3;
    double const correlation = static_cast<double>(counts.products) / variance / std::sqrt(pairs);
    EXPECT_LT(std::abs(deviate_from_even(counts.first)), limit) << r.name;
    EXPECT_LT(std::abs(deviate_from_even(counts.bytes)), limit) << r.name;
    EXPECT_LT(std::abs(deviate_from_even(counts.differing)), limit) << r.name;
    EXPECT_LT(std::abs(correlation), limit) << r.name;
  }
}

TEST(draws, of_blocks_are_even_and_independent) { check_pairs(false); }
TEST(draws, of_keys_are_even_and_independent) { check_pairs(true); }

// A source that is worse is found: words that are counted, and pairs that share a bit.
TEST(draws, that_are_not_random_are_found) {
  pair_counts counts;
  for (std::uint32_t i = 0; i < values * 16; ++i) {
    std::uint32_t const a = lowp::random_source{seed, 0}(i);
    counts.add(a, lowp::random_source{seed, 1}(i) | (a & 1));
  }
  EXPECT_LT(std::abs(deviate_from_even(counts.first)), limit);
  EXPECT_GT(deviate_from_even(counts.differing), limit);
  std::vector<std::uint64_t> too_even(values, 16);
  EXPECT_LT(deviate_from_even(too_even), -limit);
}

// Weights that take steps of a third of a gap: moves are binomial, so their sum and the number of
// weights at each place have exact standard errors.
template <class T, class R>
void check_walk() {
  constexpr std::size_t weights = chunk;
  constexpr int walk =
      std::min(64, (1 << facts<T>.significand_bits) - 1);  // ends within the binade
  constexpr double moves = 21848 / 65536.0;
  T const one(1);
  double const gap = static_cast<double>(ulp(one));
  std::vector<T> p(weights, one);
  std::vector<float> const u(weights, static_cast<float>(gap * moves));
  for (int step = 1; step <= walk; ++step)
    lowp::fused_add(
        p, 1.0f, u,
        R{.seed = seed, .stream = lowp::stream_of(5, 0)}.at(static_cast<std::uint64_t>(step)));

  std::vector<double> seen(walk + 1);
  double sum = 0;
  for (T const x : p) {
    auto const distance = static_cast<std::size_t>(x.bits() - one.bits());
    ASSERT_LE(distance, static_cast<std::size_t>(walk));
    ++seen[distance];
    sum += static_cast<double>(distance);
  }
  double const trials = static_cast<double>(weights) * walk;
  EXPECT_LT(std::abs(sum - trials * moves) / std::sqrt(trials * moves * (1 - moves)), limit);

  double chi_square = 0;
  int degrees = -1;
  double rest_seen = static_cast<double>(weights);
  double rest_expected = rest_seen;
  for (int k = 0; k <= walk; ++k) {
    double const expected =
        static_cast<double>(weights) *
        std::exp(std::lgamma(walk + 1) - std::lgamma(k + 1) - std::lgamma(walk - k + 1) +
                 k * std::log(moves) + (walk - k) * std::log1p(-moves));
    if (expected < 20) continue;  // too few: they are counted together
    double const n = seen[static_cast<std::size_t>(k)];
    chi_square += (n - expected) * (n - expected) / expected;
    rest_seen -= n;
    rest_expected -= expected;
    ++degrees;
  }
  if (rest_expected > 1) {
    chi_square += (rest_seen - rest_expected) * (rest_seen - rest_expected) / rest_expected;
    ++degrees;
  }
  EXPECT_LT(deviate(chi_square, degrees), limit) << degrees << " degrees of freedom";
}

template <class T>
class walks : public testing::Test {};
using walkers =
    testing::Types<lowp::bfloat16, lowp::float16, lowp::float8_e4m3fn, lowp::float8_e5m2>;
TYPED_TEST_SUITE(walks, walkers, by_format);

TYPED_TEST(walks, are_unbiased) {
  check_walk<TypeParam, lowp::stochastic>();
  check_walk<TypeParam, lowp::stochastic_fast>();
}

}  // namespace
