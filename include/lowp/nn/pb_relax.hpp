// SPDX-License-Identifier: Apache-2.0
// Softmax of models that had 16 bits for every step. softmax.hpp is more accurate and faster.
#pragma once

#include <lowp/nn/softmax.hpp>
#include <lowp/storage/layout.hpp>

namespace lowp::detail {

/// Softmax with every step but the sum rounded to T.
template <element T>
struct pb_relax_rows : softmax_rows<plain_score> {
  float alpha;

  [[nodiscard]] LOWP_HOST_FN error_text check(char const* function, row_extent const&) const {
    return check_numbers(function, {{"alpha", alpha, above_zero}});
  }

  using softmax_rows<plain_score>::value;
  template <class F>
  LOWP_FN F value(fold::number<1>, state<F> const& s, F const& x) const {
    F const difference = rounded_to<T>(lanes::sub(s.largest, x));
    F const relaxed = rounded_to<T>(lanes::mul(difference, lanes::broadcast<F>(alpha)));
    return rounded_to<T>(exp_of_minus(relaxed));
  }
  using softmax_rows<plain_score>::take_total;
  template <class F>
  LOWP_FN void take_total(fold::number<1>, state<F>& s, F const& sum) const {
    softmax_rows<plain_score>::take_total(fold::number<1>{}, s, rounded_to<T>(sum));
    s.total = rounded_to<T>(s.total);
  }
};

/// Computes softmax(alpha * in) by PB-Relax of CogView, softmax((x - max x) * alpha): M. Ding et
/// al., "CogView: Mastering Text-to-Image Generation via Transformers", arXiv:2105.13290, section
/// 2.4. x is the scores divided by alpha, so that they stay in the range of the format.
///
/// Each step is rounded to the format of `in`; the sum is in float. alpha = 1 gives the softmax of
/// a machine that has only this format.
///
/// @param in            scores, divided by alpha before they could overflow
/// @param out, columns  as for softmax
/// @param alpha         finite and positive
/// @throws std::invalid_argument  as softmax, or alpha is wrong
template <class Executor>
struct softmax_pb_relax_operation : operation<Executor> {
  using calls = call<needs_row_input<names::in>, needs_row_output<names::out>,
                     needs_number<names::columns>, needs_number<names::alpha>>;

  template <row_input In, row_output Out>
  LOWP_HOST_FN void operator()(In&& in, Out&& out, std::size_t columns,
                               float_argument alpha) const {
    auto const from = read_rows("in", in, columns);
    using T = typename decltype(from.operand.operand)::type;
    run_rows(this->executor, "softmax_pb_relax", pb_relax_rows<T>{{}, alpha.value}, from,
             write_rows("out", out, columns));
  }
};

}  // namespace lowp::detail

namespace lowp {
inline constexpr detail::callable<detail::softmax_pb_relax_operation<simd::this_thread>>
    softmax_pb_relax{};
}  // namespace lowp
