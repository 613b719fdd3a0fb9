// SPDX-License-Identifier: Apache-2.0
// The operations of lowp.hpp over device memory, on a stream: same arguments after the stream, same
// refusals, same bits. None of them synchronizes or allocates device memory, and all can be captured
// into a CUDA graph.
//
//     lowp::cuda::cast(stream, in, out, rounding, overflow)
//     lowp::cuda::scaled_cast(stream, in, out, scale, amax, rounding, overflow)
//     lowp::cuda::block_cast(stream, in, blocks_of<32>(codes, scales), rounding, rule, overflow)
//     lowp::cuda::fused_add(stream, p, alpha, u, rounding, overflow, report)
//     lowp::cuda::update(stream, p, g, momentum or m and v, optimizer, step, rounding, overflow, report)
//     lowp::cuda::split(stream, in, high, low, rounding, overflow), join(stream, high, low, out)
//     lowp::cuda::unscale(stream, g, inverse_scale, gradient_report, rounding, overflow)
//     lowp::cuda::measure(stream, g, gradient_report)
//     lowp::cuda::sum(stream, x, sum_report), dot(stream, a, b, sum_report)
//     lowp::cuda::census(stream, in, census_report<To>)
//     lowp::cuda::abs_range_of(stream, in, abs_range_report<To>)
//     lowp::cuda::gelu_tanh(stream, in, out, rounding, overflow)
//     lowp::cuda::gated_gelu_tanh(stream, gate, up, out, rounding, overflow)
//     lowp::cuda::clamp_overflow(stream, x, clamp_report_of<T>)
//     lowp::cuda::scale_by_power_of_two(stream, in, out, exponent, scaling_report)
//     lowp::cuda::transform(stream, function, rounding, out, in...)
//     lowp::cuda::softmax(stream, in, out, columns), log_softmax
//     lowp::cuda::scale_mask_softmax(stream, in, mask, out, columns, scale)
//     lowp::cuda::rms_norm(stream, in, weight, out, columns, eps)
//     lowp::cuda::layer_norm(stream, in, weight, bias, out, columns, eps)
//
// What is optional there is optional here, and cast takes double and integers here too. Ranges are anything
// with size() whose data() is a device pointer; view(pointer, size) makes one. A report or amax lies in
// device memory, is given by reference or pointer, and is read after synchronizing; all zero bytes are an
// empty one.
//
// A kernel can read from device memory what changes from one replay of a graph to the next:
//
//     alpha, scale    float const*; inverse_scale too
//     step            step_state const*, which has lr, step and stream
//     rounding        stochastic const*, but for update
//
// Many tensors in one launch, p and the other ranges being spans in the elements of a list:
//
//     lowp::cuda::fused_add(stream, list of fused_add_tensor, alpha, rounding, overflow, report)
//     lowp::cuda::update(stream, list of adamw_tensor ..., optimizer, step, rounding, overflow, report)
//
// There a std::span<update_report> in device memory may stand for the report: one a tensor.
//
// overflow_watch.cuh has an overflow_watch of device memory, pb_relax.cuh softmax_pb_relax.
//
// Each is also there as try_cast and so on, which return a status instead of throwing: try.cuh.
#pragma once

#include <lowp/cuda/try.cuh>

#include <utility>

namespace lowp::cuda {

// As the functions of try.cuh, which say what each takes; what is wrong is thrown.
// @throws std::invalid_argument  what the function of lowp refuses; memory that the device cannot reach
// @throws lowp::cuda::error      a launch that CUDA refuses
template <class... Arguments>
void cast(cudaStream_t stream, Arguments&&... arguments) {
  try_cast(stream, std::forward<Arguments>(arguments)...).or_throw();
}
template <class... Arguments>
void scaled_cast(cudaStream_t stream, Arguments&&... arguments) {
  try_scaled_cast(stream, std::forward<Arguments>(arguments)...).or_throw();
}
template <class... Arguments>
void block_cast(cudaStream_t stream, Arguments&&... arguments) {
  try_block_cast(stream, std::forward<Arguments>(arguments)...).or_throw();
}
template <class... Arguments>
void fused_add(cudaStream_t stream, Arguments&&... arguments) {
  try_fused_add(stream, std::forward<Arguments>(arguments)...).or_throw();
}
template <class... Arguments>
void update(cudaStream_t stream, Arguments&&... arguments) {
  try_update(stream, std::forward<Arguments>(arguments)...).or_throw();
}
template <class... Arguments>
void split(cudaStream_t stream, Arguments&&... arguments) {
  try_split(stream, std::forward<Arguments>(arguments)...).or_throw();
}
template <class... Arguments>
void join(cudaStream_t stream, Arguments&&... arguments) {
  try_join(stream, std::forward<Arguments>(arguments)...).or_throw();
}
template <class... Arguments>
void unscale(cudaStream_t stream, Arguments&&... arguments) {
  try_unscale(stream, std::forward<Arguments>(arguments)...).or_throw();
}
template <class... Arguments>
void measure(cudaStream_t stream, Arguments&&... arguments) {
  try_measure(stream, std::forward<Arguments>(arguments)...).or_throw();
}
template <class... Arguments>
void sum(cudaStream_t stream, Arguments&&... arguments) {
  try_sum(stream, std::forward<Arguments>(arguments)...).or_throw();
}
template <class... Arguments>
void dot(cudaStream_t stream, Arguments&&... arguments) {
  try_dot(stream, std::forward<Arguments>(arguments)...).or_throw();
}
template <class... Arguments>
void census(cudaStream_t stream, Arguments&&... arguments) {
  try_census(stream, std::forward<Arguments>(arguments)...).or_throw();
}
template <class... Arguments>
void abs_range_of(cudaStream_t stream, Arguments&&... arguments) {
  try_abs_range_of(stream, std::forward<Arguments>(arguments)...).or_throw();
}
template <class... Arguments>
void gelu_tanh(cudaStream_t stream, Arguments&&... arguments) {
  try_gelu_tanh(stream, std::forward<Arguments>(arguments)...).or_throw();
}
template <class... Arguments>
void gated_gelu_tanh(cudaStream_t stream, Arguments&&... arguments) {
  try_gated_gelu_tanh(stream, std::forward<Arguments>(arguments)...).or_throw();
}
template <class... Arguments>
void clamp_overflow(cudaStream_t stream, Arguments&&... arguments) {
  try_clamp_overflow(stream, std::forward<Arguments>(arguments)...).or_throw();
}
template <class... Arguments>
void scale_by_power_of_two(cudaStream_t stream, Arguments&&... arguments) {
  try_scale_by_power_of_two(stream, std::forward<Arguments>(arguments)...).or_throw();
}
template <class... Arguments>
void transform(cudaStream_t stream, Arguments&&... arguments) {
  try_transform(stream, std::forward<Arguments>(arguments)...).or_throw();
}
template <class... Arguments>
void rms_norm(cudaStream_t stream, Arguments&&... arguments) {
  try_rms_norm(stream, std::forward<Arguments>(arguments)...).or_throw();
}
template <class... Arguments>
void layer_norm(cudaStream_t stream, Arguments&&... arguments) {
  try_layer_norm(stream, std::forward<Arguments>(arguments)...).or_throw();
}
template <class... Arguments>
void softmax(cudaStream_t stream, Arguments&&... arguments) {
  try_softmax(stream, std::forward<Arguments>(arguments)...).or_throw();
}
template <class... Arguments>
void log_softmax(cudaStream_t stream, Arguments&&... arguments) {
  try_log_softmax(stream, std::forward<Arguments>(arguments)...).or_throw();
}
template <class... Arguments>
void scale_mask_softmax(cudaStream_t stream, Arguments&&... arguments) {
  try_scale_mask_softmax(stream, std::forward<Arguments>(arguments)...).or_throw();
}

}  // namespace lowp::cuda
