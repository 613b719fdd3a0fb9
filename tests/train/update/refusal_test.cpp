// SPDX-License-Identifier: Apache-2.0
// Calls that fused_add and update refuse: the words, and that nothing has been written by then.
#include <gtest/gtest.h>
#include <lowp/fused_add.hpp>
#include <lowp/update.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double denormal = std::numeric_limits<double>::denorm_min();

// The text of the std::invalid_argument that fn throws; empty, with a failure, if it does not.
template <class Fn>
std::string refusal_of(Fn&& fn) {
  try {
    fn();
  } catch (std::invalid_argument const& error) {
    return error.what();
  }
  ADD_FAILURE() << "not refused";
  return "";
}

testing::AssertionResult says(std::string const& text, std::vector<std::string> const& parts) {
  for (std::string const& part : parts)
    if (text.find(part) == std::string::npos)
      return testing::AssertionFailure() << '"' << text << "\" does not say \"" << part << '"';
  return testing::AssertionSuccess();
}

// "... NAME is VALUE ..." with the very value.
testing::AssertionResult names_value(std::string const& text, std::string const& name,
                                     double value) {
  std::string const phrase = name + " is ";
  std::size_t const at = text.find(phrase);
  if (at == std::string::npos) return says(text, {phrase});
  double const said = std::strtod(text.c_str() + at + phrase.size(), nullptr);
  bool const same =
      std::isnan(value) ? std::isnan(said) : said == value || std::fabs(said / value - 1) < 1e-5;
  if (same) return testing::AssertionSuccess();
  return testing::AssertionFailure() << '"' << text << "\" does not name the value " << value;
}

// Slots for a step of AdamW, with a report, that a refused call must leave alone.
struct training_state {
  std::vector<lowp::bfloat16> p = std::vector(21, lowp::bfloat16(1));
  std::vector<float> g = std::vector(21, 0.5f);
  std::vector<float> m = std::vector(21, 0.25f);
  std::vector<lowp::float16> v = std::vector(21, lowp::float16(0.125));
  lowp::update_report report{};

  [[nodiscard]] bool is_untouched() const {
    training_state const fresh;
    return p == fresh.p && g == fresh.g && m == fresh.m && v == fresh.v && report.count == 0;
  }
  void step(lowp::adamw const& a, std::uint64_t number = 3) {
    lowp::update(p, g, m, v, a, number, lowp::nearest_even{}, report);
  }
  template <lowp::optimizer OneMoment>
  void step(OneMoment const& s, std::uint64_t number = 3) {
    lowp::update(p, g, m, s, number, lowp::nearest_even{}, report);
  }
};

template <class Settings>
struct field {
  char const* name;
  double Settings::* value;
  std::vector<double> refused, accepted;
};

template <class Settings>
void check_field(field<Settings> const& f, Settings const& valid) {
  for (double const value : f.refused) {
    training_state state;
    Settings settings = valid;
    settings.*f.value = value;
    EXPECT_TRUE(names_value(refusal_of([&] { state.step(settings); }), f.name, value));
    EXPECT_TRUE(state.is_untouched());
    // An empty tensor is no excuse.
    std::vector<float> none;
    if constexpr (std::is_same_v<Settings, lowp::adamw>)
      refusal_of([&] { lowp::update(none, none, none, none, settings, 1); });
    else
      refusal_of([&] { lowp::update(none, none, none, settings, 1); });
  }
  for (double const value : f.accepted) {
    training_state state;
    Settings settings = valid;
    settings.*f.value = value;
    EXPECT_NO_THROW(state.step(settings)) << f.name << ' ' << value;
    EXPECT_EQ(state.report.count, 21U);
  }
}

// The smallest doubles that float rounds to infinity and to 1.
constexpr double infinite_float = 0x1.ffffffp127, float_one = 0x1.ffffffp-1;
double const most_float = std::nextafter(infinite_float, 0);

std::vector<double> const below_zero{nan,    -nan,           inf,  -inf, -denormal, -1e-9, -0.5,
                                     -1e300, infinite_float, 1e39, 1e300};
std::vector<double> const from_zero{0, -0.0, denormal, 1, 1e30, most_float};
std::vector<double> const no_beta{nan,         inf, -inf,  -denormal, -0.25,    1,
                                  1 + 0x1p-52, 2,   1e300, float_one, 1 - 1e-9, 1 - 0x1p-53};
std::vector<double> const beta{0, -0.0, denormal, 0.5, std::nextafter(float_one, 0)};

TEST(refusal, knows_the_ends_of_float) {
  float const volatile ends[] = {static_cast<float>(infinite_float), static_cast<float>(most_float),
                                 static_cast<float>(float_one),
                                 static_cast<float>(std::nextafter(float_one, 0))};
  EXPECT_TRUE(std::isinf(ends[0]) && !std::isinf(ends[1]) && ends[2] == 1 && ends[3] < 1);
}

TEST(refusal, adamw_hyper_parameters) {
  using lowp::adamw;
  // At step 3, lr is divided by 1 - beta1^3.
  check_field<adamw>({"lr", &adamw::lr, below_zero, from_zero}, {.beta1 = 0});
  check_field<adamw>({"beta1", &adamw::beta1, no_beta, beta}, {});
  check_field<adamw>({"beta2", &adamw::beta2, no_beta, beta}, {});
  check_field<adamw>({"eps", &adamw::eps, below_zero, from_zero}, {});
  check_field<adamw>({"weight_decay", &adamw::weight_decay, below_zero, from_zero}, {});
}

TEST(refusal, sgd_hyper_parameters) {
  using lowp::sgd;
  sgd const valid{.lr = 0.1, .momentum = 0.5};
  check_field<sgd>({"lr", &sgd::lr, below_zero, from_zero}, valid);
  check_field<sgd>({"momentum", &sgd::momentum, below_zero, from_zero}, valid);
  check_field<sgd>({"weight_decay", &sgd::weight_decay, below_zero, from_zero}, valid);
  check_field<sgd>({"dampening",
                    &sgd::dampening,
                    {nan, inf, -inf, 1e300, -infinite_float},
                    {-most_float, -1, 0, 1, 2, most_float}},
                   valid);
}

// Products and quotients of right numbers are floats, too.
TEST(refusal, products_beyond_the_floats) {
  training_state state;
  EXPECT_EQ(refusal_of([&] { state.step(lowp::adamw{.lr = 1e20, .weight_decay = 1e20}); }),
            "lowp::update: adamw: lr * weight_decay is 1e+40, inf as a float, not finite");
  EXPECT_EQ(refusal_of([&] { state.step(lowp::lion{.lr = 1e20, .weight_decay = 1e20}); }),
            "lowp::update: lion: lr * weight_decay is 1e+40, inf as a float, not finite");
  double const slow = 1 - 0x1p-24;  // the largest float below 1
  EXPECT_EQ(refusal_of([&] { state.step(lowp::adamw{.lr = 0x1p104, .beta1 = slow}, 1); }),
            "lowp::update: adamw: lr / (1 - beta1^step) is 3.402823669209385e+38, inf as a float, "
            "not finite");
  EXPECT_TRUE(state.is_untouched());
  for (lowp::adamw const& largest :
       {lowp::adamw{.lr = 0x1p64, .weight_decay = 0x1.fffffep63},
        lowp::adamw{.lr = 0x1.fffffep103, .beta1 = slow, .weight_decay = 0}}) {
    EXPECT_NO_THROW(state.step(largest, 1));
  }
  EXPECT_NO_THROW(state.step(lowp::adamw{.lr = 0x1p104, .beta1 = slow, .weight_decay = 0}, 2));
  EXPECT_NO_THROW(state.step(lowp::lion{.lr = 0x1p104, .beta1 = slow}, 1));
}

TEST(refusal, decay_of_an_average) {
  std::vector average(5, lowp::bfloat16(1));
  std::vector<lowp::bfloat16> const weights(5), fewer(4);
  for (double const decay : no_beta)
    EXPECT_TRUE(names_value(
        refusal_of([&] { lowp::update(average, weights, lowp::ema{decay}, 1); }), "decay", decay));
  EXPECT_TRUE(says(refusal_of([&] { lowp::update(average, fewer, lowp::ema{}, 1); }),
                   {"average has 5, weights has 4"}));
  EXPECT_TRUE(says(refusal_of([&] { lowp::update(average, weights, lowp::ema{}, 0); }),
                   {"ema: step is 0"}));
  EXPECT_EQ(average, std::vector(5, lowp::bfloat16(1)));
}

TEST(refusal, lion_hyper_parameters) {
  using lowp::lion;
  check_field<lion>({"lr", &lion::lr, below_zero, from_zero}, {});
  check_field<lion>({"beta1", &lion::beta1, no_beta, beta}, {});
  check_field<lion>({"beta2", &lion::beta2, no_beta, beta}, {});
  check_field<lion>({"weight_decay", &lion::weight_decay, below_zero, from_zero}, {});
  training_state state;
  EXPECT_TRUE(says(refusal_of([&] { state.step(lion{}, 0); }), {"lion: step is 0"}));
}

TEST(refusal, step_0) {
  training_state state;
  EXPECT_TRUE(says(refusal_of([&] { state.step(lowp::adamw{}, 0); }), {"step is 0"}));
  EXPECT_TRUE(says(refusal_of([&] { state.step(lowp::sgd{.lr = 1}, 0); }), {"step is 0"}));
  EXPECT_TRUE(says(refusal_of([&] { lowp::update(state.p, state.g, lowp::sgd{.lr = 1}, 0); }),
                   {"step is 0"}));
  EXPECT_TRUE(state.is_untouched());
  EXPECT_NO_THROW(state.step(lowp::adamw{}, std::uint64_t{1} << 32));  // its low half is 0
}

// The step that a negative number becomes.
TEST(refusal, step_above_2_to_the_63rd) {
  constexpr std::uint64_t largest = std::uint64_t{1} << 63;
  for (std::int64_t const step : {std::int64_t{-1}, std::int64_t{-1000}, INT64_MIN + 1}) {
    training_state state;
    auto const number = static_cast<std::uint64_t>(step);
    std::vector<std::string> const named{"step is " + std::to_string(number), std::to_string(step)};
    EXPECT_TRUE(says(refusal_of([&] { state.step(lowp::adamw{}, number); }), named));
    EXPECT_TRUE(says(refusal_of([&] { state.step(lowp::sgd{.lr = 1}, number); }), named));
    EXPECT_TRUE(says(
        refusal_of([&] { lowp::update(state.p, state.g, lowp::sgd{.lr = 1}, number); }), named));
    EXPECT_TRUE(state.is_untouched());
  }
  training_state state;
  EXPECT_NO_THROW(state.step(lowp::adamw{}, largest));
}

TEST(refusal, alpha_that_is_not_finite) {
  for (double const alpha : {nan, -nan, inf, -inf}) {
    training_state state;
    auto const call = [&] {
      lowp::fused_add(state.p, static_cast<float>(alpha), state.g, lowp::nearest_even{},
                      state.report);
    };
    std::string const text = refusal_of(call);
    EXPECT_TRUE(says(text, {"lowp::fused_add: alpha is "}));
    EXPECT_TRUE(names_value(text, "alpha", alpha));
    EXPECT_TRUE(state.is_untouched());
    std::vector<float> none;
    refusal_of([&] { lowp::fused_add(none, static_cast<float>(alpha), none); });
  }
}

// A double that is right, and wrong as the float that a kernel takes.
TEST(refusal, alpha_that_is_not_finite_as_a_float) {
  training_state state;
  auto const add = [&](auto alpha) {
    lowp::fused_add(state.p, alpha, state.g, lowp::nearest_even{}, state.report);
  };
  EXPECT_EQ(refusal_of([&] { add(1e39); }),
            "lowp::fused_add: alpha is 1e+39, inf as a float, not finite");
  EXPECT_EQ(refusal_of([&] { add(-infinite_float); }),
            "lowp::fused_add: alpha is -3.4028235677973366e+38, -inf as a float, not finite");
  EXPECT_EQ(refusal_of([&] { add(1e39L); }), "lowp::fused_add: alpha is inf, not finite");
  EXPECT_TRUE(state.is_untouched());
  EXPECT_NO_THROW(add(-most_float));
  EXPECT_NO_THROW(add(1e-60));
}

TEST(refusal, momentum_without_a_range_for_it) {
  training_state state;
  lowp::sgd const s{.lr = 1, .momentum = 0.875};
  std::string const text = refusal_of([&] { lowp::update(state.p, state.g, s, 2); });
  EXPECT_TRUE(names_value(text, "momentum", 0.875));
  EXPECT_TRUE(state.is_untouched());
}

TEST(refusal, unequal_sizes) {
  for (int longer = 0; longer < 4; ++longer) {
    training_state state;
    std::array<std::size_t, 4> const size{longer == 0 ? 20U : 19U, longer == 1 ? 20U : 19U,
                                          longer == 2 ? 20U : 19U, longer == 3 ? 20U : 19U};
    auto const p = std::span(state.p).first(size[0]);
    auto const g = std::span(state.g).first(size[1]);
    auto const m = std::span(state.m).first(size[2]);
    auto const v = std::span(state.v).first(size[3]);
    std::vector<std::string> const named{"p has " + std::to_string(size[0]),
                                         "g has " + std::to_string(size[1])};
    EXPECT_TRUE(says(refusal_of([&] { lowp::update(p, g, m, v, lowp::adamw{}, 1); }), named));
    if (longer < 3) {
      lowp::sgd const s{.lr = 1, .momentum = 0.5};
      EXPECT_TRUE(says(refusal_of([&] { lowp::update(p, g, m, s, 1); }), named));
    }
    if (longer < 2) {
      EXPECT_TRUE(says(refusal_of([&] { lowp::update(p, g, lowp::sgd{.lr = 1}, 1); }), named));
      EXPECT_TRUE(says(refusal_of([&] { lowp::fused_add(p, 1.0f, g); }),
                       {named[0], "u has " + std::to_string(size[1])}));
    }
    EXPECT_TRUE(state.is_untouched());
  }
}

// Four slots in one block of memory, each pair in turn brought together: the same elements, all
// but one, one, and none.
TEST(refusal, overlap_of_any_two_slots) {
  constexpr std::size_t n = 9;
  constexpr std::array<char const*, 4> names{"p", "g", "m", "v"};
  for (std::size_t a = 0; a < 4; ++a) {
    for (std::size_t b = 0; b < 4; ++b) {
      if (a == b) continue;
      for (std::size_t const distance : {std::size_t{0}, std::size_t{1}, n - 1, n}) {
        std::vector<float> memory(8 * n, 0.5f);
        std::array<std::span<float>, 4> slot;
        for (std::size_t i = 0; i < 4; ++i) slot[i] = std::span(memory).subspan(2 * i * n, n);
        slot[b] = std::span(memory).subspan(2 * a * n + distance, n);
        auto const adamw = [&] {
          lowp::update(slot[0], slot[1], slot[2], slot[3], lowp::adamw{}, 1);
        };
        auto const sgd = [&] {
          lowp::update(slot[0], slot[1], slot[2], lowp::sgd{.lr = 1, .momentum = 0.5}, 1);
        };
        auto const plain = [&] { lowp::update(slot[0], slot[1], lowp::sgd{.lr = 1}, 1); };
        if (distance == n) {
          EXPECT_NO_THROW(adamw());
          continue;
        }
        SCOPED_TRACE(std::string(names[a]) + names[b] + std::to_string(distance));
        std::vector<std::string> const words{"overlap", "36 bytes", std::to_string(4 * distance)};
        EXPECT_TRUE(says(refusal_of(adamw), words));
        EXPECT_TRUE(says(refusal_of(adamw),
                         {std::string(names[a]) + " (36", std::string(names[b]) + " (36"}));
        if (a < 3 && b < 3) {
          EXPECT_TRUE(says(refusal_of(sgd), words));
        }
        if (a < 2 && b < 2) {
          EXPECT_TRUE(says(refusal_of(plain), words));
        }
        EXPECT_EQ(memory, std::vector<float>(8 * n, 0.5f));
      }
    }
  }
}

TEST(refusal, partial_overlap_in_fused_add) {
  std::vector<float> memory(20, 0.5f);
  std::span<float> const p = std::span(memory).subspan(5, 5);
  for (std::size_t first = 0; first <= 10; ++first) {
    auto const add = [&] { lowp::fused_add(p, 0.0f, std::span(memory).subspan(first, 5)); };
    if (first == 0 || first == 5 || first == 10)
      EXPECT_NO_THROW(add()) << first;
    else
      EXPECT_TRUE(says(refusal_of(add), {"p (20 bytes)", "u (20 bytes)"})) << first;
  }
  // The same start, but elements of another size.
  auto* const narrow = reinterpret_cast<lowp::bfloat16*>(memory.data());
  std::span<lowp::bfloat16> const u(narrow, 5);
  EXPECT_TRUE(says(refusal_of([&] { lowp::fused_add(std::span(memory).first(5), 1.0f, u); }),
                   {"p (20 bytes)", "u (10 bytes)"}));
  EXPECT_EQ(memory, std::vector<float>(20, 0.5f));
}

TEST(refusal, empty_ranges_overlap_nothing) {
  std::vector<float> memory(4, 0.5f);
  std::span<float> const none = std::span(memory).subspan(2, 0);
  EXPECT_NO_THROW(lowp::update(none, none, none, none, lowp::adamw{}, 1));
  EXPECT_NO_THROW(lowp::fused_add(none, 1.0f, std::span<float>{}));
}

}  // namespace
