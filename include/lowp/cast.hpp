// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/ranges.hpp>
#include <lowp/simd/dispatch.hpp>

#include <concepts>

namespace lowp {

namespace detail {

/// The element function of a conversion.
struct identity {
  static constexpr bool is_conversion = true;
  template <class F>
  LOWP_FN void operator()(F& to, F const& from) const {
    to = from;
  }
};

struct make_identity {
  LOWP_FN identity operator()() const { return {}; }
};

/// `cast`, where `where` says: simd::this_thread, a team of threads, a GPU. What is wrong is returned,
/// and then nothing was done.
template <class Where, class In, class Out, class R = nearest_even>
[[nodiscard]] LOWP_HOST_FN problem cast_on(Where const& where, In&& in, Out&& out, R rounding = {},
                                           overflow policy = default_overflow<element_of<Out>>) {
  must_be_input<In>();
  must_be_output<Out>();
  must_be_span_rounding<R>();
  using From = element_of<In>;
  using To = element_of<Out>;
  extent const from("in", in), to("out", out);
  problem wrong = unequal_sizes("cast", {from, to});
  if (wrong.empty()) wrong = partial_overlap("cast", from, to);
  if (wrong.empty()) wrong = out_of_reach(where, "cast", {from, to});
  if (!wrong.empty()) return wrong;
  auto const* source = std::ranges::data(in);
  if constexpr (std::same_as<From, To>)
    where.copy(std::ranges::data(out), source, to.size);
  else
    where(make_identity{}, to.size, static_cast<simd::no_report*>(nullptr),
          simd::operand<To, simd::access::write, R>{std::ranges::data(out), rounding, policy},
          simd::operand<From, simd::access::read>{source});
  return {};
}

}  // namespace detail

/// out[i] = round(in[i]), each element once from its exact value. A cast to the same format copies
/// bits; a NaN keeps its sign and its leading payload bits as far as the format has them.
///
/// @param in   n elements
/// @param out  n elements; may be the storage of `in` where elements have equal size
/// @throws std::invalid_argument  sizes differ, or the ranges overlap in another way
template <input In, output Out, span_rounding R = nearest_even>
LOWP_HOST_FN void cast(In&& in, Out&& out, R rounding = {},
                       overflow policy = default_overflow<element_of<Out>>) {
  detail::refuse_if(detail::cast_on(simd::this_thread{}, in, out, rounding, policy));
}

template <class In, class Out, class R = nearest_even, class... Policy>
  requires(!(input<In> && output<Out> && span_rounding<R>))
void cast(In&&, Out&&, R = {}, Policy...) {
  detail::must_be_input<In>();
  detail::must_be_output<Out>();
  detail::must_be_span_rounding<R>();
}

}  // namespace lowp
