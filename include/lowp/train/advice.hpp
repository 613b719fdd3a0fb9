// SPDX-License-Identifier: Apache-2.0
// Advises how to keep a parameter, from its values and the size of its updates.
#pragma once

#include <lowp/ops/cast.hpp>
#include <lowp/storage/scale.hpp>
#include <lowp/train/list_advice.hpp>

namespace lowp {

namespace detail {

/// Advice on elements, which `read` converts. Its types have no unit's name: see simd/compiled.hpp.
struct advice_call {
  storage_advice* result;
  std::size_t count;
  void const* values;
  void (*read)(void const* values, std::size_t first, std::span<float> to);
  double lr, direction;  // and further members of a typical_update
  std::uint64_t steps;
  double tolerance;
  int least_bytes;
  std::span<float const> spread;

  template <class Executor, class Self = advice_call>
  LOWP_HOST_FN void run_parts(Executor const&) const {
    *result = advice_on(static_cast<Self const&>(*this));
  }
};

}  // namespace detail

namespace detail::inline LOWP_UNIT {

#if !defined(LOWP_COMPILED)  // run_compiled has it

/// Calls fn(a piece of p as floats, without those not finite) for all of p.
void for_each_piece(advice_call const& p, std::span<float> buffer, auto&& fn) {
  for (std::size_t first = 0; first < p.count; first += buffer.size()) {
    std::size_t const rest = p.count - first, count = rest < buffer.size() ? rest : buffer.size();
    p.read(p.values, first, buffer.first(count));
    std::size_t finite = 0;
    for (float const each : buffer.first(count))
      if (lanes::is_finite(each)) buffer[finite++] = each;
    fn(std::span<float const>(buffer.first(finite)));
  }
}

LOWP_OPAQUE storage_advice advice_on(auto const& p) {
  constexpr std::size_t piece = 4096;
  std::vector<float> values(piece);
  storage_advice result;
  result.count = p.count;

  amax largest;
  std::uint64_t finite = 0;
  for_each_piece(p, values, [&](std::span<float const> some) {
    finite += some.size();
    for (float const each : some) largest += amax{lanes::magnitude(each)};
  });
  result.nonfinite = result.count - finite;
  float const scale = power_of_two_scale<float8_e4m3fn>(largest);

  request_sizes const sizes(p.lr, p.direction, p.spread);
  std::vector<threshold_counts> counts(kept_ways.size());
  std::uint64_t first = 0;
  [&]<std::size_t... Way>(std::index_sequence<Way...>) {
    for (std::uint64_t turn = sizes.turns(finite); turn-- > 0;)
      for_each_piece(p, values, [&](std::span<float const> some) {
        (count_thresholds<static_cast<kept_as>(Way)>(
             some, sizes, first, static_cast<double>(p.steps), scale, counts[Way]),
         ...);
        first += some.size();
      });
  }(std::make_index_sequence<kept_ways.size()>{});
  for (std::size_t i = kept_ways.size(); i-- > 0;) {
    stall_estimate& its = result.estimates[i];
    its = counts[i].estimate(kept_ways[i].is_stochastic);
    if (kept_ways[i].bytes >= p.least_bytes && its.rare <= p.tolerance)
      result.choice = static_cast<kept_as>(i);
  }
  return result;
}

#endif

template <class P>
storage_advice advice_for(P& p, typical_update const& update) {
  if constexpr (input<P>) {
    using T = element_of<P>;
    std::span<T const> const all(p);
    auto const read = [](void const* values, std::size_t first, std::span<float> to) {
      cast(std::span(static_cast<T const*>(values) + first, to.size()), to);
    };
    storage_advice result;
    simd::this_thread{}(advice_call{&result, all.size(), all.data(), read, update.lr,
                                    update.direction, update.steps, update.tolerance,
                                    update.least_bytes, update.spread});
    return result;
  } else {
    std::vector<float> values(read("p", p).size());
    run(simd::this_thread{}, "stall_advice", make<copy_element>{}, no_report,
        write("values", values), read("p", p));
    return advice_for(values, update);
  }
}

list_advice advice_for_list(auto const& list, std::span<typical_update const> updates) {
  list_advisor all(updates, static_cast<std::size_t>(std::ranges::distance(list)));
  for (auto const& tensor : list) {
    if constexpr (requires { tensor.p; })
      all.add(tensor.name, advice_for(tensor.p, all.update()));
    else
      all.add(tensor.name, advice_for(tensor.values, all.update()));
  }
  return all.advice();
}

LOWP_EXACT_BEGIN

template <class T>
LOWP_OPAQUE double share_of_stalled(std::span<T const> v, double beta2) {
  float const beta = lane<float>::narrowed(beta2);
  std::uint64_t count = 0, stalled = 0;
  for (T const each : v) {
    float const x = static_cast<float>(each);
    if (!lanes::is_finite(x) || lanes::magnitude(x) == 0) continue;
    T const kept = convert<T>(lanes::mul(beta, x));
    ++count;
    stalled += lanes::bits(static_cast<float>(kept)) == lanes::bits(x) ? 1u : 0u;
  }
  return count == 0 ? 0 : static_cast<double>(stalled) / static_cast<double>(count);
}

LOWP_EXACT_END

}  // namespace detail::inline LOWP_UNIT

namespace functions {

/// Returns the effects of such updates on the elements of p under each kept_as. They are exact for
/// each element, up and down, with p itself as the kept float or narrow value. For kahan the
/// compensation is the part of p beyond bfloat16. For fp8 the scale is power_of_two_scale of p.
///
///     stall_advice(p, {.lr = 1e-4});                                  AdamW over noise
///     stall_advice(p, update_of(adamw{.lr = 1e-4, .beta1 = 0.95}));   the same, with its betas
///     stall_advice(p, update_of(adamw{.lr = 1e-4}, report));          as large as in a report
///     stall_advice(p, update_of(p, g, m, v, adamw{.lr = 1e-4}, step));  the sizes of this step
///
/// @param p       n elements: weights before a step, best as floats if there are any
/// @param update  lr, direction and tolerance above 0
/// @throws std::invalid_argument  a number in `update`, or lr * direction, is not finite and above
///                                0, also as a float
LOWP_HOST_FN storage_advice stall_advice(readable auto&& p, typical_update const& update) {
  detail::default_environment const environment;
  detail::refuse_if(detail::check_update(update));
  return detail::advice_for(p, update);
}

/// Returns the same for each tensor of a list: of `named` ones, or of those that `update` takes. A
/// list has one type, so the choice is the smallest way that every tensor tolerates. It is not fp8:
/// its scale is one tensor's.
///
///     stall_advice(list, update_of(list, adamw{.lr = 1e-4}, step)).text();
///
/// @param updates  one for all, or one for each tensor, of which direction may be 0
/// @throws std::invalid_argument  a number is not finite and above 0, or the sizes differ
template <class L>
  requires tensor_list<L> || call_list<L>
LOWP_HOST_FN list_advice stall_advice(L const& list, std::span<typical_update const> updates) {
  detail::default_environment const environment;
  return detail::advice_for_list(list, updates);
}
template <class L>
  requires tensor_list<L> || call_list<L>
LOWP_HOST_FN list_advice stall_advice(L const& list, typical_update const& update) {
  detail::default_environment const environment;
  detail::refuse_if(detail::check_update(update));
  auto const tensors = static_cast<std::size_t>(std::ranges::distance(list));
  return detail::advice_for_list(list, std::vector<typical_update>(tensors, update));
}

/// Returns the share of the elements of a second moment that cannot decay. Rounded to nearest,
/// beta2 * v is v again, so that no sequence of zero gradients lowers it. For beta2 = 0.999 this is
/// every normal bfloat16. Zeros, infinities and NaN are not counted; 0 without others.
/// @throws std::invalid_argument  beta2 is not in [0, 1)
template <input V>
LOWP_HOST_FN double stalled_decay(V&& v, double beta2) {
  detail::refuse_if(detail::check_numbers("stalled_decay", {{"beta2", beta2, detail::below_one}}));
  detail::default_environment const environment;
  return detail::share_of_stalled(std::span<element_of<V> const>(v), beta2);
}

}  // namespace functions

}  // namespace lowp

namespace lowp::simd {
LOWP_COMPILED_CALL(advice, detail::advice_call)
}  // namespace lowp::simd
