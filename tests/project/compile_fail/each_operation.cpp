// SPDX-License-Identifier: Apache-2.0
// Every operation says in the first line of an error which argument is wrong, and why.
// expect-each: 1.*names::in.*such_as_std_span_x_data_x_size
// expect-each: missing<2.*names::out
// expect-each: 5.*names::surplus
// expect-each: 2.*names::out.*nor_packed
// expect-each: 3.*names::scale.*not_a_number
// expect-each: 1.*names::in.*nor_blocks_of
// expect-each: 3.*names::low
// expect-each: 2.*names::low
// expect-each: 4.*names::in.*nor_packed
// expect-each: 2.*names::alpha.*not_a_number
// expect-each: 4.*rounding_overflow_or_report.*mode_of_ranges_an_overflow_policy_nor_a_report
// expect-each: 3.*names::rounding_overflow_or_report
// expect-each: fit_but_not_together_or_not_in_this_order
// expect-each: 7.*rounding_overflow_or_report.*mode_of_steps_an_overflow_policy_nor_a_report
// expect-each: 2.*names::g.*such_as_std_span_x_data_x_size
// expect-each: 6.*names::step.*counts_from_1
// expect-each: 2.*names::optimizer
// expect-each: 1.*names::p.*signed_format
// expect-each: 5.*names::rounding_overflow_or_report
// expect-each: 3.*names::report
// expect-each: 1.*names::g.*nor_a_list
// expect-each: 1.*names::x.*not_a_range
// expect-each: 1.*names::x.*not_a_range
// expect-each: 2.*names::b.*not_a_range
// expect-each: 1.*names::x.*not_a_range
// expect-each: 1.*names::in.*not_a_range
// expect-each: 3.*names::out.*not_a_lasting_writable_range
// expect-each: missing<3.*names::columns
// expect-each: 3.*names::columns.*not_a_number
// expect-each: 2.*names::mask.*neither_an_array_of_bool
// expect-each: 2.*names::weight
// expect-each: 3.*names::bias
// expect-each: 1.*names::x.*format_with_infinity
// expect-each: 2.*names::out
// expect-each: 1.*names::gradients
// expect-each: 3.*names::updates
// expect-each: 1.*names::in.*not_a_range
// expect-each: 4.*names::alpha.*not_a_number
// expect-each: 2.*names::dy.*not_a_range
// expect-each: 4.*names::dgate.*not_a_lasting_writable_range
// expect-each: 2.*names::dy.*not_a_range
// expect-each: missing<4.*names::columns
// expect-each: 5.*names::scale.*not_a_number
// expect-each: 2.*names::labels.*not_a_range_of_int64_or_int32
// expect-each: 6.*names::optimizer.*not_the_optimizer_adafactor
// expect-each: 4.*names::reciprocal_rms.*not_a_range_of_floats
// expect-each: 7.*names::dweight.*neither_a_writable_range_of_floats_nor_added_to
// expect-each: 2.*names::dbias.*neither_a_writable_range_of_floats_nor_added_to
// expect-each: 5.*names::dx.*neither_a_lasting_writable_range_nor_strided_rows_nor_added_to
// expect-each: 7.*names::reciprocal_rms_or_rounding.*nor_a_rounding_mode
// expect-each: 2.*names::u.*not_a_range
// expect-each: 2.*names::ids.*not_a_range_of_int64_or_int32
// expect-each: 1.*names::dout.*not_a_range_of_float
#include <lowp/lowp.hpp>
#include <lowp/nn.hpp>

#include <cstdint>
#include <vector>

using namespace lowp;

void use(std::vector<float>& x, std::vector<bfloat16>& p, std::vector<std::uint16_t>& low,
         std::vector<double>& d) {
#ifdef CONTROL
  cast(x, p);
  split(x, p, low);
  static_cast<void>(d);
#else
  static_cast<void>(low);
  auto const copy = [](auto a) { return a; };
  std::vector<adamw_tensor<bfloat16, float, float, float>> list;
  std::vector<fused_add_tensor<bfloat16, float>> sums;
  std::vector<named<std::span<float>>> model;
  std::vector<named<std::span<double>>> doubles;
  update_report report;
  std::vector<float8_e8m0fnu> exponents;
  std::vector<std::int32_t> ids;
  cast(x.data(), p);
  cast(x);
  cast(x, p, nearest_even{}, overflow::saturate, 1);
  scaled_cast(x, d, 2.0f);
  scaled_cast(x, p, x);
  block_cast(d, p);
  split(x, p, x);
  join(p, x, x);
  transform(copy, nearest_even{}, x, d);
  fused_add(p, x, x);
  fused_add(p, 1, x, 42);
  fused_add(sums, 1, 42);
  fused_add(p, 1, x, report, nearest_even{});
  update(p, x, x, x, adamw{}, 1, 42);
  update(p, x.data(), x, x, adamw{}, 1);
  update(p, x, x, x, adamw{}, 1.5);
  update(list, 1);
  update(exponents, x, sgd{}, 1);
  update(p, x, sgd{}, 1, update_report{});
  unscale(x, 1.0f, report);
  measure(d);
  sum(d);
  mean(d);
  dot(x, d);
  norm(d);
  gelu_tanh(d, p);
  gated_gelu_tanh(x, x, d);
  softmax(x, p);
  log_softmax(x, p, "3");
  scale_mask_softmax(x, d, p, 3, 1.0f);
  rms_norm(x, d, p, 3, 1e-5f);
  layer_norm(x, x, d, p, 3, 1e-5f);
  clamp_overflow(d);
  scale_by_power_of_two(x, d, 3);
  clip(doubles, 1.0);
  tree_add(model, 1.0f, doubles);
  census<bfloat16>(d);
  softmax_pb_relax(x, p, 3, x);
  gelu_tanh_backward(x, d, p);
  gated_gelu_tanh_backward(x, x, p, d, p);
  softmax_backward(x, d, p, 3);
  log_softmax_backward(x, x, p);
  scale_mask_softmax_backward(x, x, p, 3, x);
  cross_entropy(x, d, 3, cross_entropy_options{}, x, p);
  adafactor_direction(x, x, x, p, 3, adamw{}, 1);
  rms_norm_backward(x, x, x, p, p, x, 3);
  layer_norm_backward(x, x, x, x, x, p, p, x, 3);
  add_rows(x, p, 3);
  rms_norm_backward(x, x, x, x, added_to{d}, x, 3);
  add_rms_norm(p, x, x, p, 3, 1e-5f, d);
  add_layer_norm(p, d, x, x, p, 3, 1e-5f);
  gather_rows(x, x, p, 3);
  scatter_add_rows(d, ids, p, 3);
#endif
}
