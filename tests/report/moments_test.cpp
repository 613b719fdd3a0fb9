// SPDX-License-Identifier: Apache-2.0
// A moment that is not finite as stored counts in an update_report. Its element is in no sum. That
// holds for every storage, on the calling thread, a team and a simulated grid.
#include <gtest/gtest.h>
#include <lowp/lowp.hpp>
#if defined(_OPENMP)
#include <lowp/openmp.hpp>
#endif

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "cuda/simulated_grid.hpp"
#include "train/update/support.hpp"

namespace {

using namespace lowp_test;

template <lowp::element T>
double value_of(T x) {
  return double{float_of(oracle::decode_to_float_bits(
      slot_facts<T>(),
      static_cast<std::uint32_t>(std::bit_cast<typename lowp::simd::storage_of<T>::type>(x))))};
}
double value_of(float x) { return double{x}; }
bool fits_float(double x) { return std::fabs(x) < 0x1.ffffffp127; }

// Each kind has a momentum, its storage, and the truth about a stored element.
template <lowp::element T>
struct in_span {
  std::vector<T> codes;
  explicit in_span(std::size_t n) : codes(n) {}
  auto storage() { return std::span(codes); }
  [[nodiscard]] bool is_finite(std::size_t i) const { return fits_float(value_of(codes[i])); }
};
template <lowp::narrow T, int Exponent>
struct with_scale {
  std::vector<T> codes;
  explicit with_scale(std::size_t n) : codes(n) {}
  auto storage() { return lowp::scaled{std::span(codes), 1.0f, std::ldexp(1.0f, Exponent)}; }
  [[nodiscard]] bool is_finite(std::size_t i) const {
    return fits_float(std::ldexp(value_of(codes[i]), -Exponent));
  }
};
struct with_compensation {
  std::vector<lowp::bfloat16> value, compensation;
  explicit with_compensation(std::size_t n) : value(n), compensation(n) {}
  auto storage() { return lowp::kahan{value, compensation}; }
  [[nodiscard]] bool is_finite(std::size_t i) const { return fits_float(value_of(value[i])); }
};
// FLT_MAX has the high half of infinity, and a low half that takes a bit from it.
struct in_halves {
  std::vector<lowp::bfloat16> high;
  std::vector<std::uint16_t> low;
  explicit in_halves(std::size_t n) : high(n), low(n) {}
  auto storage() { return lowp::split_master{high, low}; }
  [[nodiscard]] bool is_finite(std::size_t i) const {
    auto const low_half = static_cast<std::uint32_t>(static_cast<std::int16_t>(low[i]));
    std::uint32_t const whole = (std::uint32_t{high[i].bits()} << 16) + low_half;
    return (whole & 0x7fffffffU) < 0x7f800000U;
  }
};
template <lowp::narrow T, int Block>
struct in_blocks {
  std::vector<T> codes;
  std::vector<lowp::float8_e8m0fnu> scales;
  explicit in_blocks(std::size_t n)
      : codes(n), scales((n + Block - 1) / Block, lowp::float8_e8m0fnu(1.0f)) {}
  auto storage() { return lowp::blocks_of<Block>(codes, scales); }
  [[nodiscard]] bool is_finite(std::size_t i) const {
    int const scale = scales[i / Block].bits();
    return scale != 255 && fits_float(std::ldexp(value_of(codes[i]), scale - 127));
  }
};
struct in_dynamic_blocks {
  std::vector<std::uint8_t> codes;
  std::vector<float> absmax;
  explicit in_dynamic_blocks(std::size_t n)
      : codes(n, lowp::signed_dynamic_blocks::zero), absmax((n + 255) / 256) {}
  auto storage() { return lowp::signed_dynamic_blocks{codes, absmax}; }
  [[nodiscard]] bool is_finite(std::size_t i) const {
    return fits_float(value_of(absmax[i / 256]));
  }
};
struct in_companded_blocks {
  std::vector<std::int8_t> codes;
  std::vector<lowp::float16> scales;
  explicit in_companded_blocks(std::size_t n) : codes(n), scales((n + 31) / 32) {}
  auto storage() { return lowp::signed_companded_blocks{codes, scales}; }
  [[nodiscard]] bool is_finite(std::size_t i) const { return fits_float(value_of(scales[i / 32])); }
};
struct in_nibbles {
  std::size_t size;
  std::vector<std::uint8_t> bytes;
  explicit in_nibbles(std::size_t n) : size(n), bytes((n + 1) / 2) {}
  auto storage() { return lowp::packed<lowp::float4_e2m1fn>(bytes, size); }
  [[nodiscard]] static bool is_finite(std::size_t) { return true; }
};

template <class Kind>
class report_of_moments : public testing::Test {};
using kinds = some_or_all<
    testing::Types<in_span<float>, in_span<lowp::bfloat16>, in_span<lowp::float8_e4m3fnuz>,
                   with_scale<lowp::float8_e4m3fn, -125>, in_blocks<lowp::float8_e4m3fn, 32>,
                   in_companded_blocks>,
    testing::Types<in_span<float>, in_span<lowp::bfloat16>, in_span<lowp::float8_e5m2>,
                   in_span<lowp::float8_e4m3fn>, in_span<lowp::float8_e4m3fnuz>,
                   with_scale<lowp::float16, 10>, with_scale<lowp::float8_e4m3fn, -125>,
                   with_compensation, in_halves, in_blocks<lowp::float8_e4m3fn, 32>,
                   in_blocks<lowp::float8_e5m2, 256>, in_dynamic_blocks, in_companded_blocks,
                   in_nibbles>>;
TYPED_TEST_SUITE(report_of_moments, kinds);

// With step 1 the momentum is the gradient. Ordinary ones are below 2, and in other cases are not;
// then some are at the ends of formats. Some cases have one large element alone.
std::vector<float> gradients(std::size_t size, std::uint64_t seed) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr std::array large{447.0f,
                             465.0f,
                             1e3f,
                             57344.0f,
                             61440.0f,
                             65503.0f,
                             65520.0f,
                             -65536.0f,
                             1e9f,
                             0x1p127f,
                             -0x1.fep127f,
                             0x1.ffp127f,
                             -0x1.fffffep127f,
                             infinity,
                             -infinity,
                             std::numeric_limits<float>::quiet_NaN(),
                             63.9f,
                             65.0f};
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(0, seed % 3 == 0 ? 20.0f : 0.1f);
  std::vector<float> g(size);
  for (float& x : g) x = normal(random);
  if (size == 0 || seed % 4 == 0) return g;
  if (seed % 4 == 1)
    g[random() % size] = large[seed / 4 % large.size()];
  else
    for (std::size_t i = random() % 40; i < size; i += 1 + random() % (seed % 4 == 2 ? 3 : 200))
      g[i] = large[random() % large.size()];
  return g;
}

TYPED_TEST(report_of_moments, counts_what_is_stored) {
  using kind = TypeParam;
  lowp::sgd const settings{.lr = 1e-30, .momentum = 0.9};
  std::uint64_t found = 0;
  for (std::uint64_t seed = 1; seed <= 120 && !this->HasFailure(); ++seed) {
    std::size_t const size = seed == 110      ? 34000
                             : seed % 10 == 0 ? 1000 + seed
                                              : lengths[seed % lengths.size()];
    SCOPED_TRACE("case " + std::to_string(seed) + ", " + std::to_string(size) + " elements");
    std::vector<float> const g = gradients(size, seed);
    lowp::overflow const policy =
        seed % 5 == 0 ? lowp::overflow::saturate : lowp::overflow::infinity;
    lowp::per_slot const modes{.first = seed % 2 == 0 ? lowp::rounding_mode(lowp::upward{})
                                                      : lowp::rounding_mode(lowp::nearest_even{})};
    auto const check = [&](auto const& update) {
      std::vector<float> p(size, 1.0f);
      kind momentum(size);
      lowp::update_report report;
      update(p, momentum, report);
      std::uint64_t lost = 0;
      double requested = 0;
      for (std::size_t i = 0; i < size; ++i) {
        bool const is_counted = !std::isfinite(g[i]) || !momentum.is_finite(i);
        lost += is_counted ? 1 : 0;
        found += std::isfinite(g[i]) && is_counted ? 1 : 0;
        if (!is_counted) requested += std::fabs(double{g[i]}) * 1e-30;
      }
      EXPECT_EQ(report.nonfinite, lost);
      EXPECT_EQ(report.count, size);
      EXPECT_NEAR(report.requested.value(), requested, 2e-6 * requested);
      return report;
    };
    lowp::update_report const mine = check([&](auto& p, auto& momentum, auto& report) {
      lowp::update(p, g, momentum.storage(), settings, 1, modes, policy, report);
    });
#if defined(_OPENMP)
    if (size > 20000)
      check([&](auto& p, auto& momentum, auto& report) {
        lowp::openmp::update(p, g, momentum.storage(), settings, 1, modes, policy, report);
      });
#endif
    if (seed % 2 == 0 && size < 2000) {
      lowp::update_report const on_grid = check([&](auto& p, auto& momentum, auto& report) {
        simulated_grid grid(64, 3);
        EXPECT_EQ(refusal_of<lowp::detail::update_operation>(
                      lowp::cuda::on_grid<simulated_grid>{grid}, p, g, momentum.storage(), settings,
                      1, modes, policy, report),
                  "");
      });
      EXPECT_EQ(std::memcmp(&mine, &on_grid, sizeof mine), 0);
    }
  }
  constexpr bool keeps_all = std::is_same_v<kind, in_span<float>> ||
                             std::is_same_v<kind, in_halves> || std::is_same_v<kind, in_nibbles>;
  EXPECT_EQ(found == 0, keeps_all);
}

// A large gradient makes v infinite. From then on its weight stands still.
TEST(report_of_moments, names_a_weight_that_a_second_moment_froze) {
  std::size_t const size = 300;
  std::vector<float> p(size, 1.0f);
  std::vector<float> g(size, 0.1f);
  std::vector<float> m(size);
  std::vector<lowp::bfloat16> v(size);
  g[77] = 1e21f;
  lowp::per_slot const modes{};
  for (std::uint64_t step = 1; step <= 20; ++step) {
    lowp::update_report report;
    float const before = p[77];
    lowp::update(p, g, m, v, lowp::adamw{.weight_decay = 0}, step, modes, report);
    EXPECT_EQ(report.nonfinite, 1U) << step;
    EXPECT_EQ(report.stalled, 0U);
    EXPECT_TRUE(step == 1 || p[77] == before);
    g[77] = 0.1f;
  }
}

// A second moment that is stored as 0 is finite, so that an update_report cannot see it. A
// moment_report counts its lost changes.
TEST(report_of_moments, of_moments_shows_a_second_moment_that_is_zero) {
  std::size_t const size = 64;
  std::vector<float> p(size, 0.0f);
  std::vector<float> const g(size, 1e-4f);
  std::vector<float> m(size);
  std::vector<lowp::float16> v(size);
  for (std::uint64_t step = 1; step <= 1000; ++step) {
    std::vector<float> p2 = p;
    std::vector<float> m2 = m;
    std::vector<lowp::float16> v2 = v;
    lowp::adamw const settings{.weight_decay = 0};
    lowp::update_report updates;
    lowp::moment_report moments;
    lowp::update(p2, g, m2, v2, settings, step, lowp::nearest_even{}, updates);
    lowp::update(p, g, m, v, settings, step, lowp::nearest_even{}, moments);
    EXPECT_EQ(updates.nonfinite, 0U);
    EXPECT_GT(updates.applied_ratio(), 0.99);
    EXPECT_EQ(moments.second.stalled_share(), 1.0);
    EXPECT_EQ(moments.second.bias(), -1.0);
    EXPECT_EQ(moments.first.stalled_share(), 0.0);
  }
  EXPECT_LT(p[0], -10.0f);  // -1 is right
}

}  // namespace
