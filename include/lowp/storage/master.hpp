// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/storage/layout.hpp>

namespace lowp {

namespace detail {

template <element W, narrow C>
struct master_layout : layout_of_parts<W, C> {
  LOWP_FN static constexpr bool reads(std::size_t part) { return part == 0; }
  static constexpr bool rounds_copy = std::same_as<W, float>;
  static constexpr int rounded = rounds_copy ? 1 : 0;
  static constexpr int working = 1;
  static constexpr bool holds_small = detail::holds_small<W>;
  using rounded_element = C;

  template <class U>
  class codec {
   public:
    LOWP_FN codec(master_layout const&, auto const& rounding, overflow policy, nans kind)
        : weights_(rounding, policy, kind), copy_(copied(rounding), policy, kind) {}

    template <class F>
    LOWP_FN F decode(U const (&codes)[2]) const {
      return weights_.template decode<F>(codes[0]);
    }
    template <class F, class R>
    LOWP_FN auto encode(F const& w, U const& random, R const& rounding, U (&codes)[2]) const {
      auto const weight = weights_.encode(w, random, rounding);
      auto const copy =
          copy_.encode(weights_.template decode<F>(weight.code), random, copied(rounding));
      codes[0] = weight.code;
      codes[1] = copy.code;
      return lanes::mask_or(weight.overflowed, copy.overflowed);
    }

   private:
    LOWP_FN static auto copied(auto const& rounding) {
      if constexpr (rounds_copy)
        return rounding;
      else
        return nearest_even{};
    }

    part_codec<W, U> weights_;
    part_codec<C, U> copy_;
  };
};

}  // namespace detail

/// Master weights and the narrow working copy of a model, written together (P. Micikevicius et al.,
/// "Mixed precision training", ICLR 2018). It stands for weights[i]. The caller's mode rounds the
/// copy of float weights. It rounds narrow weights, and their copy is rounded to nearest even. The
/// copy is never read: if it is written from outside, call `resync`.
///
/// @tparam W  float or a narrow type
/// @tparam C  the narrow type of the copy
template <element W, narrow C>
struct master {
  std::span<W> weights;
  std::span<C> copy;  ///< as many elements as `weights`

  static constexpr char const* names[] = {"", ".copy"};
  LOWP_HOST_FN auto parts() const { return std::tuple(weights, copy); }
  LOWP_HOST_FN detail::master_layout<W, detail::explicit_of<C>> layout() const { return {}; }
};
template <class W, class C>
master(W&&, C&&) -> master<std::ranges::range_value_t<W>, detail::narrow_in<C>>;

}  // namespace lowp
