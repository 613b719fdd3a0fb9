// SPDX-License-Identifier: Apache-2.0
// Finds the updates that leave a trace in a kept parameter: the storage itself rounds them.
#pragma once

#include <lowp/ops/storage_operands.hpp>
#include <lowp/ops/transform.hpp>

#include <string_view>

namespace lowp {

/// Ways to keep a parameter, the smallest first.
enum class kept_as : std::uint8_t {
  fp8,              ///< scaled<float8_e4m3fn>, rounded to nearest
  fp8_stochastic,   ///< the same, stochastic
  bf16,             ///< bfloat16, rounded to nearest
  bf16_stochastic,  ///< bfloat16, stochastic
  fp16,             ///< float16, rounded to nearest
  split24,          ///< split_master of bfloat16 and 8 bits more, rounded to nearest
  kahan,            ///< kahan of two bfloat16
  fp32,             ///< float; also as a master, or as split_master of 16 + 16 bits
};

struct kept_facts {
  std::string_view name;
  int bytes;  ///< bytes of one parameter, without moments
  bool is_stochastic = false;
};
inline constexpr std::array<kept_facts, 8> kept_ways{{{"fp8", 1},
                                                      {"fp8 stochastic", 1, true},
                                                      {"bf16", 2},
                                                      {"bf16 stochastic", 2, true},
                                                      {"fp16", 2},
                                                      {"split 16+8", 3},
                                                      {"bf16 Kahan", 4},
                                                      {"fp32", 4}}};
LOWP_HOST_FN constexpr kept_facts const& facts_of(kept_as way) {
  return kept_ways[static_cast<std::size_t>(way)];
}

enum class toward : std::uint8_t { plus_infinity, minus_infinity };

namespace detail {

template <kept_as Way>
LOWP_HOST_FN auto layout_of_way(float scale) {
  if constexpr (Way == kept_as::fp8 || Way == kept_as::fp8_stochastic)
    return scaled<float8_e4m3fn>{{}, scale}.layout();
  else if constexpr (Way == kept_as::bf16 || Way == kept_as::bf16_stochastic)
    return scaled<bfloat16>{{}, 1}.layout();
  else if constexpr (Way == kept_as::fp16)
    return scaled<float16>{{}, 1}.layout();
  else if constexpr (Way == kept_as::split24)
    return split_master<bfloat16, std::uint8_t>{}.layout();
  else if constexpr (Way == kept_as::kahan)
    return kahan<bfloat16, bfloat16>{}.layout();
  else
    return master<float, bfloat16>{}.layout();
}

/// A kept parameter, and the check if a step would change it.
template <class Layout, class Rounding, class F>
class kept_value {
  using U = lanes::word<F>;

 public:
  LOWP_FN kept_value(Layout const& layout, F const& parameter)
      : codec_(layout, Rounding{}, default_overflow<typename Layout::rounded_element>,
               nans::canonical),
        value_(stored(parameter, nearest_even{}, lanes::broadcast<U>(0))) {}

  /// Returns the mask of lanes in which value + u is kept as another value, by its bits. `luck` is
  /// a random number, reversed if u goes toward zero: a larger one always favours a change.
  LOWP_FN auto changes(F const& u, U const& luck) const {
    U const opposite = (lanes::bits(value_) ^ lanes::bits(u)) >> 31;
    auto const inward = lanes::mask_and(lanes::equal(opposite, lanes::broadcast<U>(1)),
                                        lanes::mask_not(lanes::is_zero(value_)));
    F const now =
        stored(lanes::add(value_, u), Rounding{}, lanes::select(inward, luck ^ 0xffff, luck));
    return lanes::mask_not(lanes::equal(lanes::bits(now), lanes::bits(value_)));
  }

 private:
  LOWP_FN F stored(F const& x, auto const& rounding, U const& random) const {
    U codes[std::tuple_size_v<typename Layout::parts>];
    codec_.encode(x, random, rounding, codes);
    return written_value<F>(codec_, codes);
  }

  typename Layout::template codec<U> codec_;
  F value_;
};

/// The smallest |u| that changes the kept value of p, for the random number that favours it most.
template <class Layout, class Rounding>
struct least_update {
  Layout layout;
  std::uint32_t sign;

  template <class F>
  LOWP_FN F operator()(F const& p) const {
    using U = lanes::word<F>;
    kept_value<Layout, Rounding, F> const kept(layout, p);
    U const luck = lanes::broadcast<U>(0xffff);
    // Bisects the floats between one that changes nothing and one that does, or infinity. Their
    // patterns have 31 bits and the order of the floats.
    U without = lanes::broadcast<U>(0), with = lanes::broadcast<U>(lanes::binary32_infinity);
    for (int bit = 0; bit < 31; ++bit) {
      U const middle = (without + with) >> 1;
      auto const changes = kept.changes(lanes::from_bits<F>(middle | sign), luck);
      with = lanes::select(changes, middle, with);
      without = lanes::select(changes, without, middle);
    }
    // If the smallest float already changes it, the middle was zero, which is no update.
    return lanes::from_bits<F>(lanes::max(with, lanes::broadcast<U>(1)));
  }
};

template <kept_as Way>
using least_update_of_way =
    least_update<decltype(layout_of_way<Way>(1)),
                 std::conditional_t<facts_of(Way).is_stochastic, stochastic_bits, nearest_even>>;

/// The number of random numbers, of 65536, for which an update u changes the kept value of p.
template <class Layout>
struct draws_that_move {
  Layout layout;

  template <class F>
  LOWP_FN F operator()(F const& p, F const& u) const {
    using U = lanes::word<F>;
    kept_value<Layout, stochastic_bits, F> const kept(layout, p);
    // Finds the least number that changes it. That is `with` - 1, if there is one.
    U without = lanes::broadcast<U>(0), with = lanes::broadcast<U>(0x10000);
    for (int bit = 0; bit < 16; ++bit) {
      U const middle = (without + with) >> 1;
      auto const changes = kept.changes(u, middle - 1);
      with = lanes::select(changes, middle, with);
      without = lanes::select(changes, without, middle);
    }
    auto const any = kept.changes(u, with - 1);
    return lanes::to_real(
        lanes::select(any, lanes::broadcast<U>(0x10001) - with, lanes::broadcast<U>(0)));
  }
};

/// Stores in least[i] the least_update of p[i]: infinite if no u changes it. `scale` is for fp8.
template <kept_as Way>
LOWP_HOST_FN void least_updates(std::span<float const> p, toward direction, std::span<float> least,
                                float scale = 1) {
  std::uint32_t const sign = direction == toward::plus_infinity ? 0 : lanes::binary32_sign;
  transform(least_update_of_way<Way>{layout_of_way<Way>(scale), sign}, nearest_even{}, least, p);
}

}  // namespace detail

}  // namespace lowp

namespace lowp::simd {
#define LOWP_COMPILED_WAY(part, way)                                                               \
  LOWP_COMPILED_CALL(                                                                              \
      part,                                                                                        \
      compiled_elements<detail::make<detail::returned<detail::least_update_of_way<kept_as::way>>>, \
                        no_report, operand<float, access::write>, operand<float, access::read>>)
LOWP_COMPILED_ADVICE(LOWP_COMPILED_WAY)
#undef LOWP_COMPILED_WAY
}  // namespace lowp::simd
