// SPDX-License-Identifier: Apache-2.0
// The operations of lowp.hpp over device memory, on a stream: same arguments after the stream, same
// refusals, same bits. None of them synchronizes or allocates device memory. A CUDA graph can
// capture all of them.
//
//     lowp::cuda::cast(stream, in, out, rounding, overflow)
//     lowp::cuda::update(stream, p, g, moments..., optimizer, step, rounding, overflow, report)
//     lowp::cuda::layer_norm(stream, in, weight, bias, out, columns, eps)
//
// and so on, for each name of LOWP_OPERATIONS in lowp.hpp, and for quantize, dequantize and
// hadamard. A result that lowp's function returns is a report here, the last argument:
//
//     lowp::cuda::measure(stream, g, gradient_report)
//     lowp::cuda::sum(stream, x, sum_report), dot(stream, a, b, sum_report)
//     lowp::cuda::census(stream, in, census_report<To>)
//     lowp::cuda::abs_range_of(stream, in, abs_range_report<To>)
//     lowp::cuda::clamp_overflow(stream, x, clamp_report_of<T>)
//
// scatter_add_rows takes scratch behind its columns: two std::uint64_t for each row. Derivatives of
// norms may: with layer_norm_backward_scratch(rows, columns) doubles they read x and dy once.
//
// The same arguments are optional; cast takes double and integers here too. A range has a size(),
// and its data() is a device pointer; view(pointer, size) makes one. A report or amax lies in
// device memory, and is passed by reference or pointer. Read it after synchronizing; all zero bytes
// are an empty one.
//
// A kernel can read from device memory what changes from one replay of a graph to the next:
//
//     alpha, scale    float const*; inverse_scale too
//     step            step_state const*, which has lr, step and stream
//     rounding        stochastic const*, but for update
//     largest_at      of quantize_options; quantize writes out.tensor_scale_at, dequantize reads it
//
// Lists of tensors in one launch; p and the other ranges are spans in the elements of a list:
//
//     lowp::cuda::fused_add(stream, list of fused_add_tensor, alpha, rounding, overflow, report)
//     lowp::cuda::update(stream, list of adamw_tensor..., optimizer, step, rounding, overflow,
//                        report)
//
// There a std::span<update_report> in device memory may replace the report: one for each tensor.
//
// cast.cuh and update.cuh have less and compile faster: the calls of cast.hpp and update.hpp, but
// resync in cast.cuh alone. overflow_watch.cuh has an overflow_watch of device memory.
//
// try_cast and so on return a status. The others throw: std::invalid_argument if lowp's function
// refuses the call or the device cannot reach memory; lowp::cuda::error if CUDA refuses, also if it
// has had an error before.
#pragma once

#include <lowp/base/hide_macros.inc>

#include <lowp/cuda/cast.cuh>
#include <lowp/cuda/rotated.hpp>
#include <lowp/cuda/rows/column_kernel.hpp>
#include <lowp/cuda/rows/id_kernel.hpp>
#include <lowp/cuda/update.cuh>
#include <lowp/lowp.hpp>
#include <lowp/quantize.hpp>

namespace lowp::cuda {

LOWP_OTHERS(LOWP_ON_STREAM)
LOWP_ON_STREAM(census)
LOWP_ON_STREAM(abs_range_of)
LOWP_ON_STREAM(quantize)
LOWP_ON_STREAM(dequantize)
LOWP_ON_STREAM(hadamard)

}  // namespace lowp::cuda

#include <lowp/base/restore_macros.inc>
