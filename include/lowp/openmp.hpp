// SPDX-License-Identifier: Apache-2.0
// The operations of lowp.hpp on all threads of an OpenMP team: same arguments, same refusals, and
// the same bits for any number of threads, sums of a report included.
#pragma once

#include <lowp/base/config.hpp>
#if !defined(_OPENMP)
#error "lowp/openmp.hpp needs OpenMP: compile with -fopenmp"
#endif

#include <lowp/lowp.hpp>
#include <lowp/watch/overflow_watch.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace lowp {

namespace detail {

inline namespace LOWP_UNIT {

/// Where an operation may run: on a team of threads, each with a few shards of every range.
struct openmp_team {
  /// Elements of a shard. Random bits come in blocks of 8 elements, kernels in batches of at most
  /// 256; a shard takes a few microseconds, and its streams fit a core's cache.
  static constexpr std::size_t shard = blocks_on_this_thread::block;

  template <class MakeFunction, class Report, class... Operand>
  void operator()(MakeFunction const& make_function, std::size_t count, Report* report,
                  Operand const&... operands) const {
    static_cast<void>(isa());  // throws here if it must: an exception cannot leave a team
    std::size_t const shards = (count + shard - 1) / shard;
    // Merged in order, so that who ran what does not show in the last bits of a sum.
    std::vector<Report> reports(report == nullptr ? 0 : shards);
#pragma omp parallel for schedule(static) if (shards > 1)
    for (std::size_t i = 0; i < shards; ++i) {
      std::size_t const first = i * shard;
      simd::dispatch(make_function, std::min(shard, count - first),
                     report == nullptr ? nullptr : reports.data() + i, operands.after(first)...);
    }
    if constexpr (!std::is_same_v<Report, simd::no_report>)
      for (Report const& each : reports) *report += each;
  }

  template <class RowCall>
  void rows(RowCall const& call) const {
    static_cast<void>(isa());
    std::size_t const in_shard = std::max<std::size_t>(1, shard / call.columns);
    std::size_t const shards = (call.rows + in_shard - 1) / in_shard;
#pragma omp parallel for schedule(static) if (shards > 1)
    for (std::size_t i = 0; i < shards; ++i) {
      std::size_t const first = i * in_shard;
      simd::run(call.subrange(first, std::min(in_shard, call.rows - first)));
    }
  }

  template <class T>
  void copy(T* to, T const* from, std::size_t count) const {
    if (to == from) return;
    std::size_t const shards = (count + shard - 1) / shard;
#pragma omp parallel for schedule(static) if (shards > 1)
    for (std::size_t i = 0; i < shards; ++i)
      std::copy_n(from + i * shard, std::min(shard, count - i * shard), to + i * shard);
  }
};

/// The number of a step, which may be a literal; all else as it is.
template <class T>
LOWP_HOST_FN decltype(auto) number_or_same(T&& x) {
  if constexpr (std::signed_integral<std::remove_cvref_t<T>>)
    return static_cast<std::uint64_t>(x);
  else
    return std::forward<T>(x);
}

}  // namespace LOWP_UNIT

}  // namespace detail

namespace openmp {

// Wrong types go to the functions of lowp, which say what is wrong with them.

/// As lowp::cast.
template <class In, class Out, class... Rest>
LOWP_HOST_FN void cast(In&& in, Out&& out, Rest&&... rest) {
  if constexpr (castable<In, Out>)
    detail::refuse_if(detail::cast_on(detail::openmp_team{}, std::forward<In>(in),
                                      std::forward<Out>(out), rest...));
  else
    lowp::cast(std::forward<In>(in), std::forward<Out>(out), rest...);
}

/// As lowp::scaled_cast.
template <class In, class Out, class... Rest>
LOWP_HOST_FN void scaled_cast(In&& in, Out&& out, float scale, Rest&&... rest) {
  if constexpr (input<In> && output<Out>)
    detail::refuse_if(detail::scaled_cast_on(detail::openmp_team{}, std::forward<In>(in),
                                             std::forward<Out>(out), detail::make_scaling{scale},
                                             rest...));
  else
    lowp::scaled_cast(std::forward<In>(in), std::forward<Out>(out), scale, rest...);
}

/// As lowp::fused_add.
template <class P, class U, class... Rest>
LOWP_HOST_FN void fused_add(P&& p, float alpha, U&& u, Rest&&... rest) {
  if constexpr (storage<P> && readable<U>)
    detail::refuse_if(detail::fused_add_on(detail::openmp_team{}, std::forward<P>(p),
                                           detail::make_scaled_addition{alpha}, std::forward<U>(u),
                                           std::forward<Rest>(rest)...));
  else
    lowp::fused_add(std::forward<P>(p), alpha, std::forward<U>(u), std::forward<Rest>(rest)...);
}

/// As lowp::tree_add: the threads share one tensor after the other.
template <tensor_list Model, tensor_list Updates, class... Rest>
LOWP_HOST_FN void tree_add(Model const& model, float alpha, Updates const& updates,
                           Rest&&... rest) {
  detail::refuse_if(detail::tree_add_on(detail::openmp_team{}, model, alpha, updates,
                                        std::forward<Rest>(rest)...));
}

/// As lowp::update.
template <class P, class G, class... Rest>
LOWP_HOST_FN void update(P&& p, G&& g, Rest&&... rest) {
  if constexpr (detail::update_arguments<P, G, Rest...>)
    detail::refuse_if(detail::update_on(detail::openmp_team{}, std::forward<P>(p),
                                        std::forward<G>(g),
                                        detail::number_or_same(std::forward<Rest>(rest))...));
  else
    lowp::update(std::forward<P>(p), std::forward<G>(g), std::forward<Rest>(rest)...);
}

/// As lowp::split and lowp::join.
template <class In, class High, class Low, class... Rest>
LOWP_HOST_FN void split(In&& in, High&& high, Low&& low, Rest&&... rest) {
  detail::refuse_if(detail::split_on(detail::openmp_team{}, in, high, low, rest...));
}
template <class High, class Low, class Out>
LOWP_HOST_FN void join(High&& high, Low&& low, Out&& out) {
  detail::refuse_if(detail::join_on(detail::openmp_team{}, high, low, out));
}

/// As lowp::transform; `function` is copied, is called by several threads at once, and throws
/// nothing.
template <class Function, class R, class Out, class... In>
LOWP_HOST_FN void transform(Function const& function, R rounding, Out&& out, In&&... in) {
  if constexpr (output<Out> && (input<In> && ...))
    detail::refuse_if(detail::transform_on(detail::openmp_team{}, function, rounding,
                                           std::forward<Out>(out), std::forward<In>(in)...));
  else
    lowp::transform(function, rounding, std::forward<Out>(out), std::forward<In>(in)...);
}

/// As lowp::gelu_tanh and lowp::gated_gelu_tanh.
template <input In, output Out, class... Rest>
LOWP_HOST_FN void gelu_tanh(In&& in, Out&& out, Rest&&... rest) {
  detail::refuse_if(detail::gelu_tanh_on(detail::openmp_team{}, in, out, rest...));
}
template <input Gate, input Up, output Out, class... Rest>
LOWP_HOST_FN void gated_gelu_tanh(Gate&& gate, Up&& up, Out&& out, Rest&&... rest) {
  detail::refuse_if(detail::gated_gelu_tanh_on(detail::openmp_team{}, gate, up, out, rest...));
}

/// As lowp::block_cast.
template <input In, class T, int Block, class... Rest>
LOWP_HOST_FN void block_cast(In&& in, block_scaled<T, Block> const& out, Rest&&... rest) {
  static_assert(detail::openmp_team::shard % Block == 0);
  detail::refuse_if(detail::block_cast_on(detail::openmp_team{}, in, out, rest...));
}
template <class T, int Block, output Out, class... Rest>
LOWP_HOST_FN void block_cast(block_scaled<T, Block> const& in, Out&& out, Rest&&... rest) {
  detail::refuse_if(detail::block_cast_from(detail::openmp_team{}, in, out, rest...));
}

/// As lowp::unscale.
template <class G, class... Rest>
LOWP_HOST_FN void unscale(G&& g, float inverse_scale, gradient_report& report, Rest&&... rest) {
  if constexpr (moment_storage<G>)
    detail::refuse_if(detail::unscale_on(detail::openmp_team{}, std::forward<G>(g),
                                         detail::make_unscaling{inverse_scale}, report, rest...));
  else
    lowp::unscale(std::forward<G>(g), inverse_scale, report, rest...);
}

/// As lowp::rms_norm and lowp::layer_norm: the threads share the rows.
template <input In, input Weight, output Out>
LOWP_HOST_FN void rms_norm(In&& in, Weight&& weight, Out&& out, std::size_t columns, float eps) {
  detail::refuse_if(detail::rms_norm_on(detail::openmp_team{}, in, weight, out, columns, eps));
}
template <input In, input Weight, input Bias, output Out>
LOWP_HOST_FN void layer_norm(In&& in, Weight&& weight, Bias&& bias, Out&& out, std::size_t columns,
                             float eps) {
  detail::refuse_if(
      detail::layer_norm_on(detail::openmp_team{}, in, weight, bias, out, columns, eps));
}

/// As lowp::softmax, lowp::log_softmax and lowp::scale_mask_softmax: the threads share the rows.
template <input In, output Out>
LOWP_HOST_FN void softmax(In&& in, Out&& out, std::size_t columns) {
  detail::refuse_if(detail::softmax_on(detail::openmp_team{}, in, out, columns));
}
template <input In, output Out>
LOWP_HOST_FN void log_softmax(In&& in, Out&& out, std::size_t columns) {
  detail::refuse_if(detail::log_softmax_on(detail::openmp_team{}, in, out, columns));
}
template <input In, score_mask Mask, output Out>
LOWP_HOST_FN void scale_mask_softmax(In&& in, Mask&& mask, Out&& out, std::size_t columns,
                                     float scale) {
  detail::refuse_if(
      detail::scale_mask_softmax_on(detail::openmp_team{}, in, mask, out, columns, scale));
}

/// As lowp::measure.
template <readable G>
[[nodiscard]] LOWP_HOST_FN gradient_report measure(G&& g) {
  gradient_report report;
  detail::refuse_if(detail::measure_on(detail::openmp_team{}, std::forward<G>(g), report));
  return report;
}

/// As lowp::sum, lowp::mean, lowp::dot and lowp::norm.
template <readable X>
LOWP_HOST_FN void sum(X&& x, sum_report& report) {
  detail::refuse_if(detail::sum_on(detail::openmp_team{}, std::forward<X>(x), report));
}
template <readable X>
[[nodiscard]] LOWP_HOST_FN double sum(X&& x) {
  sum_report report;
  openmp::sum(std::forward<X>(x), report);
  return report.value();
}
template <readable X>
[[nodiscard]] LOWP_HOST_FN double mean(X&& x) {
  sum_report report;
  openmp::sum(std::forward<X>(x), report);
  return report.mean();
}
template <readable A, readable B>
LOWP_HOST_FN void dot(A&& a, B&& b, sum_report& report) {
  detail::refuse_if(
      detail::dot_on(detail::openmp_team{}, std::forward<A>(a), std::forward<B>(b), report));
}
template <readable A, readable B>
[[nodiscard]] LOWP_HOST_FN double dot(A&& a, B&& b) {
  sum_report report;
  openmp::dot(std::forward<A>(a), std::forward<B>(b), report);
  return report.value();
}
template <readable X>
[[nodiscard]] LOWP_HOST_FN double norm(X&& x) {
  return openmp::measure(std::forward<X>(x)).norm();
}

/// As lowp::clamp_overflow.
template <output X>
  requires clampable<element_of<X>>
LOWP_HOST_FN clamp_report clamp_overflow(X&& x) {
  clamp_report_of<element_of<X>> report;
  detail::refuse_if(detail::find_overflow_on(detail::openmp_team{}, x, report));
  if (report.infinite != 0) detail::clamp_found_on(detail::openmp_team{}, x, report);
  return report;
}

/// As lowp::scale_by_power_of_two.
template <input In, output Out, class... Report>
LOWP_HOST_FN void scale_by_power_of_two(In&& in, Out&& out, int exponent, Report&... report) {
  detail::refuse_if(detail::power_of_two_on(detail::openmp_team{}, in, out, exponent, report...));
}

/// As lowp::census. Threads meet every 2^26 elements, so that the shards' censuses take little memory.
template <census_target To, input In>
[[nodiscard]] LOWP_HOST_FN range_census census(In&& in) {
  constexpr std::size_t piece = std::size_t{1} << 26;
  static_assert(piece % detail::openmp_team::shard == 0);
  std::span<element_of<In> const> const all(in);
  census_report<To> report;
  for (std::size_t first = 0; first < all.size(); first += piece)
    detail::refuse_if(detail::census_on(
        detail::openmp_team{}, all.subspan(first, std::min(piece, all.size() - first)), report));
  return report;
}

/// As lowp::abs_range_of.
template <census_target To = float, readable S>
[[nodiscard]] LOWP_HOST_FN abs_range abs_range_of(S&& in) {
  abs_range_report<To> report;
  detail::refuse_if(detail::abs_range_on(detail::openmp_team{}, in, report));
  return report;
}

/// As lowp::overflow_watch: all threads look at a tensor. The watch itself is still one thread's.
template <census_target To = float>
using overflow_watch = lowp::overflow_watch<To, detail::openmp_team>;

}  // namespace openmp

}  // namespace lowp
