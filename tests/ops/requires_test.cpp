// SPDX-License-Identifier: Apache-2.0
// `requires` sees every mistake that an operation refuses at compile time: those of
// project/compile_fail and their siblings, for this thread and for a team.
#include <gtest/gtest.h>
#include <lowp/lowp.hpp>

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(_OPENMP)
#include <lowp/openmp.hpp>
#endif

namespace {

using lowp::bfloat16;
using floats = std::vector<float>&;
using constants = std::vector<float> const&;
using narrows = std::vector<bfloat16>&;
using halves = std::vector<lowp::float16>&;

template <class Operation, class... Arguments>
concept takes = std::is_invocable_v<Operation const&, Arguments...>;

#define LOWP_TAKES(name, ...) takes<decltype(lowp::name), __VA_ARGS__>

static_assert(LOWP_TAKES(cast, constants, narrows));
static_assert(LOWP_TAKES(cast, std::vector<float>, narrows));
static_assert(LOWP_TAKES(cast, constants, std::span<bfloat16>));
static_assert(LOWP_TAKES(cast, std::vector<int> const&, narrows, lowp::stochastic, lowp::overflow));
static_assert(!LOWP_TAKES(cast, constants, std::vector<bfloat16>));
static_assert(!LOWP_TAKES(cast, constants, std::vector<bfloat16> const&));
static_assert(!LOWP_TAKES(cast, std::vector<int> const&, std::vector<double>&));
static_assert(!LOWP_TAKES(cast, std::vector<long double> const&, narrows));
static_assert(!LOWP_TAKES(cast, std::string const&, narrows));
static_assert(!LOWP_TAKES(cast, constants, narrows, lowp::per_slot));
static_assert(!LOWP_TAKES(cast, constants, narrows, lowp::stochastic_bits));
static_assert(!LOWP_TAKES(cast, constants, narrows, int));
static_assert(!LOWP_TAKES(cast, constants));
static_assert(!LOWP_TAKES(cast, std::span<float volatile>, narrows));
static_assert(!LOWP_TAKES(cast, std::span<int volatile>, narrows));

static_assert(LOWP_TAKES(fused_add, narrows, float, constants));
static_assert(LOWP_TAKES(fused_add, narrows, int, constants, lowp::stochastic, lowp::overflow,
                         lowp::update_report&));
static_assert(!LOWP_TAKES(fused_add, std::vector<int>&, float, constants));
static_assert(!LOWP_TAKES(fused_add, narrows, float, std::vector<double> const&));
static_assert(!LOWP_TAKES(fused_add, narrows, constants, constants));
static_assert(!LOWP_TAKES(fused_add, narrows, float, constants, lowp::nearest_even,
                          lowp::update_report));

struct number {
  operator float() const { return 1; }
};
struct changing_number {
  operator float() { return 1; }
};
static_assert(LOWP_TAKES(fused_add, narrows, number, constants));
static_assert(!LOWP_TAKES(fused_add, narrows, changing_number, constants));
static_assert(!LOWP_TAKES(scaled_cast, constants, narrows, changing_number));

// A rounding, a policy and a report: each may be left out, none may change places.
template <class... Outcome>
concept ends_calls =
    LOWP_TAKES(fused_add, narrows, float, constants, Outcome...) &&
    LOWP_TAKES(fused_add, std::vector<lowp::fused_add_tensor<bfloat16, float>> const&, float,
               Outcome...) &&
    LOWP_TAKES(update, narrows, constants, lowp::sgd, int, Outcome...) &&
    LOWP_TAKES(update, narrows, constants, floats, lowp::sgd, int, Outcome...) &&
    LOWP_TAKES(update, narrows, constants, floats, floats, lowp::adamw, int, Outcome...) &&
    LOWP_TAKES(update, std::vector<lowp::sgd_tensor<bfloat16, float>> const&, lowp::sgd, int,
               Outcome...) &&
    LOWP_TAKES(tree_add, std::vector<lowp::named<std::span<bfloat16>>> const&, float,
               std::vector<lowp::named<std::span<float>>> const&, Outcome...);
using lowp::overflow;
using lowp::stochastic;
using report = lowp::update_report&;
static_assert(ends_calls<report> && ends_calls<lowp::update_amax&> && ends_calls<overflow>);
static_assert(ends_calls<overflow, report> && ends_calls<overflow const&, report>);
static_assert(ends_calls<stochastic> && ends_calls<stochastic const&, report>);
static_assert(ends_calls<stochastic&, overflow> && ends_calls<stochastic, overflow, report>);
static_assert(!ends_calls<int> && !ends_calls<report, stochastic> && !ends_calls<report, report>);
static_assert(!ends_calls<overflow, stochastic> && !ends_calls<report, overflow>);
static_assert(!ends_calls<stochastic, stochastic> && !ends_calls<lowp::update_report>);
static_assert(!ends_calls<lowp::update_report const&>);

static_assert(LOWP_TAKES(update, narrows, constants, lowp::sgd, int));
static_assert(LOWP_TAKES(update, narrows, constants, floats, lowp::sgd, std::uint64_t));
static_assert(LOWP_TAKES(update, narrows, constants, floats, halves, lowp::adamw, long,
                         lowp::per_slot, lowp::update_amax&));
static_assert(!LOWP_TAKES(update, narrows, constants, floats, lowp::adamw, int));
static_assert(!LOWP_TAKES(update, narrows, constants, floats, floats, lowp::sgd, int));
static_assert(!LOWP_TAKES(update, narrows, constants, lowp::sgd));
static_assert(!LOWP_TAKES(update, narrows, constants, int));
using exponents = std::vector<lowp::float8_e8m0fnu>&;
static_assert(LOWP_TAKES(update, narrows, exponents, lowp::sgd, int));
static_assert(!LOWP_TAKES(update, exponents, constants, lowp::sgd, int));
static_assert(!LOWP_TAKES(update, narrows, constants, exponents, lowp::sgd, int));
static_assert(!LOWP_TAKES(update, narrows, constants, floats, exponents, lowp::adamw, int));
static_assert(!LOWP_TAKES(update, lowp::kahan<lowp::float8_e8m0fnu, bfloat16>&, constants,
                          lowp::sgd, int));
static_assert(LOWP_TAKES(fused_add, exponents, float, constants));
static_assert(!LOWP_TAKES(update, narrows, constants, constants, constants, lowp::adamw, int));
static_assert(!LOWP_TAKES(update, lowp::block_scaled<lowp::float8_e4m3fn, 128>&, constants,
                          lowp::sgd, int));

static_assert(LOWP_TAKES(transform, decltype([](auto x) { return x; }), lowp::nearest_even, narrows,
                         constants));
static_assert(!LOWP_TAKES(transform, decltype([](auto x) { return x; }), lowp::per_slot, narrows,
                          constants));
static_assert(!LOWP_TAKES(transform, decltype([](auto x) { return x; }), lowp::nearest_even,
                          std::vector<float>, constants));
static_assert(!LOWP_TAKES(transform, decltype([](auto x) { return x; }), lowp::nearest_even,
                          narrows, constants, constants));
static_assert(!LOWP_TAKES(transform, decltype([](auto x) { return x; }), lowp::nearest_even,
                          narrows));
template <class Function>
concept is_element_function =
    LOWP_TAKES(transform, Function, lowp::nearest_even, narrows, constants);
static_assert(!is_element_function<decltype([](float x) { return x; })>);
static_assert(!is_element_function<decltype([](auto) {})>);
static_assert(!is_element_function<decltype([](auto) { return 1; })>);
static_assert(!is_element_function<decltype([](auto) { return 1.0f; })>);
static_assert(!is_element_function<float (*)(float)>);
static_assert(is_element_function<decltype([](auto const& x) -> auto const& { return x; })>);

template <class Codes, class Scales>
concept are_blocks = requires(Codes codes, Scales scales) { lowp::blocks_of<32>(codes, scales); };
using scales = std::vector<lowp::float8_e8m0fnu>;
static_assert(are_blocks<std::vector<lowp::float8_e5m2>&, scales&>);
static_assert(are_blocks<std::vector<lowp::float8_e5m2> const&, scales const&>);
static_assert(!are_blocks<std::vector<lowp::float8_e5m2>&, scales const&>);
static_assert(!are_blocks<lowp::packed<lowp::float4_e2m1fn>, floats>);

static_assert(LOWP_TAKES(scaled_cast, constants, narrows, float, lowp::amax&));
static_assert(!LOWP_TAKES(scaled_cast, constants, std::vector<bfloat16>, float));
static_assert(LOWP_TAKES(sum, constants) && LOWP_TAKES(sum, std::vector<bfloat16>));
static_assert(!LOWP_TAKES(sum, std::vector<double> const&));
static_assert(LOWP_TAKES(softmax, constants, narrows, std::size_t));
static_assert(!LOWP_TAKES(softmax, constants, std::vector<float>, std::size_t));
static_assert(!LOWP_TAKES(softmax, std::span<float volatile>, narrows, std::size_t));
static_assert(!LOWP_TAKES(split, constants, narrows, std::vector<float>&));
using lows = std::vector<std::uint16_t>;
using eights = std::vector<lowp::float8_e4m3fn>&;
static_assert(LOWP_TAKES(split, constants, narrows, lows&));
static_assert(!LOWP_TAKES(split, constants, narrows, lows const&));
static_assert(!LOWP_TAKES(split, constants, narrows, lows));
static_assert(!LOWP_TAKES(split, constants, floats, lows&));
static_assert(!LOWP_TAKES(split, constants, eights, lows&));
static_assert(LOWP_TAKES(join, std::vector<bfloat16>, lows const&, floats));
static_assert(!LOWP_TAKES(join, constants, lows const&, floats));
static_assert(!LOWP_TAKES(join, eights, lows const&, floats));
template <class High, class Low>
concept are_halves = requires(High high, Low low) { lowp::split_master{high, low}; };
static_assert(are_halves<narrows, lows&> && !are_halves<eights, lows&>);
template <class Value, class Error>
concept are_corrected =
    requires(Value value, Error error) { lowp::corrected_master{value, error}; };
static_assert(are_corrected<narrows, std::vector<std::int8_t>&>);
static_assert(!are_corrected<eights, std::vector<std::int8_t>&>);
static_assert(!LOWP_TAKES(clamp_overflow, std::vector<lowp::float8_e8m0fnu>&));
static_assert(LOWP_TAKES(census<bfloat16>, constants));
static_assert(!LOWP_TAKES(census<bfloat16>, std::vector<int> const&));

// A list is taken if each of its tensors is.
using adamw_list = std::vector<lowp::adamw_tensor<bfloat16, float, float, float>>;
using sgd_list = std::vector<lowp::sgd_tensor<float, float>>;
using add_list = std::vector<lowp::fused_add_tensor<float, float>>;
using reports = std::vector<lowp::update_report>&;
static_assert(LOWP_TAKES(update, adamw_list, lowp::adamw, int));
static_assert(LOWP_TAKES(update, adamw_list const&, lowp::adamw, int, lowp::per_slot, reports));
static_assert(LOWP_TAKES(update, std::span<sgd_list::value_type const>, lowp::sgd, long,
                         lowp::stochastic, lowp::overflow, lowp::update_amax&));
static_assert(LOWP_TAKES(fused_add, add_list, int, lowp::stochastic, reports));
static_assert(!LOWP_TAKES(update, adamw_list, lowp::sgd, int));
static_assert(!LOWP_TAKES(update, sgd_list, lowp::adamw, int));
static_assert(!LOWP_TAKES(update, add_list, lowp::sgd, int));
static_assert(!LOWP_TAKES(update, sgd_list, lowp::sgd));
static_assert(!LOWP_TAKES(update, sgd_list, lowp::sgd, int, lowp::stochastic_bits));
static_assert(!LOWP_TAKES(update, sgd_list, lowp::sgd, int, lowp::nearest_even,
                          lowp::update_report));
static_assert(!LOWP_TAKES(update, sgd_list, lowp::sgd, int, lowp::nearest_even,
                          lowp::update_report const&));
static_assert(!LOWP_TAKES(fused_add, sgd_list, float));
static_assert(!LOWP_TAKES(fused_add, add_list, narrows));
static_assert(!LOWP_TAKES(fused_add, add_list, float, lowp::per_slot));

#if defined(_OPENMP)
static_assert(LOWP_TAKES(openmp::update, sgd_list, lowp::sgd, int));
static_assert(!LOWP_TAKES(openmp::update, sgd_list, lowp::adamw, int));
static_assert(LOWP_TAKES(openmp::cast, constants, narrows));
static_assert(!LOWP_TAKES(openmp::cast, constants, std::vector<bfloat16>));
static_assert(LOWP_TAKES(openmp::update, narrows, constants, lowp::sgd, int));
static_assert(LOWP_TAKES(openmp::update, narrows, constants, lowp::sgd, int, report));
static_assert(!LOWP_TAKES(openmp::update, narrows, constants, lowp::sgd));
#endif

TEST(outcome, rounds_to_nearest_even_without_a_rounding) {
  std::vector<float> const g{1.0f / 3, 5, -7e4f};
  auto const step = [&](auto... rounding) {
    std::vector<lowp::float16> p(3, lowp::float16(60000));
    std::vector<float> m(3);
    std::vector<float> v(3);
    lowp::update_report seen;
    lowp::update(p, g, m, v, lowp::adamw{.lr = 1e4}, 1, rounding..., seen);
    lowp::update(p, g, m, lowp::sgd{.lr = 1, .momentum = 0.5}, 2, rounding..., seen);
    lowp::fused_add(p, 0.3f, g, rounding..., seen);
    std::vector<lowp::update_report> each(1);
    lowp::fused_add(std::vector{lowp::fused_add_tensor<lowp::float16, float>{p, g}}, 0.3f,
                    rounding..., each);
    std::vector const model{lowp::named{"p", std::span(p)}};
    lowp::tree_add(model, 0.3f, std::vector{lowp::named{"p", std::span(g)}}, rounding..., each);
    seen += each[0];
    EXPECT_EQ(seen.count, 15U);
    return std::pair(p, seen.overflowed);
  };
  auto const [want, overflowed] = step(lowp::nearest_even{});
  EXPECT_EQ(step(), std::pair(want, overflowed));
  EXPECT_GT(overflowed, 0U);
  auto const [saturated, clamped] = step(lowp::overflow::saturate);
  EXPECT_TRUE(std::isfinite(float(saturated[2])) && !std::isfinite(float(want[2])));
  EXPECT_GT(clamped, 0U);
}

// Braces take the type that the place has.
TEST(requires_clauses, let_braces_name_the_default) {
  std::vector<float> g(3, 1.0f);
  std::vector<float> m(3);
  std::vector<float> v(3);
  std::vector<bfloat16> p(3);
  lowp::cast(g, p, {}, lowp::overflow::saturate);
  lowp::update(p, g, {.lr = 0.5}, 1);
  EXPECT_EQ(float(p[0]), 0.5f);
  lowp::update(p, g, m, {.lr = 0.5}, 1);
  EXPECT_EQ(float(p[0]), 0.0f);
  lowp::update(p, g, m, v, {.lr = 0.0}, 1);
  EXPECT_EQ(float(p[0]), 0.0f);
}

}  // namespace
