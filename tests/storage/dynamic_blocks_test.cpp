// SPDX-License-Identifier: Apache-2.0
// Moments in the 8 bits of bitsandbytes and of FlashOptim: codes and scales of the exact step, in
// the operations of these packages, or by the draw.
#include <gtest/gtest.h>
#include <lowp/lowp.hpp>
#include <lowp/openmp.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cuda/simulated_grid.hpp"
#include "oracle/storage.hpp"
#include "train/update/support.hpp"

namespace {

using namespace lowp_test;
using map = std::array<float, 256>;

// functional.py of bitsandbytes: middles of PyTorch's linspace(0.1, 1) for every decade, sorted.
// linspace counts from the nearer end.
map create_dynamic_map(bool is_signed) {
  std::vector<float> data{0, 1};
  for (int i = 0; i < 7; ++i) {
    int const pieces = 1 << (is_signed ? i : i + 1);
    float const step = (1 - 0.1f) / static_cast<float>(pieces);
    auto const edge = [&](int k) {
      return 2 * k < pieces + 1 - (pieces + 1) % 2
                 ? std::fma(step, static_cast<float>(k), 0.1f)
                 : std::fma(-step, static_cast<float>(pieces - k), 1.0f);
    };
    for (int k = 0; k < pieces; ++k) {
      float const middle = (edge(k) + edge(k + 1)) / 2;
      float const value = static_cast<float>(std::pow(10.0, i - 6)) * middle;
      data.push_back(value);
      if (is_signed) data.push_back(-value);
    }
  }
  std::sort(data.begin(), data.end());
  map sorted{};
  std::copy_n(data.begin(), 256, sorted.begin());
  return sorted;
}

// FNV-1a of the bytes of numbers, lowest first.
template <class... Range>
std::uint64_t hash_of(Range const&... numbers) {
  std::uint64_t hash = 0xcbf29ce484222325;
  auto const add = [&](auto const& range) {
    for (unsigned char const byte : std::span(reinterpret_cast<unsigned char const*>(range.data()),
                                              range.size() * sizeof(range[0])))
      hash = (hash ^ byte) * 0x100000001b3;
  };
  (add(numbers), ...);
  return hash;
}

// The hashes are those of bitsandbytes 0.50.2.
TEST(dynamic_map, is_that_of_bitsandbytes) {
  EXPECT_EQ(hash_of(create_dynamic_map(true)), 0xd677f22a96665bc4U);
  EXPECT_EQ(hash_of(create_dynamic_map(false)), 0x43811b16730a873eU);
}

// The choice of a directed mode between the neighbours toward and away from zero.
bool goes_away(oracle::mode mode, bool is_negative, bool toward_is_odd) {
  return mode == oracle::mode::to_odd
             ? !toward_is_odd
             : mode == (is_negative ? oracle::mode::downward : oracle::mode::upward);
}
bool is_directed(oracle::mode mode) {
  using enum oracle::mode;
  return mode == toward_zero || mode == upward || mode == downward || mode == to_odd;
}

// A kind says how codes and a block's scale mean values, in this file's own arithmetic.
template <bool IsSigned>
struct dynamic {
  using storage = lowp::dynamic_blocks<IsSigned>;
  using code = std::uint8_t;
  using scale = float;
  static constexpr code zero = storage::zero;

  map values = create_dynamic_map(IsSigned);

  static scale scale_of(float largest) { return largest; }
  [[nodiscard]] float value(code c, scale absmax) const { return values[c] * absmax; }
  [[nodiscard]] code code_of(float x, float absmax, slot_mode const& mode,
                             std::uint32_t random) const {
    float y = x / absmax;
    y = std::max(std::isfinite(y) ? y : 0, values[0]);
    auto const above = std::upper_bound(values.begin(), values.end(), y);
    auto const low = static_cast<std::uint8_t>(above - values.begin() - 1);
    if (values[low] == y) return low;
    auto const high = static_cast<std::uint8_t>(low + 1);
    if (mode.mode == oracle::mode::nearest_even) {
      float const middle = (values[low] + values[high]) * 0.5f;
      return y == middle ? (low % 2 == 0 ? low : high) : y > middle ? high : low;
    }
    // The place between the neighbours toward and away from zero is a float. To the nearest 2^-16,
    // half up, it and the draw decide.
    auto const [toward, away] = y < 0 ? std::pair{high, low} : std::pair{low, high};
    if (is_directed(mode.mode)) return goes_away(mode.mode, y < 0, toward % 2 != 0) ? away : toward;
    if (mode.mode == oracle::mode::nearest_away) {
      float const middle = (std::fabs(values[low]) + std::fabs(values[high])) * 0.5f;
      return std::fabs(y) < middle ? toward : away;
    }
    float const place = (y - values[toward]) / (values[away] - values[toward]);
    return std::floor(double{place} * 65536 + 0.5) + random >= 65536 ? away : toward;
  }
};

// The operations of flashoptim 0.1.4, optimizers.py. A product in double is exact, so that nothing
// is contracted.
template <bool IsSigned>
struct companded {
  using storage = lowp::companded_blocks<IsSigned>;
  using code = std::conditional_t<IsSigned, std::int8_t, std::uint8_t>;
  using scale = lowp::float16;
  static constexpr code zero = 0;
  static constexpr float most = IsSigned ? 127 : 255;

  static float size_of(float largest) {
    return std::isnan(largest) ? largest
                               : std::max(IsSigned ? largest : std::sqrt(largest), 1e-12f);
  }
  static scale scale_of(float largest) {
    std::uint32_t const bits = float_bits(size_of(largest));
    return scale::from_bits(static_cast<std::uint16_t>(oracle::encode_computed(
        facts<scale>, bits, oracle::mode::nearest_even, oracle::policy::infinity)));
  }
  [[nodiscard]] static float value(code c, scale stored) {
    float const y = static_cast<float>(c) / most, s = float(stored);
    if (IsSigned) return y / (2 - std::fabs(y)) * s;
    float const root = y * s;
    return root * root;
  }
  [[nodiscard]] static code code_of(float x, float largest, slot_mode const& mode,
                                    std::uint32_t random) {
    float const n = (IsSigned ? x : std::sqrt(std::max(x, 0.0f))) / size_of(largest);
    if (std::isnan(n)) return 0;
    float const y = IsSigned ? 2 * n / (1 + std::fabs(n)) : n;
    auto const scaled = static_cast<float>(double{y} * double{most});
    if (mode.mode == oracle::mode::nearest_even || mode.mode == oracle::mode::nearest_away)
      return static_cast<code>(std::floor(scaled + 0.5f));
    double const size = std::fabs(double{scaled}), whole = std::floor(size);
    bool const is_odd = std::fmod(whole, 2) != 0;
    bool const is_away = is_directed(mode.mode)
                             ? size != whole && goes_away(mode.mode, std::signbit(scaled), is_odd)
                             : std::floor((size - whole) * 65536 + 0.5) + random >= 65536;
    return static_cast<code>(std::copysign(whole + (is_away ? 1 : 0), scaled));
  }
};

template <class T>
bool same_bits(std::vector<T> const& a, std::vector<T> const& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <class Kind>
struct moment {
  static constexpr std::size_t block = Kind::storage::elements_per_scale;
  Kind kind;
  std::vector<typename Kind::code> codes;
  std::vector<typename Kind::scale> scales;

  explicit moment(std::vector<float> const& x) { store(x, {}, 0); }
  [[nodiscard]] float value(std::size_t i) const { return kind.value(codes[i], scales[i / block]); }
  [[nodiscard]] auto storage() { return typename Kind::storage{codes, scales}; }
  bool operator==(moment const& other) const {
    return codes == other.codes && same_bits(scales, other.scales);
  }

  void store(std::vector<float> const& x, slot_mode const& mode, unsigned draw) {
    codes.resize(x.size());
    std::vector<float> largest(Kind::storage::blocks(x.size()));
    scales.resize(largest.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      float& most = largest[i / block];
      if (!std::isnan(most)) most = std::max(most, std::fabs(x[i]));
      if (!std::isfinite(x[i])) most = std::nanf("");
      scales[i / block] = Kind::scale_of(most);
    }
    for (std::size_t i = 0; i < x.size(); ++i)
      codes[i] = kind.code_of(x[i], largest[i / block], mode, mode.random(i, draw));
  }
};

// The hashes are those of flashoptim 0.1.4 in Triton's interpreter.
std::vector<float> spread_numbers() {
  std::vector<float> x(4096);
  for (std::uint32_t i = 0; i < x.size(); ++i)
    x[i] = std::ldexp(static_cast<float>(static_cast<std::int32_t>(i * 2654435761U) >> 8),
                      -23 - static_cast<int>(i % 13));
  return x;
}
template <bool IsSigned>
void expect_hashes(std::vector<float> const& x, std::uint64_t of_codes, std::uint64_t of_values) {
  moment<companded<IsSigned>> const kept(x);
  std::vector<float> values(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) values[i] = kept.value(i);
  EXPECT_EQ(hash_of(kept.codes, kept.scales), of_codes);
  EXPECT_EQ(hash_of(values), of_values);
}
TEST(companded_blocks, are_those_of_flashoptim) {
  std::vector<float> x = spread_numbers();
  expect_hashes<true>(x, 0xfabfd65ac03f4c5d, 0x7bf4d95dfdda3eec);
  for (float& each : x) each *= each;
  expect_hashes<false>(x, 0x72ae07d91f9e0e0f, 0xcf9f00895c001455);
}
template <class Error>
void expect_hashes_of_errors(oracle::facts const& format, std::uint64_t of_errors,
                             std::uint64_t of_values) {
  oracle::corrected const model{format, 8 * static_cast<int>(sizeof(Error))};
  std::vector<Error> errors;
  std::vector<std::uint32_t> values;
  for (float const x : spread_numbers()) {
    oracle::kept const kept = model.store(float_bits(x), {});
    errors.push_back(static_cast<Error>(kept.codes[1]));
    values.push_back(model.value(kept.codes));
  }
  EXPECT_EQ(hash_of(errors), of_errors);
  EXPECT_EQ(hash_of(values), of_values);
}
TEST(corrected_master, is_that_of_flashoptim) {
  using lowp::bfloat16, lowp::float16;
  expect_hashes_of_errors<std::uint8_t>(facts<float16>, 0x986653a66c90379c, 0x1275ec94140dc081);
  expect_hashes_of_errors<std::uint16_t>(facts<float16>, 0xebd2a10b1d75f27b, 0x3f6afa815527e673);
  expect_hashes_of_errors<std::uint8_t>(facts<bfloat16>, 0x50846093050a6a49, 0x22fc6a24ea25b1bf);
  expect_hashes_of_errors<std::uint16_t>(facts<bfloat16>, 0x44d5e929e6658bf0, 0xe92f2fb60a99676c);
}
// Below a power of two, floats are closer than the errors.
TEST(corrected_master, of_16_and_16_bits_is_a_float_or_its_neighbour) {
  oracle::corrected const model{facts<lowp::bfloat16>, 16};
  for (std::uint32_t const first :
       {0u, 0x00ff0000u, 0x3f7f0000u, 0x3f810000u, 0xbf7f0000u, 0x7f7e0000u}) {
    std::uint32_t others = 0;
    for (std::uint32_t w = first; w < first + 0x10000; ++w) {
      std::uint32_t const kept = model.value(model.store(w, {}).codes);
      others += kept != w;
      ASSERT_LE(kept - w + 1, 2u) << w;
    }
    EXPECT_GE(others, 50u) << first;
  }
}

template <template <bool> class Kind>
struct states {
  std::vector<float> p;
  moment<Kind<true>> m;
  moment<Kind<false>> v;

  bool operator==(states const& other) const {
    return same_bits(p, other.p) && m == other.m && v == other.v;
  }
};

constexpr lowp::adamw settings{.lr = 0.01, .weight_decay = 0.1};

// Gradients of many sizes, some zero, so that all decades occur.
std::vector<float> gradients(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> g(size);
  for (float& x : g)
    x = random() % 9 == 0 ? 0 : normal(random) * std::exp2(-static_cast<float>(random() % 30));
  return g;
}

// With decays of 0, these are the moments of a step from zero. One in 32 is 1. The others lie
// half-way between two codes, as far as floats do; one block is smaller than FlashOptim's 1e-12.
std::vector<float> halves_of_codes(std::size_t size) {
  map const values = create_dynamic_map(true);
  std::vector<float> g(size, 1);
  for (std::size_t i = 0; i < size; ++i) {
    if (i % 32 == 0 && i / 32 != 3) continue;
    float const half = static_cast<float>(i % 127) + 0.5f;
    g[i] = i % 2 == 0 ? half / 255 : half / (254 - half) * (i % 4 == 1 ? 1.0f : -1.0f);
    if (i % 8 == 7) g[i] = (values[i % 255] + values[i % 255 + 1]) * 0.5f;
    if (i / 32 == 3) g[i] *= 1e-13f;
  }
  return g;
}

template <template <bool> class Kind, class R>
void check(R const& rounding, slot_mode const& mode, std::size_t size) {
  SCOPED_TRACE(size);
  states<Kind> mine{gradients(size, 2), moment<Kind<true>>(std::vector<float>(size)),
                    moment<Kind<false>>(std::vector<float>(size, 0x1p-10f))};
  states<Kind> want = mine, on_grid = mine;
  for (std::uint64_t step = 1; step <= 4; ++step) {
    lowp::adamw a = settings;
    if (step == 1) a.beta1 = a.beta2 = 0;
    auto const scalars = oracle::prepare(
        oracle::adamw_settings{a.lr, a.beta1, a.beta2, a.eps, a.weight_decay}, step);
    std::vector<float> g = step == 1 ? halves_of_codes(size) : gradients(size, 10 + step);
    if (step == 4) g[size / 2] = size % 2 == 0 ? std::nanf("") : -HUGE_VALF;
    std::vector<float> next_m(size), next_v(size);
    for (std::size_t i = 0; i < size; ++i) {
      auto const to =
          oracle::adamw(float_bits(want.p[i]), float_bits(g[i]), float_bits(want.m.value(i)),
                        float_bits(want.v.value(i)), scalars);
      want.p[i] = float_of(to.w);
      next_m[i] = float_of(to.m);
      next_v[i] = float_of(to.v);
    }
    want.m.store(next_m, mode.at(step), 1);
    want.v.store(next_v, mode.at(step), 2);
    lowp::update(mine.p, g, mine.m.storage(), mine.v.storage(), a, step, rounding);
    simulated_grid grid(64, 3);
    EXPECT_EQ(refusal_of<lowp::detail::update_operation>(lowp::cuda::on_grid<simulated_grid>{grid},
                                                         on_grid.p, g, on_grid.m.storage(),
                                                         on_grid.v.storage(), a, step, rounding),
              "");
    EXPECT_TRUE(on_grid == mine) << "on a grid, step " << step;
    ASSERT_EQ(mine.m.codes, want.m.codes) << "step " << step;
    ASSERT_EQ(mine.v.codes, want.v.codes) << "step " << step;
    ASSERT_TRUE(mine == want) << "p or a scale, step " << step;
  }
}

template <template <bool> class Kind>
void check_sizes() {
  slot_mode const draws{oracle::mode::stochastic, 5, lowp::stream_of(7, 0), 11};
  lowp::per_slot const nearest{};
  lowp::per_slot const stochastic{.first = draws.library(), .second = draws.library()};
  for (std::size_t size = 1; size <= 1100 && !testing::Test::HasFailure();
       size += size < 5 ? 1 : 73) {
    check<Kind>(nearest, {}, size);
    check<Kind>(stochastic, draws, size);
  }
  lowp::nearest_away const away;
  check<Kind>(lowp::per_slot{.first = away, .second = away}, {oracle::mode::nearest_away}, 1100);
}
TEST(dynamic_blocks, have_the_bits_of_the_exact_step) { check_sizes<dynamic>(); }
TEST(companded_blocks, have_the_bits_of_the_exact_step) { check_sizes<companded>(); }

// Every mode, by the rule of a lane: at codes, in the middle of two, and one float beside these;
// far below the smallest; of both signs.
template <class Kind, class R>
void expect_codes(R const& rounding, oracle::mode mode) {
  using rule = typename Kind::storage::block_rule;
  Kind const kind;
  slot_mode how;
  how.mode = mode;
  auto const results =
      lowp::detail::special_results_of<lowp::float8_e5m2::descriptor, std::uint32_t>(
          rounding, lowp::overflow::saturate);
  std::mt19937_64 random(9);
  std::vector<float> places;
  for (float const x : create_dynamic_map(true)) places.push_back(x);
  for (int i = 0; i < 255; ++i) {
    places.push_back((places[std::size_t(i)] + places[std::size_t(i) + 1]) * 0.5f);
    for (float const c : {static_cast<float>(i), static_cast<float>(i) + 0.5f}) {
      places.push_back(c / 255 * (c / 255));
      places.push_back(c / (254 - std::min(c, 127.0f)) * (i % 2 == 0 ? 1.0f : -1.0f));
    }
    places.push_back(std::ldexp(static_cast<float>(random() % 1000) / 1000, -i / 2));
  }
  for (float const largest : {1.0f, 3.0f, 0x1p-20f})
    for (float const place : places)
      for (float const side : {1.0f, 1 + 0x1p-23f, 1 - 0x1p-24f, -1.0f, -1 - 0x1p-23f}) {
        float const x = std::clamp(place * side, -1.0f, 1.0f) * largest;
        float const root = std::is_same_v<Kind, companded<false>>  // as `scales` passes it
                               ? std::sqrt(largest)
                               : largest;
        std::uint32_t const code = rule{}.encode(x, root, 0u, rounding, results).code;
        auto const want = static_cast<std::uint8_t>(kind.code_of(x, largest, how, 0));
        ASSERT_EQ(code, want) << std::hexfloat << x << " of " << largest << " mode "
                              << static_cast<int>(mode);
      }
}
template <class Kind>
void expect_codes_in_all_modes() {
  using enum oracle::mode;
  expect_codes<Kind>(lowp::nearest_even{}, nearest_even);
  expect_codes<Kind>(lowp::nearest_away{}, nearest_away);
  expect_codes<Kind>(lowp::toward_zero{}, toward_zero);
  expect_codes<Kind>(lowp::upward{}, upward);
  expect_codes<Kind>(lowp::downward{}, downward);
  expect_codes<Kind>(lowp::to_odd{}, to_odd);
}
TEST(dynamic_blocks, have_the_codes_of_all_modes) {
  expect_codes_in_all_modes<dynamic<true>>();
  expect_codes_in_all_modes<dynamic<false>>();
}
TEST(companded_blocks, have_the_codes_of_all_modes) {
  expect_codes_in_all_modes<companded<true>>();
  expect_codes_in_all_modes<companded<false>>();
}

// A block of a GPU divides in three operations. Quotients beside each border between two codes;
// every 1021st significand of the divisor. (None of all significands has another quotient there.)
// Those of the choice between two scales, up to a power of two.
TEST(block_divisor, has_all_quotients_of_six_times_448_and_256) {
  for (float const d : {2688.0f, 1536.0f}) {
    lowp::detail::block_divisor const divisor(d);
    std::size_t wrong = 0;
    for (std::uint32_t bits = 0x3f800000; bits < 0x40000000; ++bits) {
      float const x = lowp::lanes::from_bits<float>(bits);
      wrong += divisor.quotient(x) != x / d ? 1 : 0;
    }
    EXPECT_EQ(wrong, 0U) << d;
  }
}
TEST(block_divisor, has_the_quotients_beside_each_border) {
  using lowp::detail::block_divisor;
  std::vector<double> borders;
  for (map const& values : {create_dynamic_map(true), create_dynamic_map(false)})
    for (std::size_t i = 0; i + 1 < values.size(); ++i)
      if (values[i] >= 0) borders.push_back((double{values[i]} + double{values[i + 1]}) / 2);
  for (int k = 0; k < 255; ++k) {
    double const half = k + 0.5;
    borders.push_back(half / 255);
    if (k < 127) borders.push_back(half / (254 - half));
  }
  for (float const scale : {1.0f, 0x1p-78f, 0x1p99f}) {
    EXPECT_TRUE(block_divisor::permits(scale));
    std::uint64_t wrong = 0;
    for (std::uint32_t bits = float_bits(1.0f); bits < float_bits(2.0f); bits += 1021) {
      float const d = float_of(bits) * scale;
      block_divisor const divisor(d);
      for (double const border : borders) {
        auto const x = float_bits(static_cast<float>(border * double{d}));
        for (std::uint32_t const each : {x - 1, x, x + 1})
          wrong += divisor.quotient(float_of(each)) !=
                   static_cast<float>(double{float_of(each)} / double{d});
      }
    }
    EXPECT_EQ(wrong, 0u) << scale;
  }
  for (float const d : {0.0f, 0x1p-140f, 0x1.fffffep-79f, 0x1p100f, HUGE_VALF, std::nanf("")})
    EXPECT_FALSE(block_divisor::permits(d)) << d;
}

// Every value of a map comes back, in every mode.
TEST(dynamic_blocks, keep_the_values_of_their_map) {
  for (lowp::rounding_mode const mode :
       {lowp::rounding_mode(lowp::nearest_even{}), lowp::rounding_mode(lowp::upward{}),
        lowp::rounding_mode(lowp::toward_zero{}),
        lowp::rounding_mode(lowp::stochastic{.seed = 1})}) {
    map const values = create_dynamic_map(true);
    std::vector<float> const g(values.begin(), values.end()), zeros(256);
    std::vector<float> p(256), absmax(1);
    std::vector<std::uint8_t> codes(256, lowp::signed_dynamic_blocks::zero);
    lowp::update(p, g, lowp::signed_dynamic_blocks{codes, absmax},
                 lowp::sgd{.lr = 0, .momentum = 1}, 1, lowp::per_slot{.first = mode});
    EXPECT_EQ(absmax[0], 1);
    for (std::size_t i = 0; i < 256; ++i) EXPECT_EQ(codes[i], i);
  }
}

// The share of draws that take the upper neighbour is the place between both.
TEST(dynamic_blocks, are_unbiased_if_they_are_stochastic) {
  constexpr std::size_t size = 1 << 18;
  for (float const x : {0.3f, -0.3f, 1e-3f, 2e-8f}) {
    std::vector<float> g(size, x), p(size), absmax(size / 256);
    for (std::size_t i = 0; i < size; i += 256) g[i] = 1;
    std::vector<std::uint8_t> codes(size, lowp::signed_dynamic_blocks::zero);
    lowp::update(p, g, lowp::signed_dynamic_blocks{codes, absmax},
                 lowp::sgd{.lr = 0, .momentum = 1}, 1,
                 lowp::per_slot{.first = lowp::stochastic{.seed = 2}});
    map const values = create_dynamic_map(true);
    double sum = 0;
    for (std::size_t i = 0; i < size; ++i)
      if (i % 256 != 0) sum += double{values[codes[i]]};
    auto const above = std::upper_bound(values.begin(), values.end(), x);
    double const gap = double{*above} - double{above[-1]};
    double const count = size * 255.0 / 256;
    EXPECT_NEAR(sum / count, double{x}, 5 * gap / 2 / std::sqrt(count)) << x;
  }
}

TEST(dynamic_blocks, have_the_same_bits_on_teams_and_in_lists) {
  constexpr std::size_t size = 70001;
  states<dynamic> one{gradients(size, 3), moment<dynamic<true>>(std::vector<float>(size)),
                      moment<dynamic<false>>(std::vector<float>(size))};
  states<dynamic> team = one, list = one;
  lowp::per_slot const mode{.first = lowp::stochastic{.seed = 4},
                            .second = lowp::stochastic{.seed = 4}};
  for (std::uint64_t step = 1; step <= 2; ++step) {
    std::vector<float> const g = gradients(size, 20 + step);
    lowp::update(one.p, g, one.m.storage(), one.v.storage(), settings, step, mode);
    lowp::openmp::update(team.p, g, team.m.storage(), team.v.storage(), settings, step, mode);
    lowp::update(std::vector{lowp::adamw_tensor{list.p, g, list.m.storage(), list.v.storage()}},
                 settings, step, mode);
  }
  EXPECT_TRUE(team == one);
  EXPECT_TRUE(list == one);
}

// A mode that is known when the kernel is compiled has a table of its own.
TEST(dynamic_blocks, take_the_code_that_a_search_finds) {
  for (std::vector<float> const& g : {halves_of_codes(4096), gradients(4096, 8)}) {
    std::vector<float> p(g.size()), absmax(16);
    std::vector<std::uint8_t> codes(g.size(), 127);
    lowp::update(p, g, lowp::signed_dynamic_blocks{codes, absmax},
                 lowp::sgd{.lr = 0, .momentum = 1}, 1);
    EXPECT_EQ(codes, moment<dynamic<true>>(g).codes);
  }
}

TEST(dynamic_blocks, do_not_lose_a_nan) {
  std::vector<float> p(512), g(512, 1), absmax(2);
  std::vector<std::uint8_t> codes(512, 127);
  g[7] = std::nanf("");
  lowp::update(p, g, lowp::signed_dynamic_blocks{codes, absmax}, lowp::sgd{.lr = 0, .momentum = 1},
               1);
  EXPECT_TRUE(has_bits(absmax[0], oracle::canonical_nan_bits));
  EXPECT_EQ(absmax[1], 1);
}

TEST(dynamic_blocks, refuse_another_number_of_scales) {
  std::vector<float> p(257), absmax(1);
  std::vector<std::uint8_t> codes(257);
  try {
    lowp::update(p, p, lowp::signed_dynamic_blocks{codes, absmax},
                 lowp::sgd{.lr = 1, .momentum = 0.5}, 1);
    FAIL() << "not refused";
  } catch (std::invalid_argument const& error) {
    EXPECT_STREQ(error.what(),
                 "lowp::update: momentum: 257 elements in blocks of 256 need 2 values of absmax, "
                 "not 1");
  }
}

}  // namespace
