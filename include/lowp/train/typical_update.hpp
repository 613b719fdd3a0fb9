// SPDX-License-Identifier: Apache-2.0
// The sizes of updates: of an optimizer over noise, of a report, of a step with its gradient.
#pragma once

#include <lowp/report/update_report.hpp>
#include <lowp/train/update.hpp>

namespace lowp {

inline namespace LOWP_SHARED {

/// The requests of a step: each element goes up or down by lr * direction * one of `spread`.
struct typical_update {
  double lr;
  double direction = 0.183047;  ///< mean of |update| / lr: that of AdamW over noise, beta1 = 0.9
  std::uint64_t steps = 1000;   ///< steps of training at that rate
  double tolerance = 0.01;      ///< share that may be left behind
  int least_bytes = 2;          ///< least size of the choice: stalls do not show how coarse fp8 is
  /// Sizes of equally many elements each, relative to `direction`, in ascending order. Without any
  /// they are those of a normal number, as AdamW's are; {1} says that all are equal, as Lion's are.
  std::vector<float> spread{};
};

}  // namespace LOWP_SHARED

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

inline namespace LOWP_UNIT {

LOWP_EXACT_BEGIN

#if defined(LOWP_BODIES) || defined(LOWP_COMPILING)

/// Counts floats by the upper half of their bit patterns: 8 significant bits.
class magnitude_bins {
 public:
  void add(std::uint32_t bits) {
    ++bins_[bits >> dropped];
    ++count_;
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::uint32_t median_end() const {
    std::uint64_t below = 0;
    std::uint32_t bin = 0;
    while (2 * (below += bins_[bin]) < count_) ++bin;
    return std::min((bin + 1) << dropped, lanes::binary32_infinity);
  }
  /// Stores the middles of `to.size()` groups of equally many values.
  void quantiles(std::span<double> to) const {
    auto const all = static_cast<double>(count_), groups = static_cast<double>(to.size());
    std::uint64_t below = 0;
    std::size_t group = 0;
    for (std::uint32_t bin = 0; bin < bins_.size(); ++bin) {
      below += bins_[bin];
      float const middle = lanes::from_bits<float>(bin << dropped | std::uint32_t{bin != 0} << 15);
      while (group < to.size() &&
             (static_cast<double>(group) + 0.5) * all / groups < static_cast<double>(below))
        to[group++] = as_double(middle);
    }
  }

 private:
  static constexpr int dropped = 16;
  std::uint64_t count_ = 0;
  std::vector<std::uint64_t> bins_ =
      std::vector<std::uint64_t>((lanes::binary32_infinity >> dropped) + 1);
};

inline constexpr std::size_t spread_size = 256;

/// Returns the magnitudes of a normal number at equally many quantiles, with a mean of 1.
LOWP_OPAQUE inline std::vector<float> normal_spread() {
  double const square_root_of_half = 0.7071067811865476, mean = 0.7978845608028654;
  std::vector<float> spread(spread_size);
  double x = 0;
  for (std::size_t k = 0; k < spread_size; ++k) {
    double const wanted = (static_cast<double>(k) + 0.5) / static_cast<double>(spread_size);
    for (int turn = 0; turn < 20; ++turn)  // Newton's method, from below: erf is concave
      x += (wanted - __builtin_erf(x * square_root_of_half)) / (mean * __builtin_exp(-x * x / 2));
    spread[k] = narrowed(x / mean);
  }
  return spread;
}

#endif

}  // namespace LOWP_UNIT

inline namespace LOWP_SHARED {

/// Returns the mean of |m| / sqrt(v) for independent gradients of mean 0.
double direction_over_noise(double beta1);
error_text check_rate(double lr);
typical_update update_of_report(double lr, update_report const& report);
/// Returns the update whose elements request these, of which those not finite are left out.
typical_update update_of_requests(double lr, std::span<float const> requests);

#if defined(LOWP_BODIES)

LOWP_OPAQUE LOWP_LIB double direction_over_noise(double beta1) {
  return 0.7978845608028654 * __builtin_sqrt((1 - beta1) / (1 + beta1));
}

LOWP_COLD LOWP_LIB error_text check_rate(double lr) {
  return check_numbers("update_of", {{"lr", lr, above_zero}});
}

LOWP_OPAQUE LOWP_LIB typical_update update_of_report(double lr, update_report const& report) {
  double const requested = report.requested.value();
  refuse_if(check_rate(lr));
  refuse_if(check_numbers("update_of", {{"requested", requested, above_zero}}, used_as_double));
  return {.lr = lr,
          .direction = requested / static_cast<double>(report.count - report.nonfinite) / lr};
}

LOWP_OPAQUE LOWP_LIB typical_update update_of_requests(double lr, std::span<float const> requests) {
  magnitude_bins bins;
  double sum = 0;
  for (float const u : requests) {
    if (!lanes::is_finite(u)) continue;
    std::uint32_t const bits = lanes::magnitude(u);
    bins.add(bits);
    sum += as_double(lanes::from_bits<float>(bits));
  }
  typical_update update{.lr = lr, .direction = 0};
  if (!(sum > 0)) return update;
  double const mean = sum / static_cast<double>(bins.count());
  std::array<double, spread_size> sizes{};
  bins.quantiles(sizes);
  update.direction = mean / lr;
  update.spread.resize(spread_size);
  for (std::size_t k = 0; k < spread_size; ++k) update.spread[k] = narrowed(sizes[k] / mean);
  return update;
}

#endif

LOWP_EXACT_END

}  // namespace LOWP_SHARED

inline namespace LOWP_UNIT {

/// Refuses a second moment of a step if elements would be rounded to 0.
template <narrow V>
void refuse_if_lost(std::span<float const> v) {
  std::uint64_t lost = 0;
  for (float const x : v)
    lost += lanes::magnitude(x) != 0 && lanes::magnitude(static_cast<float>(convert<V>(x))) == 0;
  if (lost == 0) return;
  constexpr std::uint64_t bits = V::descriptor.bits(), digits = std::numeric_limits<V>::digits;
  error_text const name = std::same_as<explicit_of<V>, float16>
                              ? error_text("float16")
                              : joined_text({"float", bits, "_e", bits - digits, "m", digits - 1});
  refuse(joined_text({"update_of: v is ", name, ", in which ", lost, " of its ", v.size(),
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

}  // namespace LOWP_UNIT

}  // namespace detail

namespace functions {

/// Returns the updates of AdamW over noise: gradients that are independent and of mean 0. |u| / lr
/// has the spread of a normal number. Its mean is sqrt(2 / pi * (1 - beta1) / (1 + beta1)), 0.183
/// for beta1 = 0.9. Gradients that agree ask for more: up to 1.
/// @throws std::invalid_argument  lr is not finite and above 0, or another number is out of range
LOWP_HOST_FN typical_update update_of(adamw const& optimizer) {
  detail::refuse_if(detail::check_optimizer(optimizer, 1, 2));
  detail::refuse_if(detail::check_rate(optimizer.lr));
  detail::default_environment const environment;
  return {.lr = optimizer.lr, .direction = detail::direction_over_noise(optimizer.beta1)};
}
/// Returns the updates of Lion, likewise: each is lr.
LOWP_HOST_FN typical_update update_of(lion const& optimizer) {
  detail::refuse_if(detail::check_optimizer(optimizer, 1, 1));
  detail::refuse_if(detail::check_rate(optimizer.lr));
  return {.lr = optimizer.lr, .direction = 1, .spread = {1}};
}
/// Not callable: steps of SGD are as large as its gradients. Pass a report, or p, g and a step.
void update_of(sgd const& optimizer) = delete;

/// Returns the updates that a report counted, of steps at this optimizer's lr. The report has their
/// mean. Their spread is that of the optimizer over noise.
/// @throws std::invalid_argument  lr is not above 0, or the report requested nothing
template <optimizer Optimizer>
LOWP_HOST_FN typical_update update_of(Optimizer const& optimizer, update_report const& report) {
  detail::default_environment const environment;
  typical_update update = detail::update_of_report(optimizer.lr, report);
  if constexpr (std::same_as<Optimizer, lion>) update.spread = {1};
  return update;
}

/// Returns the sizes of updates that `update` would request, for each tensor of a list. Call it
/// before `update`: it takes no step. It needs n floats of scratch. The first steps of AdamW ask
/// for more: measure after 2 / (1 - beta1) steps, and later if gradients are rare.
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
