// SPDX-License-Identifier: Apache-2.0
// The kernels whose machine code counts.py counts: one for each public operation, with accesses of
// 16 bytes. No program runs them.
#include <lowp/cuda/lowp.cuh>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace counted {

using namespace lowp;

/// The arguments of the library's kernel. The kernel's symbol then has the name of a case.
template <class Case, class Call>
struct named : Call {};

template <class Call>
inline constexpr bool is_widest = true;
template <int Width, class... Rest>
inline constexpr bool is_widest<cuda::kernel_call<Width, Rest...>> =
    Width == cuda::widths[0] || Width == cuda::any_width;

/// A grid whose kernels are for one case.
template <class Case>
struct grid {
  static constexpr unsigned threads() { return cuda::tuning::block_threads; }
  static constexpr std::size_t shared_bytes() { return 0; }
  template <class Report, class Call>
  void run(Call const& call) const {
    if constexpr (is_widest<Call>) cuda::kernel<<<1, threads()>>>(named<Case, Call>{call});
  }
  void copy(void*, void const*, std::size_t) const {}
  static detail::error_text unreachable(void const*) { return {}; }
  void refuse(detail::error_text const&) const {}
};

template <class Case, template <class> class Operation, class... Arguments>
void count(Arguments&&... arguments) {
  grid<Case> on;
  Operation<cuda::on_grid<grid<Case>>>{{{on}}}(
      cuda::argument(std::forward<Arguments>(arguments))...);
}
template <class Case, template <class> class Operation, class Tensor, class... Rest>
void count_list(std::vector<Tensor> const& list, Rest const&... rest) {
  grid<Case> on;
  cuda::run_list(on, "", list, 0, [&](auto const& executor, auto const& tensor) {
    using on_executor = std::remove_cvref_t<decltype(executor)>;
    std::apply(Operation<on_executor>{{executor}}, tensor.arguments(cuda::argument(rest)...));
  });
}

template <class T>
std::span<T> of() {
  return {};
}
template <class T>
T* const at = nullptr;

using f32 = float;
using bf16 = bfloat16;
using f16 = float16;
using e4m3 = float8_e4m3fn;
using e5m2 = float8_e5m2;

constexpr nearest_even nearest;
constexpr stochastic random{1};
constexpr sgd momentum{.lr = 0.1, .momentum = 0.9};
constexpr adamw adam;

constexpr stochastic_fast fast{1};
constexpr quantize_options known{.largest = amax{1}};

template <std::size_t N, class T>
auto blocks() {
  return blocks_of<N>(of<T>(), of<float8_e8m0fnu>());
}
nvfp4 to_nvfp4;
mxfp4 to_mxfp4;

struct doubled {
  template <class F>
  LOWP_HOST_DEVICE F operator()(F const& x) const {
    return lanes::add(x, x);
  }
};

#define COUNT(name, operation, ...)                                                      \
  struct name {                                                                          \
    static void run() { count<name, lowp::detail::operation##_operation>(__VA_ARGS__); } \
  };

COUNT(cast_bf16, cast, of<f32>(), of<bf16>())
COUNT(cast_f16, cast, of<f32>(), of<f16>())
COUNT(cast_e4m3, cast, of<f32>(), of<e4m3>())
COUNT(cast_bf16_to_f32, cast, of<bf16>(), of<f32>())
COUNT(cast_e4m3_to_f32, cast, of<e4m3>(), of<f32>())
COUNT(cast_bf16_toward_zero, cast, of<f32>(), of<bf16>(), toward_zero{})
COUNT(cast_bf16_random, cast, of<f32>(), of<bf16>(), random)
COUNT(cast_f16_random, cast, of<f32>(), of<f16>(), random)
COUNT(cast_e4m3_random, cast, of<f32>(), of<e4m3>(), random)
COUNT(cast_e5m2_random, cast, of<f32>(), of<e5m2>(), random)
COUNT(cast_double, cast, of<double>(), of<bf16>())
COUNT(cast_int, cast, of<std::int32_t>(), of<bf16>())
COUNT(scaled_cast_amax, scaled_cast, of<bf16>(), of<e4m3>(), 2.0f, at<amax>)
COUNT(scaled_cast_random, scaled_cast, of<bf16>(), of<e4m3>(), 2.0f, random)
COUNT(block_cast, block_cast, of<f32>(), blocks<32, e4m3>())
COUNT(block_cast_bf16, block_cast, of<bf16>(), blocks<32, e4m3>())
COUNT(block_cast_back, block_cast, blocks<32, e4m3>(), of<f32>())
COUNT(nvfp4_f32, quantize, of<f32>(), to_nvfp4, recipes::te_2_20_nvfp4, nearest, known)
COUNT(nvfp4_bf16, quantize, of<bf16>(), to_nvfp4, recipes::te_2_20_nvfp4, nearest, known)
COUNT(nvfp4_fast, quantize, of<bf16>(), to_nvfp4, recipes::te_2_20_nvfp4, fast, known)
COUNT(mxfp4_bf16, quantize, of<bf16>(), to_mxfp4, recipes::te_2_20_mxfp4, nearest, known)
COUNT(nvfp4_back, dequantize, to_nvfp4, of<bf16>())
COUNT(split, split, of<f32>(), of<bf16>(), of<std::uint16_t>())
COUNT(join, join, of<bf16>(), of<std::uint16_t>(), of<f32>())
COUNT(fused_add, fused_add, of<bf16>(), 0.5f, of<bf16>())
COUNT(fused_add_random, fused_add, of<bf16>(), 0.5f, of<bf16>(), random)
COUNT(sgd_random, update, of<bf16>(), of<bf16>(), of<bf16>(), momentum, 1, random)
COUNT(sgd_amax, update, of<f32>(), of<bf16>(), sgd{.lr = 1}, 1, nearest, at<update_amax>)
COUNT(adamw_random, update, of<bf16>(), of<bf16>(), of<bf16>(), of<bf16>(), adam, 1, random)
COUNT(adamw_random_report, update, of<bf16>(), of<bf16>(), of<bf16>(), of<bf16>(), adam, 1, random,
      at<update_report>)
COUNT(adamw_f32_random, update, of<bf16>(), of<bf16>(), of<f32>(), of<f32>(), adam, 1, random)
COUNT(adamw_f32_random_report, update, of<bf16>(), of<bf16>(), of<f32>(), of<f32>(), adam, 1,
      random, at<update_report>)
COUNT(adamw_graph, update, of<bf16>(), of<bf16>(), of<f32>(), of<f32>(), adam, at<cuda::step_state>,
      random)
COUNT(adamw_kahan, update, (kahan{of<bf16>(), of<bf16>()}), of<bf16>(), of<f32>(), of<f32>(), adam,
      1)
COUNT(adamw_master, update, (master{of<f32>(), of<bf16>()}), of<bf16>(), of<f32>(), of<f32>(), adam,
      1)
COUNT(adamw_split, update, (split_master{of<bf16>(), of<std::uint16_t>()}), of<bf16>(), of<f32>(),
      of<f32>(), adam, 1)
COUNT(adamw_split_8, update, (split_master{of<bf16>(), of<std::uint8_t>()}), of<bf16>(), of<f32>(),
      of<f32>(), adam, 1, random)
COUNT(adamw_scaled, update, (scaled{of<f16>(), 8.0f}), of<bf16>(), of<f32>(), of<f32>(), adam, 1,
      random)
COUNT(adamw_blocks, update, of<bf16>(), of<bf16>(), (blocks<128, e4m3>()), (blocks<128, e5m2>()),
      adam, 1, random)
struct adamw_list {
  static void run() {
    count_list<adamw_list, lowp::detail::update_operation>(
        std::vector<cuda::adamw_tensor<bf16, bf16, bf16, bf16>>(1), adam, 1, random);
  }
};
COUNT(unscale, unscale, of<bf16>(), 0.5f, at<gradient_report>)
COUNT(measure, measure, of<bf16>(), at<gradient_report>)
COUNT(sum, sum, of<bf16>(), at<sum_report>)
COUNT(dot, dot, of<bf16>(), of<bf16>(), at<sum_report>)
COUNT(census_f32_f16, census, of<f32>(), at<census_report<f16>>)
COUNT(census_bf16_f16, census, of<bf16>(), at<census_report<f16>>)
COUNT(census_bf16_e4m3, census, of<bf16>(), at<census_report<e4m3>>)
COUNT(abs_range_f32_f16, abs_range_of, of<f32>(), at<abs_range_report<f16>>)
COUNT(abs_range_bf16_f16, abs_range_of, of<bf16>(), at<abs_range_report<f16>>)
COUNT(abs_range_bf16_e4m3, abs_range_of, of<bf16>(), at<abs_range_report<e4m3>>)
COUNT(gelu_tanh, gelu_tanh, of<bf16>(), of<bf16>())
COUNT(gated_gelu_tanh, gated_gelu_tanh, of<bf16>(), of<bf16>(), of<bf16>())
COUNT(gelu, gelu, of<bf16>(), of<bf16>())
COUNT(silu, silu, of<bf16>(), of<bf16>())
COUNT(gated_silu, gated_silu, of<bf16>(), of<bf16>(), of<bf16>())
COUNT(gelu_backward, gelu_backward, of<bf16>(), of<bf16>(), of<bf16>())
COUNT(silu_backward, silu_backward, of<bf16>(), of<bf16>(), of<bf16>())
COUNT(clamp_overflow, clamp_overflow, of<f16>(), at<clamp_report_of<f16>>)
COUNT(power_of_two, scale_by_power_of_two, of<bf16>(), of<bf16>(), 3)
COUNT(transform, transform, doubled{}, nearest, of<bf16>(), of<bf16>())
COUNT(softmax_f32, softmax, of<f32>(), of<f32>(), 100)
COUNT(softmax_bf16, softmax, of<bf16>(), of<bf16>(), 100)
COUNT(softmax_f16, softmax, of<f16>(), of<f16>(), 100)
COUNT(log_softmax, log_softmax, of<bf16>(), of<bf16>(), 100)
COUNT(softmax_flags, scale_mask_softmax, of<bf16>(),
      attention_mask<std::uint8_t>{of<std::uint8_t const>()}, of<bf16>(), 100, 0.5f)
COUNT(softmax_bias, scale_mask_softmax, of<bf16>(), attention_mask<bf16>{of<bf16 const>()},
      of<bf16>(), 100, 0.5f)
COUNT(softmax_causal, scale_mask_softmax, of<bf16>(), causal_mask{5}, of<bf16>(), 100, 0.5f)
COUNT(rms_norm, rms_norm, of<bf16>(), of<bf16>(), of<bf16>(), 100, 1e-6f)
COUNT(layer_norm, layer_norm, of<bf16>(), of<bf16>(), of<bf16>(), of<bf16>(), 100, 1e-6f)
COUNT(add_rms_norm, add_rms_norm, of<bf16>(), of<bf16>(), of<bf16>(), of<bf16>(), 100, 1e-6f)
COUNT(softmax_pb_relax, softmax_pb_relax, of<bf16>(), of<bf16>(), 100, 1.0f)

}  // namespace counted
