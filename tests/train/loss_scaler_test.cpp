// SPDX-License-Identifier: Apache-2.0
// The loss scaler against GradScaler's documented rules, written out. peers/torch has the
// real one.
#include <gtest/gtest.h>
#include <lowp/update.hpp>

#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace {

static_assert(std::is_trivially_copyable_v<lowp::loss_scaler>);

lowp::gradient_report report_of(std::uint64_t nonfinite, std::uint64_t count) {
  lowp::gradient_report report;
  report.nonfinite = nonfinite;
  report.count = count;
  return report;
}

TEST(loss_scaler, starts_as_grad_scaler) {
  lowp::loss_scaler const s;
  EXPECT_EQ(s.scale, 65536.0f);
  EXPECT_EQ(s.growth_factor, 2.0);
  EXPECT_EQ(s.backoff_factor, 0.5);
  EXPECT_EQ(s.growth_interval, 2000U);
  EXPECT_EQ(s.minimum, 0x1p-24f);
  EXPECT_EQ(s.inverse_scale(), 0x1p-16f);
}

TEST(loss_scaler, follows_the_rules) {
  std::mt19937_64 random(1);
  for (double const growth : {2.0, 1.5, 1e30}) {
    for (double const backoff : {0.5, 0.3, 0.0}) {
      for (std::uint32_t const interval : {1U, 3U, 10U}) {
        lowp::loss_scaler s{
            .growth_factor = growth, .backoff_factor = backoff, .growth_interval = interval};
        s.minimum = backoff > 0.4 ? 0 : 0x1p-24f;
        float scale = 65536;
        std::uint32_t good = 0;
        std::uint64_t skipped = 0;
        for (int step = 0; step < 300; ++step) {
          bool const overflowed = random() % 8 == 0;
          if (overflowed) {
            scale = std::fmax(static_cast<float>(double{scale} * backoff), s.minimum);
            good = 0;
            ++skipped;
          } else if (++good == interval) {
            auto const larger = static_cast<float>(double{scale} * growth);
            if (std::isfinite(larger)) scale = larger;
            good = 0;
          }
          s.update(overflowed);
          ASSERT_EQ(s.scale, scale);
          ASSERT_EQ(s.growth_tracker, good);
          ASSERT_EQ(s.inverse_scale(), static_cast<float>(1 / double{scale}));
        }
        EXPECT_EQ(s.updates, 300U);
        EXPECT_EQ(s.skipped, skipped);
      }
    }
  }
}

TEST(loss_scaler, does_not_fall_below_its_minimum) {
  auto const after = [](float scale, float minimum, int skips) {
    lowp::loss_scaler s{.scale = scale, .minimum = minimum};
    for (int i = 0; i < skips; ++i) s.update(true);
    EXPECT_EQ(s.skipped, static_cast<std::uint64_t>(skips));
    return s.scale;
  };
  EXPECT_EQ(after(65536, 0x1p-24f, 40), 0x1p-24f);
  EXPECT_EQ(after(65536, 0x1p-24f, 41), 0x1p-24f);
  EXPECT_EQ(after(65536, 1, 400), 1.0f);
  EXPECT_EQ(after(65536, 3, 400), 3.0f);  // 65536 / 2^k goes from 4 to 2
  EXPECT_EQ(after(0x1p-30f, 0x1p-24f, 9), 0x1p-30f) << "it is not raised";
  EXPECT_EQ(after(65536, 0, 165), 0x1p-149f);
  EXPECT_EQ(after(65536, 0, 400), 0.0f) << "as GradScaler";

  // It grows again from there.
  lowp::loss_scaler s{.growth_interval = 1};
  for (int i = 0; i < 4000; ++i) s.update(true);
  s.update(false);
  EXPECT_EQ(s.scale, 0x1p-23f);
  EXPECT_EQ(s.inverse_scale(), 0x1p23f);
}

TEST(loss_scaler, names_the_first_tensor_that_overflowed) {
  lowp::loss_scaler s;
  s.observe("embedding", report_of(0, 10));
  EXPECT_FALSE(s.found_nonfinite());
  s.update();
  s.observe("embedding", report_of(0, 10));
  s.observe("head", report_of(3, 20));
  s.observe("norm", report_of(5, 5));
  EXPECT_TRUE(s.found_nonfinite());
  s.update();
  EXPECT_FALSE(s.found_nonfinite());
  EXPECT_EQ(s.scale, 32768.0f);
  s.update();
  EXPECT_EQ(s.scale, 32768.0f);
  EXPECT_EQ(s.overflow.tensor, "head");
  EXPECT_EQ(s.overflow.nonfinite, 3U);
  EXPECT_EQ(s.overflow.count, 20U);
  EXPECT_EQ(s.overflow.step, 2U);
}

TEST(loss_scaler, is_the_same_in_any_rounding_mode) {
  for (int const mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    lowp::loss_scaler s{.scale = 3, .backoff_factor = 0.3};
    lowp::loss_scaler want = s;
    want.update(true);
    std::fesetround(mode);
    s.update(true);
    float const inverse = s.inverse_scale();
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(s.scale, want.scale);
    EXPECT_EQ(inverse, want.inverse_scale());
  }
}

TEST(loss_scaler, refuses_factors_as_grad_scaler_does) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  auto const text_of = [](lowp::loss_scaler s) -> std::string {
    try {
      s.update();
    } catch (std::invalid_argument const& refusal) {
      return refusal.what();
    }
    return "";
  };
  for (double const growth : {1.0, 0.5, 0.0, -2.0, inf, -inf, std::nan("")})
    EXPECT_EQ(text_of({.growth_factor = growth}).find("lowp::loss_scaler: growth_factor is "), 0U)
        << growth;
  for (double const backoff : {1.0, 1.5, -0.5, inf, -inf, std::nan("")})
    EXPECT_EQ(text_of({.backoff_factor = backoff}).find("lowp::loss_scaler: backoff_factor is "),
              0U)
        << backoff;
  for (float const scale :
       {std::nanf(""), -std::nanf(""), HUGE_VALF, -HUGE_VALF, -1.0f, -0x1p-149f})
    EXPECT_EQ(text_of({.scale = scale}).find("lowp::loss_scaler: scale is "), 0U) << scale;
  for (float const minimum : {std::nanf(""), HUGE_VALF, -HUGE_VALF, -1.0f, -0x1p-149f})
    EXPECT_EQ(text_of({.minimum = minimum}).find("lowp::loss_scaler: minimum is "), 0U) << minimum;
  EXPECT_EQ(text_of({.growth_interval = 0}),
            "lowp::loss_scaler: growth_interval is 0, not at least 1");
  EXPECT_EQ(text_of({.scale = 0}), "") << "backoff leads there";
  EXPECT_EQ(text_of({.scale = -0.0f}), "");
  EXPECT_EQ(text_of({.growth_factor = 1 + 0x1p-52, .backoff_factor = 1 - 0x1p-53}), "");
}

}  // namespace
