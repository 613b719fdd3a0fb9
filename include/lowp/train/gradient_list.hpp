// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/measure/gradients.hpp>
#include <lowp/ops/scaled_cast.hpp>
#include <lowp/ops/tensor_list.hpp>
#include <lowp/train/loss_scaler.hpp>

#include <cstdint>

namespace lowp {

/// A tensor_list of plain spans.
template <class L>
concept input_list = tensor_list<L> && input<detail::values_of<L>>;
/// A writable input_list.
template <class L>
concept output_list = input_list<L> && output<detail::values_of<L>>;

namespace detail {

inline namespace LOWP_UNIT {

template <class Executor, class List, class R>
void unscale_list_on(Executor const& executor, List const& gradients, loss_scaler& scaler,
                     gradient_report& report, R const& rounding) {
  call_each(executor, "unscale", gradients,
            [&](auto const& on, auto const& tensor, std::uint32_t number) {
              gradient_report own;
              unscale_on(on, tensor.values, scaler.inverse_scale(), own,
                         of_tensor(rounding, number));
              scaler.observe(tensor.name, own);
              report += own;
            });
}

template <class Executor, class List>
gradient_report measure_list_on(Executor const& executor, List const& gradients) {
  gradient_report all;
  call_each(executor, "measure", gradients, [&](auto const& on, auto const& tensor, std::uint32_t) {
    measure_on(on, tensor.values, all);
  });
  return all;
}

inline error_text check_max_norm(double max_norm) {
  unpacked const most = unpack(max_norm);
  if (!most.nan && !(most.negative && (most.significand != 0 || most.infinite))) return {};
  return "clip: max_norm is " + text_of(max_norm) + ", not at least 0";
}

template <class Executor, class List, class R>
gradient_report clip_on(Executor const& executor, List const& gradients, double max_norm,
                        R const& rounding) {
  make<scaling> by{{1}};  // which unlike scaled_cast's may be 0
  auto const scale = [&](auto const& on, auto const& tensor, std::uint32_t number) {
    run(on, "clip", by, no_report, write("g", tensor.values, of_tensor(rounding, number)),
        read("g", tensor.values));
  };
  executor.refuse_if(check_max_norm(max_norm));
  executor.refuse_if(check_each(executor, "clip", gradients, scale));
  gradient_report const report = measure_list_on(executor, gradients);
  by.function.scale = clip_factor(report.norm(), max_norm);
  if (report.nonfinite != 0 || lanes::bits(by.function.scale) == lanes::bits(1.0f)) return report;
  std::uint32_t number = 0;
  for (auto const& tensor : gradients) scale(executor, tensor, number++);
  return report;
}

}  // namespace LOWP_UNIT

}  // namespace detail

}  // namespace lowp
