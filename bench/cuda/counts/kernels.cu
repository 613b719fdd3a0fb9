// SPDX-License-Identifier: Apache-2.0
// The kernels of counts.py and traffic.py: one for each public operation. Accesses have 16 bytes.
// The program runs each on a small shape. Then it prints the blocks of large shapes:
//
//     launch ELEMENTS KERNEL
//     blocks BLOCKS KERNEL
#include <lowp/cuda/lowp.cuh>

#include <cxxabi.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

namespace counted {

using namespace lowp;

/// The shape of the tensors. A large one has memory of no device.
struct shape {
  std::size_t elements, columns;
  bool is_large;
  bool has_rows = false;
  std::size_t rows() const { return elements / columns; }
};
shape now{};

/// The arguments of the library's kernel. The kernel's symbol then has the name of a case.
template <class Case, class Call>
struct named : Call {};

template <class Call>
inline constexpr bool is_widest = true;
template <class Make, class Report, class... Rest>
inline constexpr bool is_widest<cuda::kernel_call<cuda::kernel_text::any, Make, Report, Rest...>> =
    cuda::may_be_absent<Make> && cuda::is_reported<Report>;

void must(cudaError_t code) {
  if (code != cudaSuccess) throw std::runtime_error(cudaGetErrorString(code));
}

template <class Call>
void launch(Call const& call, std::uint64_t blocks, std::uint32_t dynamic_bytes = 0) {
  char* const name = abi::__cxa_demangle(typeid(Call).name(), nullptr, nullptr, nullptr);
  if (now.is_large)
    std::printf("blocks %llu %s\n", static_cast<unsigned long long>(blocks), name);
  else
    std::printf("launch %zu %s\n", now.elements, name);
  std::free(name);
  if (now.is_large) return;
  must(cudaFuncSetAttribute(cuda::kernel<Call>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                            static_cast<int>(dynamic_bytes)));
  cuda::kernel<<<static_cast<unsigned>(blocks), cuda::tuning::block_threads, dynamic_bytes>>>(call);
  must(cudaGetLastError());
  must(cudaDeviceSynchronize());
}

/// A grid whose kernels are for one case. A block with a report takes all tiles of a small tensor,
/// as it takes many of a large one.
template <class Case>
struct grid {
  static constexpr unsigned threads() { return cuda::tuning::block_threads; }
  static constexpr std::size_t shared_bytes(int blocks = 2) {
    return (blocks == 1 ? 223 : 110) << 10;
  }
  template <class Report, class Call>
  void run(Call const& call) const {
    constexpr std::uint64_t large = cuda::tuning::few_blocks;
    if constexpr (is_widest<Call>) {
      std::uint64_t blocks = call.table.tiles;
      if constexpr (cuda::is_reported<Report> || requires { requires Call::has_few_blocks; })
        blocks = !now.is_large ? 1 : blocks < large ? blocks : large;
      if constexpr (requires { call.dynamic_bytes; })
        launch(named<Case, Call>{call}, blocks, call.dynamic_bytes);
      else
        launch(named<Case, Call>{call}, blocks);
    }
  }
  void copy(void*, void const*, std::size_t) const {}
  static detail::error_text unreachable(void const*) { return {}; }
  void refuse(detail::error_text const& what) const {
    throw std::runtime_error(std::string(what.c_str()));
  }
};

/// A grid's executor, which throws what a caller would be told.
template <class Case>
struct executor : cuda::on_grid<grid<Case>> {
  void refuse_if(detail::error_text const& what) const {
    if (!what.empty()) throw std::runtime_error(std::string(what.c_str()));
  }
};

template <class Case, template <class> class Operation, class... Arguments>
void count(Arguments&&... arguments) {
  grid<Case> on;
  Operation<executor<Case>>{{{{on}}}}(cuda::argument(std::forward<Arguments>(arguments))...);
}
template <class Case, template <class> class Operation, class Tensor, class... Rest>
void count_list(std::vector<Tensor> const& list, Rest const&... rest) {
  grid<Case> on;
  cuda::run_list(on, "", list, 0, [&](auto const& executor, auto const& tensor) {
    using on_executor = std::remove_cvref_t<decltype(executor)>;
    tensor.apply(Operation<on_executor>{{executor}}, cuda::argument(rest)...);
  });
}

/// Returns `bytes` of the device's memory, or only addresses.
void* memory(std::size_t bytes) {
  static std::uintptr_t next = 1;
  if (now.is_large) return reinterpret_cast<void*>(next++ << 36);
  void* at = nullptr;
  must(cudaMalloc(&at, bytes));
  return at;
}

/// Numbers of several magnitudes.
template <class T>
T number(std::uint32_t& state) {
  state = state * 1664525 + 1013904223;
  float const fraction = 1 + static_cast<float>(state >> 8 & 0xffff) / 65536;
  float const x = std::ldexp(fraction, -__builtin_ctz(state >> 24 | 0x100) - 1);
  if constexpr (std::is_same_v<T, float8_e8m0fnu> || std::is_integral_v<T>)
    return T(1);
  else
    return T(state >> 31 != 0 ? -x : x);
}
template <class T>
std::span<T> of(std::size_t size) {
  using element = std::remove_const_t<T>;
  auto* const at = static_cast<element*>(memory(size * sizeof(T)));
  if (!now.is_large) {
    std::uint32_t state = 7;
    std::vector<element> x(size);
    for (element& each : x) each = number<element>(state);
    must(cudaMemcpy(at, x.data(), size * sizeof(T), cudaMemcpyHostToDevice));
  }
  return {at, size};
}
template <class T>
std::span<T> of() {
  return of<T>(now.elements);
}
std::size_t columns() {
  now.has_rows = true;
  return now.columns;
}
constexpr cross_entropy_options summed{.reduction = loss_reduction::summed};
/// Elements that all rows share.
template <class T>
std::span<T> per_column() {
  return of<T>(columns());
}
auto scratch(std::size_t (*size)(std::size_t, std::size_t)) {
  return of<double>(size(now.rows(), now.columns));
}
template <class T>
T* at(T const& initial = {}) {
  auto* const object = static_cast<T*>(memory(sizeof(T)));
  if (!now.is_large) must(cudaMemcpy(object, &initial, sizeof(T), cudaMemcpyHostToDevice));
  return object;
}

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
constexpr quantize_options known{.columns = 1024, .largest = amax{1}};
constexpr sgd no_momentum{.lr = 0.1};

template <std::size_t N, class T>
auto blocks() {
  return blocks_of<N>(of<T>(), of<float8_e8m0fnu>(now.elements / N));
}
template <class Quantized, std::size_t Block>
Quantized& to() {
  static Quantized tensor;
  auto const scales = of<typename Quantized::scale_type>(now.elements / Block);
  tensor = {{of<std::uint8_t>(now.elements / 2), now.elements}, scales};
  return tensor;
}

packed<float4_e2m1fn const> nibbles() { return {of<std::uint8_t>(now.elements / 2), now.elements}; }

struct doubled {
  template <class F>
  LOWP_HOST_DEVICE F operator()(F const& x) const {
    return lanes::add(x, x);
  }
};

/// The columns of a case's rows, and about its elements. Lines of sums need many rows.
struct listed_case {
  void (*run)();
  std::size_t columns[2] = {1024, 8192}, elements = 1 << 15;
};
std::vector<listed_case> cases;
bool list(void (*run)()) {
  cases.push_back({run});
  return true;
}
bool list(listed_case const& each) {
  cases.push_back(each);
  return true;
}
#define COUNT_ROWS(name, first, second, elements, operation, ...)                        \
  struct name {                                                                          \
    static void run() { count<name, lowp::detail::operation##_operation>(__VA_ARGS__); } \
  };                                                                                     \
  bool const name##_is_listed = list({&name::run, {first, second}, elements});
#define COUNT(name, operation, ...)                                                      \
  struct name {                                                                          \
    static void run() { count<name, lowp::detail::operation##_operation>(__VA_ARGS__); } \
  };                                                                                     \
  bool const name##_is_listed = list(&name::run);

COUNT(cast_bf16, cast, of<f32>(), of<bf16>())
COUNT(cast_f16, cast, of<f32>(), of<f16>())
COUNT(cast_e4m3, cast, of<f32>(), of<e4m3>())
COUNT(cast_bf16_to_f32, cast, of<bf16>(), of<f32>())
COUNT(cast_e4m3_to_f32, cast, of<e4m3>(), of<f32>())
COUNT(cast_e2m1_to_f32, cast, nibbles(), of<f32>())
COUNT(cast_bf16_to_f64, cast, of<bf16>(), of<double>())
COUNT(cast_bf16_toward_zero, cast, of<f32>(), of<bf16>(), toward_zero{})
COUNT(cast_bf16_random, cast, of<f32>(), of<bf16>(), random)
COUNT(cast_f16_random, cast, of<f32>(), of<f16>(), random)
COUNT(cast_e4m3_random, cast, of<f32>(), of<e4m3>(), random)
COUNT(cast_e5m2_random, cast, of<f32>(), of<e5m2>(), random)
COUNT(cast_double, cast, of<double>(), of<bf16>())
COUNT(cast_int, cast, of<std::int32_t>(), of<bf16>())
COUNT(scaled_cast_amax, scaled_cast, of<bf16>(), of<e4m3>(), 2.0f, at<amax>())
COUNT(scaled_cast_random, scaled_cast, of<bf16>(), of<e4m3>(), 2.0f, random)
COUNT(block_cast, block_cast, of<f32>(), blocks<32, e4m3>())
COUNT(block_cast_bf16, block_cast, of<bf16>(), blocks<32, e4m3>())
COUNT(block_cast_back, block_cast, blocks<32, e4m3>(), of<f32>())
struct nvfp4_f32 {
  static void run() {
    count<nvfp4_f32, lowp::detail::quantize_operation>(of<f32>(), (to<nvfp4, 16>()),
                                                       recipes::te_2_20_nvfp4, nearest, known);
    count<nvfp4_f32, lowp::detail::quantize_operation>(
        of<f32>(), (to<nvfp4, 16>()), recipes::te_2_20_nvfp4_16x16, nearest, known);
  }
};
bool const nvfp4_f32_is_listed = list(&nvfp4_f32::run);
struct nvfp4_bf16 {
  static void run() {
    count<nvfp4_bf16, lowp::detail::quantize_operation>(of<bf16>(), (to<nvfp4, 16>()),
                                                        recipes::te_2_20_nvfp4, nearest, known);
    count<nvfp4_bf16, lowp::detail::quantize_operation>(
        of<bf16>(), (to<nvfp4, 16>()), recipes::te_2_20_nvfp4_16x16, nearest, known);
  }
};
bool const nvfp4_bf16_is_listed = list(&nvfp4_bf16::run);
struct nvfp4_fast {
  static void run() {
    count<nvfp4_fast, lowp::detail::quantize_operation>(of<bf16>(), (to<nvfp4, 16>()),
                                                        recipes::te_2_20_nvfp4, fast, known);
    count<nvfp4_fast, lowp::detail::quantize_operation>(of<bf16>(), (to<nvfp4, 16>()),
                                                        recipes::te_2_20_nvfp4_16x16, fast, known);
  }
};
bool const nvfp4_fast_is_listed = list(&nvfp4_fast::run);
COUNT(nvfp4_random, quantize, of<bf16>(), (to<nvfp4, 16>()), recipes::te_2_20_nvfp4, random, known)
COUNT(nvfp4_rotated, quantize, (rotated{of<bf16>(), te_2_20_signs}), (to<nvfp4, 16>()),
      recipes::te_2_20_nvfp4, nearest, known)
COUNT(nvfp4_4over6, quantize, of<bf16>(), (to<nvfp4, 16>()), recipes::te_2_20_nvfp4_4over6_mae_448,
      nearest, known)
struct mxfp4_bf16 {
  static void run() {
    count<mxfp4_bf16, lowp::detail::quantize_operation>(of<bf16>(), (to<mxfp4, 32>()),
                                                        recipes::te_2_20_mxfp4, nearest, known);
    count<mxfp4_bf16, lowp::detail::quantize_operation>(
        of<bf16>(), (to<mxfp4, 32>()), recipes::torchao_0_18_rceil_32x32<float4_e2m1fn>, nearest,
        known);
  }
};
bool const mxfp4_bf16_is_listed = list(&mxfp4_bf16::run);
COUNT(nvfp4_back, dequantize, (to<nvfp4, 16>()), of<bf16>())
COUNT(split, split, of<f32>(), of<bf16>(), of<std::uint16_t>())
COUNT(join, join, of<bf16>(), of<std::uint16_t>(), of<f32>())
COUNT(fused_add, fused_add, of<bf16>(), 0.5f, of<bf16>())
COUNT(fused_add_random, fused_add, of<bf16>(), 0.5f, of<bf16>(), random)
struct sgd_random {
  static void run() {
    count<sgd_random, lowp::detail::update_operation>(of<bf16>(), of<bf16>(), of<bf16>(), momentum,
                                                      1, random);
    count<sgd_random, lowp::detail::update_operation>(of<bf16>(), of<bf16>(), of<bf16>(),
                                                      no_momentum, 1, random);
  }
};
bool const sgd_random_is_listed = list(&sgd_random::run);
COUNT(sgd_amax, update, of<f32>(), of<bf16>(), sgd{.lr = 1}, 1, nearest, at<update_amax>())
COUNT(adamw_random, update, of<bf16>(), of<bf16>(), of<bf16>(), of<bf16>(), adam, 1, random)
COUNT(adamw_random_report, update, of<bf16>(), of<bf16>(), of<bf16>(), of<bf16>(), adam, 1, random,
      at<update_report>())
COUNT(adamw_f32_random, update, of<bf16>(), of<bf16>(), of<f32>(), of<f32>(), adam, 1, random)
COUNT(adamw_f32_random_report, update, of<bf16>(), of<bf16>(), of<f32>(), of<f32>(), adam, 1,
      random, at<update_report>())
COUNT(adamw_graph, update, of<bf16>(), of<bf16>(), of<f32>(), of<f32>(), adam,
      at(cuda::step_state{.lr = 1e-3, .step = 1}), random)
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
constexpr per_slot rounded_weights{.param = random, .first = nearest, .second = nearest};
template <template <bool> class Blocks, bool IsSigned, class Code, class Scale, std::size_t Block>
auto states() {
  return Blocks<IsSigned>{of<Code>(), of<Scale>(now.elements / Block)};
}
COUNT(adamw_fast, update, of<bf16>(), of<bf16>(), of<bf16>(), of<bf16>(), adam, 1, fast)
COUNT(adamw_moment_report, update, of<bf16>(), of<bf16>(), of<bf16>(), of<bf16>(), adam, 1, random,
      at<moment_report>())
// A block reads its tables once, so it has more elements.
COUNT_ROWS(adamw_dynamic, 1024, 8192, 1 << 17, update, of<bf16>(), of<bf16>(),
           (states<dynamic_blocks, true, std::uint8_t, float, 256>()),
           (states<dynamic_blocks, false, std::uint8_t, float, 256>()), adam, 1, rounded_weights)
COUNT_ROWS(adamw_companded, 1024, 8192, 1 << 17, update, of<bf16>(), of<bf16>(),
           (states<companded_blocks, true, std::int8_t, f16, 32>()),
           (states<companded_blocks, false, std::uint8_t, f16, 32>()), adam, 1, rounded_weights)
COUNT(adamw_blocks, update, of<bf16>(), of<bf16>(), (blocks<128, e4m3>()), (blocks<128, e5m2>()),
      adam, 1, random)
struct adamw_list {
  static void run() {
    count_list<adamw_list, lowp::detail::update_operation>(
        std::vector<cuda::adamw_tensor<bf16, bf16, bf16, bf16>>{
            {of<bf16>(), of<bf16>(), of<bf16>(), of<bf16>()}},
        adam, 1, random);
  }
};
bool const adamw_list_is_listed = list(&adamw_list::run);
COUNT(unscale, unscale, of<bf16>(), 0.5f, at<gradient_report>())
COUNT(measure, measure, of<bf16>(), at<gradient_report>())
COUNT(sum, sum, of<bf16>(), at<sum_report>())
COUNT(dot, dot, of<bf16>(), of<bf16>(), at<sum_report>())
COUNT(census_f32_f16, census, of<f32>(), at<census_report<f16>>())
COUNT(census_bf16_f16, census, of<bf16>(), at<census_report<f16>>())
COUNT(census_bf16_e4m3, census, of<bf16>(), at<census_report<e4m3>>())
COUNT(abs_range_f32_f16, abs_range_of, of<f32>(), at<abs_range_report<f16>>())
COUNT(abs_range_bf16_f16, abs_range_of, of<bf16>(), at<abs_range_report<f16>>())
COUNT(abs_range_bf16_e4m3, abs_range_of, of<bf16>(), at<abs_range_report<e4m3>>())
COUNT(gelu_tanh, gelu_tanh, of<bf16>(), of<bf16>())
COUNT(gated_gelu_tanh, gated_gelu_tanh, of<bf16>(), of<bf16>(), of<bf16>())
COUNT(gelu, gelu, of<bf16>(), of<bf16>())
COUNT(silu, silu, of<bf16>(), of<bf16>())
COUNT(gated_silu, gated_silu, of<bf16>(), of<bf16>(), of<bf16>())
COUNT(gelu_backward, gelu_backward, of<bf16>(), of<bf16>(), of<bf16>())
COUNT(silu_backward, silu_backward, of<bf16>(), of<bf16>(), of<bf16>())
COUNT(clamp_overflow, clamp_overflow, of<f16>(), at<clamp_report_of<f16>>())
COUNT(power_of_two, scale_by_power_of_two, of<bf16>(), of<bf16>(), 3)
COUNT(transform, transform, doubled{}, nearest, of<bf16>(), of<bf16>())
COUNT(softmax_f32, softmax, of<f32>(), of<f32>(), columns())
COUNT(softmax_bf16, softmax, of<bf16>(), of<bf16>(), columns())
COUNT(softmax_f16, softmax, of<f16>(), of<f16>(), columns())
COUNT(log_softmax, log_softmax, of<bf16>(), of<bf16>(), columns())
COUNT(softmax_flags, scale_mask_softmax, of<bf16>(),
      attention_mask<std::uint8_t>{of<std::uint8_t const>()}, of<bf16>(), columns(), 0.5f)
COUNT(softmax_bias, scale_mask_softmax, of<bf16>(), attention_mask<bf16>{of<bf16 const>()},
      of<bf16>(), columns(), 0.5f)
COUNT(softmax_causal, scale_mask_softmax, of<bf16>(), causal_mask{4}, of<bf16>(), columns(), 0.5f)
COUNT(rms_norm, rms_norm, of<bf16>(), per_column<bf16>(), of<bf16>(), columns(), 1e-6f)
COUNT(layer_norm, layer_norm, of<bf16>(), per_column<bf16>(), per_column<bf16>(), of<bf16>(),
      columns(), 1e-6f)
COUNT(add_rms_norm, add_rms_norm, of<bf16>(), of<bf16>(), per_column<bf16>(), of<bf16>(), columns(),
      1e-6f)
COUNT(softmax_pb_relax, softmax_pb_relax, of<bf16>(), of<bf16>(), columns(), 1.0f)
// Short rows share a warp. Rows of an odd number of columns are aligned to their elements only.
COUNT_ROWS(softmax_short, 32, 128, 1 << 15, softmax, of<bf16>(), of<bf16>(), columns())
COUNT_ROWS(softmax_odd, 1001, 8191, 1 << 15, softmax, of<bf16>(), of<bf16>(), columns())
COUNT_ROWS(rms_norm_odd, 1001, 8191, 1 << 15, rms_norm, of<bf16>(), per_column<bf16>(), of<bf16>(),
           columns(), 1e-6f)
COUNT(softmax_backward, softmax_backward, of<bf16>(), of<bf16>(), of<bf16>(), columns())
COUNT_ROWS(rms_norm_backward, 1024, 8192, 1 << 18, rms_norm_backward, of<bf16>(),
           per_column<bf16>(), of<bf16>(), of<f32>(now.rows()), of<bf16>(), per_column<f32>(),
           columns(), scratch(rms_norm_backward_scratch))
COUNT_ROWS(layer_norm_backward, 128, 4096, 1 << 18, layer_norm_backward, of<bf16>(),
           per_column<bf16>(), of<bf16>(), of<f32>(now.rows()), of<f32>(now.rows()), of<bf16>(),
           per_column<f32>(), per_column<f32>(), columns(), scratch(layer_norm_backward_scratch))
COUNT_ROWS(cross_entropy, 50304, 1024, 1 << 18, cross_entropy, of<bf16>(),
           of<std::int32_t>(now.rows()), columns(), summed, of<f32>(now.rows()), of<bf16>())

// Kernels that traffic.py must refuse: copies as streams move, rows that share a warp, and blocks
// of states. A fault is a store that splits sectors, a second read, few blocks, or one bank.
enum class shaped : std::uint8_t { stream, short_rows, states };
enum class fault : std::uint8_t { split, second_read, few_blocks, conflicts };
template <shaped Shape, fault Fault>
struct planted_copy {
  static constexpr unsigned least_blocks = 0;
  unsigned char const* from;
  unsigned char* to;
  std::size_t chunks;

  /// Returns the place of a store: in a stream that of the load, else in a row of 16 chunks.
  __device__ static std::size_t place(std::size_t i) {
    std::size_t const turn = i / 32 % 2, row = Shape == shaped::short_rows ? 8 : 32,
                      in_row = i % row;
    return i / 64 * 64 + i % 32 / row * 2 * row +
           (Fault == fault::split ? in_row * 2 + turn : turn * row + in_row);
  }
  /// Returns the chunk or the words of a table that are read again.
  __device__ std::uint32_t again(cuda::gpu_thread const& thread, std::size_t i,
                                 cuda::piece<16> const& x) const {
    if (Shape != shaped::states)
      return thread
          .read<cuda::piece<16>>(from + 16 * (Shape == shaped::stream ? chunks - 1 - i : i ^ 15))
          .word[0];
    std::uint32_t sum = 0;
    for (std::uint32_t const code : x.word)
      sum += thread.read<std::uint32_t>(from + code % 256 * 4);
    return sum;
  }
  __device__ void run(cuda::gpu_thread const& thread) const {
    using piece = cuda::piece<16>;
    auto* const shared = thread.shared<piece, 32 * 32>();
    std::size_t const threads = thread.blocks() * thread.threads();
    for (std::size_t i = thread.block() * thread.threads() + thread.thread(); i < chunks;
         i += threads) {
      piece x = thread.read<piece>(from + 16 * i);
      if constexpr (Fault == fault::second_read) x.word[0] ^= again(thread, i, x);
      if constexpr (Fault == fault::conflicts) {
        shared[thread.thread() % 32 * 32] = x;
        thread.warp_barrier();
        x = shared[(thread.thread() + 1) % 32 * 32];
      }
      if constexpr (Shape == shaped::states && Fault == fault::split)
        for (std::size_t half = 0; half < 2; ++half)
          thread.write(to + 16 * i + 8 * half,
                       cuda::piece<8>{{x.word[2 * half], x.word[2 * half + 1]}});
      else
        thread.write(to + 16 * place(i), x);
    }
  }
};
template <class Case, shaped Shape, fault Fault>
void plant() {
  using call = planted_copy<Shape, Fault>;
  std::size_t const bytes = now.elements * sizeof(f32);
  std::uint64_t const blocks =
      Fault == fault::few_blocks ? 2 : bytes / 16 / cuda::tuning::block_threads;
  launch(named<Case, call>{{reinterpret_cast<unsigned char*>(of<f32>().data()),
                            reinterpret_cast<unsigned char*>(of<f32>().data()), bytes / 16}},
         blocks);
}
#define PLANT(shape, kind)                                                               \
  struct planted_##shape##_##kind {                                                      \
    static void run() { plant<planted_##shape##_##kind, shaped::shape, fault::kind>(); } \
  };                                                                                     \
  bool const shape##_##kind##_is_listed = list(&planted_##shape##_##kind::run);
PLANT(stream, split)
PLANT(stream, second_read)
PLANT(stream, few_blocks)
PLANT(stream, conflicts)
PLANT(short_rows, split)
PLANT(short_rows, second_read)
PLANT(short_rows, few_blocks)
PLANT(short_rows, conflicts)
PLANT(states, split)
PLANT(states, second_read)
PLANT(states, few_blocks)
PLANT(states, conflicts)

}  // namespace counted

int main() {
  using namespace counted;
  for (auto const& each : cases)
    for (bool const is_large : {false, true}) {
      std::size_t const elements = is_large ? std::size_t{1} << 28 : each.elements;
      now = {elements / each.columns[0] * each.columns[0], each.columns[0], is_large};
      each.run();
      if (!now.has_rows) continue;
      now = {elements / each.columns[1] * each.columns[1], each.columns[1], is_large};
      each.run();
    }
}
