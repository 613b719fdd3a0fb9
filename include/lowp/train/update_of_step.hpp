// SPDX-License-Identifier: Apache-2.0
// The sizes of the updates that a step asks for, from a gradient and its moments.
#pragma once

#include <lowp/train/typical_update.hpp>
#include <lowp/train/update.hpp>

namespace lowp {

namespace detail {

/// Stores what a step asks of p, or its second moment, and takes no step.
template <class Element, bool IsMoment>
struct request_of_step {
  Element element;

  template <class F, class... M>
  LOWP_FN void operator()(F& out, F p, F const& g, M... moments) const {
    F const u = element(p, g, moments...);
    if constexpr (IsMoment)
      (static_cast<void>(out = moments), ...);  // the last one
    else
      out = u;
  }
};

template <bool IsMoment, class Optimizer>
struct make_request {
  make_step<typename Optimizer::element, Optimizer> make;
  int moments;

  [[nodiscard]] LOWP_HOST_FN error_text check(char const*) const {
    return check_optimizer(make.settings, make.step, moments);
  }
  LOWP_FN auto operator()() const {
    return request_of_step<typename Optimizer::element, IsMoment>{make()};
  }
};

}  // namespace detail

namespace detail::inline LOWP_UNIT {

/// Returns the name of a format that does not hold squares of gradients.
template <narrow T>
error_text name_of_format() {
  if constexpr (std::same_as<explicit_of<T>, float16>) return "float16";
  constexpr std::uint64_t bits = T::descriptor.bits(), digits = std::numeric_limits<T>::digits;
  return joined_text({"float", bits, "_e", bits - digits, "m", digits - 1});
}

/// Refuses a second moment of a step if elements would be rounded to 0.
template <narrow V>
void refuse_if_lost(std::span<float const> v) {
  std::uint64_t lost = 0;
  for (float const x : v)
    lost += lanes::magnitude(x) != 0 && lanes::magnitude(static_cast<float>(convert<V>(x))) == 0;
  if (lost != 0)
    refuse_if(joined_text({"update_of: v is ", name_of_format<V>(), ", in which ", lost, " of its ",
                           v.size(),
                           " elements become 0, and steps m / eps; keep v in"
                           " bfloat16, float, blocks or scaled"}));
}

template <class Optimizer, class P, class G, class... M>
typical_update update_of_step(Optimizer const& optimizer, std::uint64_t step, P& p, G& g,
                              M&... moments) {
  constexpr int count = sizeof...(M);
  if constexpr (count > 0 && Optimizer::least_moments == 0)
    if (!optimizer.uses_moments()) return update_of_step(optimizer, step, p, g);
  refuse_if(check_rate(optimizer.lr));
  std::vector<float> out(read("p", p).size());
  auto const ask = [&]<bool IsMoment, std::size_t... K>(std::index_sequence<K...>,
                                                        std::bool_constant<IsMoment>) {
    run(simd::this_thread{}, "update_of",
        make_request<IsMoment, Optimizer>{{optimizer, step}, count}, no_report, write("u", out),
        read("p", p), read("g", g), read(Optimizer::moments[K], moments)...);
  };
  using slot_numbers = std::index_sequence_for<M...>;
  if constexpr (count == 2) {
    using V = std::tuple_element_t<1, std::tuple<M...>>;
    if constexpr (!holds_squares<V>) {
      ask(slot_numbers{}, std::true_type{});
      refuse_if_lost<element_of<V>>(out);
    }
  }
  ask(slot_numbers{}, std::false_type{});
  default_environment const environment;
  return update_of_requests(optimizer.lr, out);
}

}  // namespace detail::inline LOWP_UNIT

namespace functions {

/// Returns the sizes of updates that `update` would request. Call it before `update`: it takes no
/// step. It needs n floats of scratch. The first steps of AdamW ask for more than later
/// ones: measure after 2 / (1 - beta1) steps, and later if gradients are rare. A list gives one for
/// each tensor.
///
/// @return  sizes of all elements that are finite; direction 0 if none asks for anything
/// @throws std::invalid_argument  as `update`; lr is 0; or v is float16 or another plain format of
///                                few exponents, and elements of it would become 0
template <readable P, readable G, detail::optimizer_with<0> Optimizer>
LOWP_HOST_FN typical_update update_of(P&& p, G&& g, Optimizer const& optimizer,
                                      std::uint64_t step) {
  return detail::update_of_step(optimizer, step, p, g);
}
template <readable P, readable G, readable M, detail::optimizer_with<1> Optimizer>
LOWP_HOST_FN typical_update update_of(P&& p, G&& g, M&& m, Optimizer const& optimizer,
                                      std::uint64_t step) {
  return detail::update_of_step(optimizer, step, p, g, m);
}
template <readable P, readable G, readable M, readable V, detail::optimizer_with<2> Optimizer>
LOWP_HOST_FN typical_update update_of(P&& p, G&& g, M&& m, V&& v, Optimizer const& optimizer,
                                      std::uint64_t step) {
  return detail::update_of_step(optimizer, step, p, g, m, v);
}
LOWP_HOST_FN std::vector<typical_update> update_of(call_list auto const& list,
                                                   optimizer auto const& optimizer,
                                                   std::uint64_t step) {
  std::vector<typical_update> updates(static_cast<std::size_t>(std::ranges::distance(list)));
  typical_update* update = updates.data();
  for (auto const& tensor : list)
    *update++ =
        tensor.apply([](auto&... each) { return functions::update_of(each...); }, optimizer, step);
  return updates;
}

}  // namespace functions

}  // namespace lowp

namespace lowp::simd {
#define LOWP_COMPILED_REQUEST(part, P, M)                                                        \
  LOWP_COMPILED_CALL(part, compiled_elements<detail::make_request<false, adamw>, no_report,      \
                                             operand<float, access::write>,                      \
                                             operand<P, access::read>, operand<P, access::read>, \
                                             operand<M, access::read>, operand<M, access::read>>)
LOWP_COMPILED_REQUESTS(LOWP_COMPILED_REQUEST)
#undef LOWP_COMPILED_REQUEST
}  // namespace lowp::simd
