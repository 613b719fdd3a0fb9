// SPDX-License-Identifier: Apache-2.0
// Programs have functions of their own with the library's names. Unqualified calls with the
// library's types take the program's.
#include <gtest/gtest.h>
#include <lowp/cast.hpp>
#include <lowp/distributed/wire.hpp>
#include <lowp/lowp.hpp>
#include <lowp/nn.hpp>
#include <lowp/watch.hpp>

#include <span>
#include <string>
#include <vector>

// Every public function of the library that is no value type's own.
// clang-format off
#define LOWP_NAMES(X) \
  X(cast) X(scaled_cast) X(block_cast) X(split) X(join) X(resync) \
  X(transform) X(fused_add) X(update) X(adafactor_direction) X(unscale) X(measure) \
  X(clip) X(sum) X(mean) X(dot) X(norm) \
  X(census) X(abs_range_of) X(gelu_tanh) X(gated_gelu_tanh) X(gelu) X(gated_silu) X(softmax) \
  X(log_softmax) X(scale_mask_softmax) X(rms_norm) X(layer_norm) X(clamp_overflow) \
  X(add_rms_norm) X(add_layer_norm) \
  X(gelu_tanh_backward) X(gated_gelu_tanh_backward) X(silu_backward) X(gated_gelu_backward) \
  X(softmax_backward) X(cross_entropy) \
  X(log_softmax_backward) X(scale_mask_softmax_backward) X(rms_norm_backward) X(layer_norm_backward) X(add_rows) \
  X(gather_rows) X(scatter_add_rows) \
  X(scale_by_power_of_two) X(softmax_pb_relax) X(tree_add) X(convert) X(stall_advice) \
  X(update_of) X(clip_factor) X(projection_exponent) X(power_of_two_scale) X(stream_of) \
  X(philox4x32) X(isa) X(blocks_of) X(view)
// clang-format on

namespace {

namespace user {

struct taken {};

// A user's greedy overloads: a pointer, a vector, a value, and any arguments behind.
#define LOWP_OF_THE_USER(name)                 \
  template <class T, class... Rest>            \
  taken name(T*, const T*, Rest...) {          \
    return {};                                 \
  }                                            \
  template <class T, class... Rest>            \
  taken name(const std::vector<T>&, Rest...) { \
    return {};                                 \
  }                                            \
  template <class... Rest>                     \
  taken name(lowp::bfloat16, Rest...) {        \
    return {};                                 \
  }                                            \
  template <class T, class... Rest>            \
  taken name(std::span<T>, Rest...) {          \
    return {};                                 \
  }
LOWP_NAMES(LOWP_OF_THE_USER)

template <class To>
taken convert(lowp::bfloat16) {
  return {};
}
template <class To>
taken power_of_two_scale(lowp::amax const&) {
  return {};
}
template <class To>
taken projection_exponent(lowp::amax const&) {
  return {};
}

template <int Block, class Codes, class Scales>
taken blocks_of(Codes&&, Scales&&) {
  return {};
}
template <class To, class Rounding>
taken wire(Rounding) {
  return {};
}
template <class To, class Rounding>
taken block_wire(Rounding) {
  return {};
}

template <class... T>
void expect_taken(T... results) {
  static_assert((std::is_same_v<T, taken> && ...));
  EXPECT_NE(sizeof...(results), 0U);
}

std::vector<lowp::bfloat16> of_library() { return std::vector<lowp::bfloat16>(4); }

TEST(user_names, are_taken_unqualified) {
  std::vector<lowp::bfloat16> x = of_library();
  std::vector<lowp::bfloat16> const y = of_library();
  lowp::bfloat16 const one(1.0f);
  std::span<lowp::bfloat16 const> const readable(y);
  std::vector<lowp::implicit<lowp::bfloat16>> const implicit(4);
#define LOWP_CALL(name)                                                              \
  expect_taken(name(x.data(), y.data(), 4, 0.1f), name(x), name(y, x), name(one, 2), \
               name(readable), name(readable, x, 1.0f), name(implicit, x), name(implicit[0]));
  LOWP_NAMES(LOWP_CALL)
  expect_taken(convert<float>(one), power_of_two_scale<lowp::float16>(lowp::amax{}),
               projection_exponent<lowp::float16>(lowp::amax{}));
  std::vector<lowp::float8_e5m2> codes(32);
  std::vector<lowp::float8_e8m0fnu> scales(1);
  expect_taken(blocks_of<32>(codes, scales), wire<float>(lowp::stochastic{1}),
               block_wire<lowp::float8_e5m2>(lowp::stochastic{1}));
}

namespace with_std {
using namespace std;
TEST(user_names, are_taken_with_all_of_std) {
  vector<lowp::bfloat16> x = of_library();
  vector<lowp::bfloat16> const y = of_library();
  span<lowp::bfloat16 const> const readable(y);
  // std has greedy functions of these names itself.
#define LOWP_CALL_IN_STD(name) expect_taken(user::name(x), user::name(readable, x));
  LOWP_NAMES(LOWP_CALL_IN_STD)
  expect_taken(update(x.data(), y.data(), 4, 0.1f), sum(x), fused_add(x, y), cast(readable),
               dot(x, y), softmax(readable), measure(x), mean(x), census(readable));
}
}  // namespace with_std

}  // namespace user

}  // namespace
