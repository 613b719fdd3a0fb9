// SPDX-License-Identifier: Apache-2.0
// The loop over elements: load, decode, element function, round, encode, store. It serves every
// operation, operand type, rounding and instruction set.
#pragma once

#include <lowp/simd/accessor.hpp>
#include <lowp/simd/element_call.hpp>
#include <lowp/simd/update_sums.hpp>

namespace lowp::simd {

LOWP_LAYERS_BEGIN

/// Says that an operand holds numbers of a narrow format, unchanged.
template <class Operand>
inline constexpr bool holds_narrow = requires { requires narrow<typename Operand::type>; };

template <class Operand>
inline constexpr bool writes_blocks =
    requires { requires Operand::block > 0 && !Operand::is_read; };

/// The loop over the elements of a call.
template <class MakeFunction, class Report, std::size_t... K, class... Operand>
struct element_loop<element_call<MakeFunction, Report, std::index_sequence<K...>, Operand...>> {
  using call_type = element_call<MakeFunction, Report, std::index_sequence<K...>, Operand...>;

  template <class Isa, class Function, class... Accessor>
  LOWP_HOST_FN static void loop(call_type const& call, Function const& function,
                                Accessor&&... accessors) {
    using F = pack<float, typename Isa::registers>;
    using totals_type = typename std::conditional_t<is_reported, detail::lanes_of_report<Report, F>,
                                                    std::type_identity<no_report>>::type;
    scratch_of<totals_type> scratch;  // apart, so that a write there cannot change the rest
    auto totals = made_in<totals_type>(scratch, call.report);
    constexpr std::size_t step = batch<Isa>;
    std::size_t stretch = step, valid;
    for (std::size_t first = 0; first < call.size.count; first += valid) {
      if constexpr (!is_lean<Isa> &&
                    requires(arrays_at_once arrays) { (accessors.look_out(first, arrays), ...); })
        if (first % meeting == 0) {
          arrays_at_once arrays;
          (accessors.look_out(first, arrays), ...);
          if constexpr (may_be_stretched<totals_type, Accessor...>)
            stretch = (accessors.is_staged(is_long) || ...) ? step : longest_stretch<totals_type>();
        }
      std::size_t const rest = call.size.count - first;
      valid = rest < step ? rest : rest < stretch ? rest - rest % step : stretch;
      batch_start<typename Isa::registers> start;
      constexpr bool is_late_now =
          !is_lean<Isa> && (is_late<Operand...> || is_long_function<Isa, Function, Operand...>);
      constexpr bool in_words = !is_lean<Isa> && has_words<Accessor...>;
      constexpr bool in_pairs = !is_lean<Isa> && !is_late_now && may_be_paired<Accessor...>;
      if constexpr (in_words || in_pairs)
        (accessors.template begin<prefetches, 2>(first, valid, std::move(start)), ...);
      else
        (accessors.template begin<prefetches>(first, valid, std::move(start)), ...);
      if constexpr (!is_lean<Isa> && !prefetches && requires { (accessors.prefetch(first), ...); })
        if (call.size.whole >= beyond_caches &&
            (!(Operand::is_written || ...) || (accessors.is_staged(false) || ...)))
          (accessors.prefetch(first), ...);  // steps and adds in place are not faster
      // Totals with of_batches take batches. If add_batch returns false, they take pack by pack.
      constexpr bool takes_batches = requires { typename totals_type::of_batches; };
      if constexpr (takes_batches && !(Operand::is_written || ...)) {
        auto const result_at = [&](int place) __attribute__((always_inline)) {
          F value[] = {accessors.load(place)...};
          return function(value[K]...);
        };
        read_batch<Isa, decltype(result_at)> const whole{result_at};
        if (valid == step && totals.template add_batch<(holds_narrow<Operand> && ...)>(whole))
          continue;
      }
      auto const left = static_cast<int>(valid);
      if constexpr (in_words) {
        for (int k = 0; k < left; k += 2 * Isa::lanes) pair<Isa, true>(function, k, accessors...);
      } else if constexpr (in_pairs) {
        LOWP_UNROLL_BY_TWO
        for (int k = 0; k < left; k += 2 * Isa::lanes) pair<Isa, false>(function, k, accessors...);
      } else if constexpr (is_late_now) {
        late_elements<Isa>(function, left, totals, accessors...);
      } else {
        for (int k = 0; k < left; k += Isa::lanes)
          elements<Isa>(function, k, left, totals, accessors...);
      }
      (accessors.end(first, valid, accessors...), ...);
      if constexpr (requires { totals.end_batch(first, true, call.operands); })
        totals.end_batch(first + valid, first + valid == call.size.count, call.operands);
      else if constexpr (requires { totals.end_batch(); })
        totals.end_batch();
    }
    (accessors.finish(), ...);
    if constexpr (requires { totals.finish(call.size.count); })
      totals.finish(call.size.count);
    else if constexpr (is_reported)
      call.report->add(totals.total(call.size.count));
  }

 private:
  /// Computes elements, and rounds each parameter four packs later. What waits for a division would
  /// fill the schedulers, and the next divisions would wait for a place there.
  template <class Isa, class Function, class Totals, class Parameter, class... Accessor>
  LOWP_HOST_FN static void late_elements(Function const& function, int end, Totals& totals,
                                         Parameter& p, Accessor&... others) {
    using F = pack<float, typename Isa::registers>;
    constexpr int lag = 4 * Isa::lanes;
    alignas(64) float late_results[std::size_t{2 * lag}];  // and updates
    int k = 0;
    for (; k < end; k += Isa::lanes) {
      F value[] = {p.load(k), others.load(k)...};
      F u = value[0];
      if constexpr (is_reported)
        u = function(value[K]...);
      else
        function(value[K]...);
      store_others(k, totals, value, others...);
      float* const late = late_results + k % lag;
      if (k >= lag) store_late<Isa, lag>(k - lag, end, late, totals, p);
      value[0].store(late);
      if constexpr (is_reported) u.store(late + lag);
    }
    for (k = k < lag ? 0 : k - lag; k < end; k += Isa::lanes)
      store_late<Isa, lag>(k, end, late_results + k % lag, totals, p);
  }
  template <class Isa, int Lag>
  LOWP_HOST_FN static void store_late(int k, int end, float const* late, auto& totals, auto& p) {
    using F = pack<float, typename Isa::registers>;
    F const result = F::load(late);
    if constexpr (is_reported)
      simd::store_reported<Isa>(k, end, F::load(late + Lag), result, result, totals, p);
    else
      p.template store<false>(k, result);
  }

  template <class Isa, class Function, class Totals, class Parameter, class... Accessor>
  LOWP_HOST_FN static void elements(Function const& function, int k, int left, Totals& totals,
                                    Parameter& p, Accessor&... others) {
    using F = pack<float, typename Isa::registers>;
    F value[] = {p.load(k), others.load(k)...};
    if constexpr (!is_reported) {
      function(value[K]...);
      store_others(k, totals, value, others...);
      p.template store<false>(k, value[0]);
    } else if constexpr (requires { requires Totals::sees_codes; }) {
      F const u = function(value[K]...);
      simd::store_reported<Isa>(k, left, u, value[0], value[1], totals, p);
      store_others(k, totals, value, others...);
    } else if constexpr (requires { requires Totals::sees_moments; }) {
      function(value[K]...);
      store_moments<Isa>(k, left, totals, value, p, others...);
      p.template store<false>(k, value[0]);  // last: after it the codes would be loaded again
    } else {
      auto const observed = function(value[K]...);
      store_others(k, totals, value, others...);
      p.template store<false>(k, value[0]);
      count_elements<Isa>(left - k, totals, observed);
    }
  }

  LOWP_HOST_FN static void store_others([[maybe_unused]] int k, [[maybe_unused]] auto& totals,
                                        auto const* value, auto&... others) {
    [[maybe_unused]] auto const* each = value;
    (others.template store<false>(k, *++each), ...);
    if constexpr (requires { totals.see_moment(*value); })
      for (std::size_t i = 2; i < sizeof...(K); ++i) totals.see_moment(value[i]);
  }

  template <class Isa>
  LOWP_HOST_FN static void store_moments(int k, int left, auto& totals, auto const* value,
                                         auto&... accessors) {
    (store_moment<Isa, static_cast<int>(K) - 2>(k, left, totals, value[K], accessors), ...);
  }
  template <class Isa, int Moment, class Accessor>
  LOWP_HOST_FN static void store_moment(int k, int left, auto& totals, auto const& exact,
                                        Accessor& moment) {
    if constexpr (Moment >= 0) {  // operand 0 is the parameter, operand 1 the gradient
      auto const before = moment.codes(k);
      auto const after = moment.template store<true>(k, exact).code;
      auto const old = Accessor::decoded(before), now = Accessor::decoded(after);
      if (left - k < Isa::lanes)
        totals.template add_masked<Moment>(first_lanes<typename Isa::registers>(left - k), before,
                                           after, old, exact, now);
      else
        totals.template add<Moment>(before, after, old, exact, now);
    }
  }

  /// Computes two packs at once, for less than twice the price of one.
  template <class Isa, bool IsOfWords, class Function, class... Accessor>
  LOWP_HOST_FN static void pair(Function const& function, int k, Accessor&... accessors) {
    using F = pack<float, typename Isa::registers>;
    F first[sizeof...(K)], second[sizeof...(K)];
    (accessors.template load_pair<IsOfWords>(k, first[K], second[K]), ...);
    function(first[K]...);
    function(second[K]...);
    (accessors.template store_pair<IsOfWords>(k, first[K], second[K]), ...);
  }

  static constexpr bool is_reported = !std::is_same_v<Report, no_report>;
  // Such steps round more than a parameter, or round it to more than one number, or count updates.
  template <class P, class...>
  static constexpr bool is_late =
      sizeof...(K) > 3 && (!is_reported || std::is_same_v<Report, update_report>) &&
      (!element_operand<P> || (is_reported ? holds_narrow<P> : (holds_narrow<Operand> && ...)));
  // So does the result of a function that is long. Dividing 16 floats takes longer than the wait.
  template <class Isa, class Function, class P, class...>
  static constexpr bool is_long_function = requires {
    Function::is_long;
  } && P::is_written && !(Operand::is_random || ...) && (Isa::lanes < 16 || holds_narrow<P>);
  // Kernels that compute long between the loads of two batches prefetch. Blocks do so themselves.
  static constexpr bool prefetches =
      (Operand::is_random || ...) && !(writes_blocks<Operand> || ...);

  // Batches run into each other if nothing is drawn, prefetched or streamed. This spares a cast a
  // sixth of its time in L1, and a step of AdamW a twentieth. An update_report sums as many.
  template <class Totals, class... Accessor>
  static constexpr bool may_be_stretched =
      (!is_reported || requires { Totals::most; }) &&
      requires { requires(Accessor::may_be_stretched && ...); };
  // A step of an optimizer looks at each meeting if its arrays are apart.
  static constexpr bool is_long = sizeof...(K) > 2;
  template <class Totals>
  LOWP_HOST_FN static constexpr std::size_t longest_stretch() {
    if constexpr (requires { Totals::most; })
      return Totals::most;
    else
      return is_long ? meeting : 1 << 16;
  }
  template <class... Accessor>
  static constexpr bool may_be_paired = !is_reported && sizeof...(Accessor) == 2 &&
                                        requires { requires(Accessor::may_be_paired && ...); };
  // Pairs of words, in another order than a report's sums, pay beside random bits.
  template <class... Accessor>
  static constexpr bool has_words = !is_reported && (Operand::is_random || ...) &&
                                    requires { requires(Accessor::has_words && ...); };

  // Totals that need scratch define its type, and add themselves to the report.
  template <class Totals>
  struct scratch_of {};
  template <class Totals>
    requires requires { typename Totals::scratch; }
  struct scratch_of<Totals> : Totals::scratch {};
  template <class Totals>
  LOWP_HOST_FN static Totals made_in(scratch_of<Totals>& scratch, [[maybe_unused]] Report* report) {
    if constexpr (requires { typename Totals::scratch; })
      return Totals(scratch, *report);
    else
      return {};
  }
};

LOWP_EXACT_END

}  // namespace lowp::simd
