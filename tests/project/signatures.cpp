// SPDX-License-Identifier: Apache-2.0
// A frozen copy of the public names of lowp/lowp.hpp: the types that they take and return, their
// defaults, and the order of their members. A new line is a new minor version. A line that changes
// or goes breaks programs: include/lowp/README.md#changes says which version may do so.
#include <lowp/lowp.hpp>
using refusal = std::invalid_argument;  // declared: who includes that door can catch what it throws
#include <lowp/p3109.hpp>
#include <lowp/watch.hpp>

#include <array>
#include <charconv>
#include <compare>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

using namespace lowp;

namespace signatures {

// The type of an expression, which is not evaluated.
#define COMMA ,
#define IS(type, ...) static_assert(std::is_same_v<decltype(__VA_ARGS__), type>)
// A member that other code reads and writes, and its default.
#define MEMBER(type, of, name, ...)                        \
  static_assert(std::is_same_v<decltype(of::name), type>); \
  __VA_OPT__(static_assert(of{}.name == (__VA_ARGS__));)

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

extern std::vector<float> f;
extern std::vector<double> d;
extern std::vector<bfloat16> b;
extern std::vector<bfloat16> const in;
extern std::vector<float8_e4m3fn> e;
extern std::vector<float8_e8m0fnu> s;
extern std::vector<u16> low;
extern std::vector<std::int8_t> errors;
extern std::vector<float16> h;
constexpr stochastic draws{.seed = 1};
extern update_report report;
extern sum_report sums;
extern update_amax seen;
extern amax largest;
extern std::string const name;

// Values.
#define VALUE(name, code_type, exponent, significand, bias, ...)                           \
  static_assert(name::descriptor ==                                                        \
                format{exponent, significand, bias __VA_OPT__(, ) __VA_ARGS__});           \
  IS(code_type, name().bits());                                                            \
  IS(name, name::from_bits(code_type()));                                                  \
  IS(name, name(1));                                                                       \
  IS(name, name(1.0));                                                                     \
  IS(float, float(name()));                                                                \
  static_assert(sizeof(name) == sizeof(code_type) && std::is_trivially_copyable_v<name> && \
                std::is_convertible_v<name, float> && std::is_convertible_v<int, name> &&  \
                !std::is_convertible_v<float, name> && !std::is_convertible_v<double, name>)
VALUE(float16, u16, 5, 10, 15);
VALUE(bfloat16, u16, 8, 7, 127);
VALUE(float8_e5m2, u8, 5, 2, 15);
VALUE(float8_e4m3, u8, 4, 3, 7);
VALUE(float8_e3m4, u8, 3, 4, 3);
VALUE(float8_e4m3fn, u8, 4, 3, 7, specials::nan_all_ones);
VALUE(float8_e4m3fnuz, u8, 4, 3, 8, specials::nan_negative_zero);
VALUE(float8_e5m2fnuz, u8, 5, 2, 16, specials::nan_negative_zero);
VALUE(float8_e4m3b11fnuz, u8, 4, 3, 11, specials::nan_negative_zero);
VALUE(float8_e8m0fnu, u8, 8, 0, 127, specials::nan_all_ones, false);
VALUE(float8_ue5m3, u8, 5, 3, 15, specials::nan_negative_zero, false);
VALUE(float6_e2m3fn, u8, 2, 3, 1, specials::none);
VALUE(float6_e3m2fn, u8, 3, 2, 3, specials::none);
VALUE(float4_e2m1fn, u8, 2, 1, 1, specials::none);
static_assert(p3109(8, 3, p3109_domain::extended) == format{5, 2, 16, specials::p3109_extended});
static_assert(p3109(8, 1, p3109_domain::finite, p3109_sign::absent) ==
              format{8, 0, 128, specials::nan_negative_zero, false});
static_assert(std::is_same_v<basic_float<format{5, 10, 15}>, float16>);

constexpr bfloat16 x(2);
constexpr implicit<bfloat16> same = 2.0;
IS(bfloat16, x + x);
IS(bfloat16, x * 2);
IS(implicit<bfloat16>, x + same);
IS(float, x / 2.0f);
IS(double, 2.0 - x);
IS(bfloat16&, std::declval<bfloat16&>() *= 2.0f);
IS(bfloat16&, std::declval<bfloat16&>() = 2.0);
IS(std::partial_ordering, x <=> x);
IS(bool, x == 2.0);
IS(bool, isnan(x) && isinf(x) && isfinite(x) && isnormal(x) && signbit(x));
IS(bfloat16, abs(copysign(nextafter(x, x), sqrt(x))));
IS(bfloat16, fmin(fmax(x, x), fma(x, x, x)));
IS(bfloat16, pow(exp(x), tanh(x)));
IS(float, ulp(x));
IS(float, gap_above(x));
IS(float, gap_below(x));
IS(bfloat16, std::numeric_limits<bfloat16>::max());
IS(std::size_t, std::hash<bfloat16>()(x));
IS(std::from_chars_result, from_chars("", "", std::declval<bfloat16&>()));
IS(std::to_chars_result, to_chars(nullptr, nullptr, x));

// Rounding and overflow.
static_assert(stochastic{.seed = 1}.stream == 0 && stochastic{.seed = 1}.offset == 0);
static_assert(stochastic{.seed = 1, .stream = 2, .offset = 3}.offset == 3);
static_assert(stochastic_fast{.seed = 1, .stream = 2, .offset = 3}.stream == 2);
MEMBER(u64, stochastic, seed);
MEMBER(u16, stochastic_bits, r);
IS(per_slot, per_slot{.param = nearest_even{}, .first = stochastic{1}, .second = stochastic{2}});
static_assert(rounding<nearest_even> && rounding<nearest_away> && rounding<toward_zero> &&
              rounding<upward> && rounding<downward> && rounding<to_odd> && rounding<stochastic> &&
              rounding<stochastic_fast> && rounding<stochastic_bits> && rounding<per_slot> &&
              !rounding<int>);
IS(u64, stream_of(u32(), u64()));
using four = std::array<u32, 4>;
IS(four, philox4x32(four(), std::array<u32, 2>()));
static_assert(default_overflow<bfloat16> == overflow::infinity &&
              default_overflow<float8_e4m3fn> == overflow::saturate);
constexpr overflow policies[] = {
    overflow::infinity,   overflow::saturate,        overflow::cuda,
    overflow::cuda_nosat, overflow::ml_dtypes,       overflow::ml_dtypes_saturate,
    overflow::onnx,       overflow::onnx_nosat,      overflow::torch,
    overflow::torch_2_11, overflow::p3109_propagate, overflow::p3109_none};

static_assert(std::size(policies) == 12 && policies[11] == overflow{11});

// Conversions.
IS(bfloat16, convert<bfloat16>(1.0, stochastic_bits{7}, overflow::saturate));
IS(float, convert<float>(x));
IS(void, cast(in, f));
IS(void, cast(d, b, draws, overflow::saturate));
IS(void, cast(std::vector<int>(), b, draws));
IS(void, cast(in, d));
IS(void, scaled_cast(f, e, 2.0f));
IS(void, scaled_cast(f, e, 2.0f, largest, draws, overflow::saturate));
IS(void, block_cast(f, blocks_of<32>(e, s), nearest_even{}, scale_rule::rceil, overflow::saturate));
IS(void, block_cast(f, blocks_of<32>(e, s), nearest_even{}, block_cast_options{.columns = 32}));
MEMBER(std::size_t, block_cast_options, columns, 0);
MEMBER(scale_rule, block_cast_options, rule, scale_rule::rceil);
MEMBER(overflow, block_cast_options, overflow, overflow::saturate);
IS(void, block_cast(blocks_of<32>(e, s), b, nearest_even{}, overflow::infinity));
IS(void, split(f, b, low, nearest_away{}, overflow::infinity));
IS(void, join(b, low, f));
IS(void, resync(kahan{b, b}));
IS(void, resync(master{f, b}));
IS(void, resync(split_master{b, low}));
IS(void, resync(corrected_master{b, errors}));
struct negate {
  template <class F>
  F operator()(F const& each) const;
};
IS(void, transform(negate{}, draws, b, in));
IS(std::span<bfloat16>, view(b.data(), b.size()));

// Steps.
constexpr adamw optimizer{.lr = 1, .beta1 = 0, .beta2 = 0, .eps = 0, .weight_decay = 0};
MEMBER(double, adamw, lr, 1e-3);
MEMBER(double, adamw, beta1, .9);
MEMBER(double, adamw, beta2, .999);
MEMBER(double, adamw, eps, 1e-8);
MEMBER(double, adamw, weight_decay, 1e-2);
constexpr adafactor factors{
    .lr = 1, .beta2_decay = 0, .eps1 = 0, .eps2 = 0, .d = 1, .weight_decay = 0};
MEMBER(double, adafactor, lr, 1e-2);
MEMBER(double, adafactor, beta2_decay, -.8);
MEMBER(double, adafactor, eps1, 0x1p-23);
MEMBER(double, adafactor, eps2, 1e-3);
MEMBER(double, adafactor, d, 1);
MEMBER(double, adafactor, weight_decay, 0);
IS(sgd, factors.along(1.0, 1.0, 4, 1));
IS(void, adafactor_direction(in, f, f, b, 4, factors, 1));
IS(void, adafactor_direction(in, f, b, 4, factors, 1));
constexpr lion signs{.lr = 1, .beta1 = 0, .beta2 = 0, .weight_decay = 0};
MEMBER(double, lion, lr, 1e-4);
MEMBER(double, lion, beta1, .9);
MEMBER(double, lion, beta2, .99);
MEMBER(double, lion, weight_decay, 0);
MEMBER(double, ema, decay, .999);
constexpr sgd descent{.lr = 1, .momentum = 0, .dampening = 0, .weight_decay = 0, .nesterov = false};
MEMBER(double, sgd, lr);
MEMBER(double, sgd, momentum, 0);
MEMBER(double, sgd, dampening, 0);
MEMBER(double, sgd, weight_decay, 0);
MEMBER(bool, sgd, nesterov, false);
IS(void, fused_add(b, 1.0f, f));
IS(void, fused_add(b, 1.0f, f, draws, overflow::saturate, report));
IS(void, fused_add(b, 1.0f, in, draws, report));
IS(void, update(b, f, descent, u64()));
IS(void, update(b, f, b, descent, 1, draws, report));
IS(void, update(b, f, b, signs, 1, draws, report));
IS(void, update(b, in, f, e, optimizer, 1, per_slot{}, overflow::saturate, report));
IS(void, update(b, in, f, f, optimizer, 1, draws, seen));
extern std::vector<fused_add_tensor<bfloat16, float>> const additions;
extern std::vector<sgd_tensor<bfloat16, float>> const plain;
extern std::vector<momentum_tensor<bfloat16, float, float>> const heavy;
extern std::vector<adamw_tensor<bfloat16, float, float, float>> const adaptive;
extern std::vector<update_report> reports;
IS(void, fused_add(additions, 1.0f, draws));
IS(void, update(plain, descent, 1));
IS(void, update(heavy, descent, 1, draws));
IS(void, update(heavy, signs, 1, draws));
IS(void, update(adaptive, optimizer, 1, draws, report));
IS(adamw_tensor<bfloat16 COMMA float COMMA float COMMA float>,
   adamw_tensor<bfloat16, float, float, float>{.p = b, .g = f, .m = f, .v = f});
IS(void, tree_add(std::vector{named{"w", b}}, 1.0f, std::vector{named{"w", f}}, draws, report));

// Storages.
extern kahan<bfloat16, bfloat16> compensated;
extern master<float, bfloat16> copied;
extern split_master<bfloat16, u16> halved;
extern scaled<float8_e4m3fn> coded;
extern block_scaled<float8_e4m3fn, 128> blocked;
extern packed<float4_e2m1fn> bits;
extern std::vector<u8> bytes;
extern signed_dynamic_blocks first_moment;
extern unsigned_dynamic_blocks second_moment;
IS(decltype(compensated), kahan{b, b});
IS(decltype(copied), master{f, b});
IS(decltype(halved), split_master{b, low});
IS(decltype(coded), scaled{e, 2.0f});
IS(decltype(blocked), blocks_of<128>(e, s));
IS(decltype(bits), decltype(bits)(std::span<u8>(), std::size_t()));
IS(decltype(bits), bits.subspan(std::size_t(), std::size_t()));
IS(std::uint8_t*, bits.data());
IS(std::size_t, bits.size());
IS(std::size_t, bits.size_bytes());
IS(float4_e2m1fn, bits[std::size_t()]);
IS(void, cast(f, bits, draws));
IS(std::span<float8_e8m0fnu>, blocks_of<32>(bits, s).scales);
IS(decltype(compensated), decltype(compensated){.value = b, .compensation = b});
IS(decltype(copied), decltype(copied){.weights = f, .copy = b});
IS(decltype(halved), decltype(halved){.high = b, .low = low});
IS(decltype(coded), decltype(coded){.codes = e, .scale = 2});
IS(decltype(blocked), decltype(blocked){.codes = e, .scales = s});
IS(signed_dynamic_blocks, signed_dynamic_blocks{.codes = bytes, .absmax = f});
IS(unsigned_dynamic_blocks, unsigned_dynamic_blocks{.codes = bytes, .absmax = f});
IS(signed_companded_blocks, signed_companded_blocks{.codes = errors, .scales = h});
IS(unsigned_companded_blocks, unsigned_companded_blocks{.codes = bytes, .scales = h});
IS(corrected_master<bfloat16 COMMA std::int8_t>,
   corrected_master<bfloat16 COMMA std::int8_t>{.value = b, .error_bits = errors});
static_assert(signed_dynamic_blocks::zero == 127 && unsigned_dynamic_blocks::zero == 0);
IS(void, update(compensated, f, first_moment, second_moment, optimizer, 1, draws));
IS(void, update(compensated, f, coded, blocked, optimizer, 1, draws));
IS(void, fused_add(copied, 1.0f, in, draws));

// Reports.
MEMBER(u64, update_report, count, 0);
MEMBER(u64, update_report, stalled, 0);
MEMBER(u64, update_report, overflowed, 0);
MEMBER(u64, update_report, nonfinite, 0);
IS(double, report.applied_ratio());
IS(update_report&, report += report);
MEMBER(amax, update_amax, gradient);
MEMBER(amax, update_amax, weight);
MEMBER(u64, update_amax, nan_gradient, 0);
MEMBER(u64, update_amax, nan_weight, 0);
IS(update_amax&, seen += seen);
extern moment_report moments;
MEMBER(u64, moment_report, count, 0);
MEMBER(moment_counts, moment_report, first);
MEMBER(moment_counts, moment_report, second);
MEMBER(u64, moment_counts, wished, 0);
MEMBER(u64, moment_counts, stalled, 0);
MEMBER(u64, moment_counts, nonfinite, 0);
IS(double, moments.second.stalled_share());
IS(double, moments.second.bias());
IS(moment_report&, moments += moments);
IS(void, update(b, in, f, f, optimizer, 1, draws, moments));
MEMBER(u32, amax, bits, 0);
IS(float, largest.value());
IS(amax&, largest += largest);
extern gradient_report gradients;
MEMBER(u64, gradient_report, count, 0);
MEMBER(u64, gradient_report, nonfinite, 0);
MEMBER(amax, gradient_report, largest);
MEMBER(u64, gradient_report, nan, 0);
IS(double, gradients.norm());
IS(void, unscale(b, 0.5f, gradients, draws, overflow::saturate));
IS(gradient_report, measure(in));
IS(gradient_report, clip(std::vector{named{"w", b}}, 1.0, draws));
IS(gradient_report, clip(b, 1.0, draws));
IS(float, clip_factor(1.0, 1.0));
extern loss_scaler scaler;
MEMBER(float, loss_scaler, scale, 65536);
MEMBER(double, loss_scaler, growth_factor, 2);
MEMBER(double, loss_scaler, backoff_factor, 0.5);
MEMBER(u32, loss_scaler, growth_interval, 2000);
MEMBER(u32, loss_scaler, growth_tracker, 0);
MEMBER(u64, loss_scaler, updates, 0);
MEMBER(u64, loss_scaler, skipped, 0);
MEMBER(float, loss_scaler, minimum, 0x1p-24f);
IS(void, unscale(std::vector{named{"w", b}}, scaler, gradients));
IS(void, scaler.observe("w", gradients));
IS(void, scaler.update());
IS(float, scaler.inverse_scale());
IS(bool, scaler.found_nonfinite());
IS(float, power_of_two_scale<float8_e4m3fn>(largest, 0));
IS(float, delayed_scale<float8_e4m3fn>{.scale = 1, .margin = 0}.scale);
IS(void, delayed_scale<float8_e4m3fn>().update(largest));
IS(double, sum(in));
IS(double, mean(in));
IS(double, dot(in, f));
IS(double, norm(in));
IS(range_census, census<float16>(in));
IS(std::string, text(census<float16>(in)));
IS(abs_range, abs_range_of<float16>(in));
MEMBER(u64, abs_range, count, 0);
MEMBER(u64, abs_range, nan, 0);
MEMBER(u64, abs_range, infinite, 0);
MEMBER(u64, abs_range, overflow, 0);
MEMBER(amax, abs_range, max_abs);

// Advice and set-ups.
IS(storage_advice, stall_advice(in, {.lr = 1, .direction = 1, .steps = 1000}));
IS(list_advice, stall_advice(adaptive, {.lr = 1}));
IS(list_advice, stall_advice(adaptive, update_of(adaptive, adamw{}, 1)));
IS(typical_update, update_of(adamw{}));
IS(typical_update, update_of(sgd{}, report));
IS(typical_update, update_of(f, in, f, f, adamw{}, 1));
IS(double, stalled_decay(in, 0.999));
MEMBER(double, stall_estimate, stalled, 0);
MEMBER(double, stall_estimate, lr_any, 0);
MEMBER(double, stall_estimate, lr_half, 0);
MEMBER(double, stall_estimate, lr_all, 0);
MEMBER(kept_as, storage_advice, choice, kept_as::fp32);
IS(stall_estimate const&, std::declval<storage_advice const&>()[kept_as::bf16]);

// Pieces that do not overflow.
IS(void, softmax(in, f, 4));
IS(void, log_softmax(in, b, 4));
IS(void, scale_mask_softmax(in, f, b, 4, 0.5f));
IS(void, softmax_pb_relax(in, b, 4, 32.0f));
IS(bfloat16 const, mask_value<bfloat16>);
IS(void, gelu_tanh(in, b, draws, overflow::saturate));
IS(void, gelu(in, b, draws, overflow::saturate));
IS(void, silu(in, b, draws, overflow::saturate));
IS(void, gelu_tanh_backward(in, f, b, draws, overflow::saturate));
IS(void, gelu_backward(in, f, b, draws, overflow::saturate));
IS(void, silu_backward(in, f, b, draws, overflow::saturate));
IS(void, gated_gelu_tanh_backward(in, f, f, f, b, draws, overflow::saturate));
IS(void, gated_gelu_backward(in, f, f, f, b, draws, overflow::saturate));
IS(void, gated_silu_backward(in, f, f, f, b, draws, overflow::saturate));
IS(void, softmax_backward(in, f, b, 4));
IS(void, log_softmax_backward(in, f, b, 4));
IS(void, scale_mask_softmax_backward(in, f, b, 4, 0.5f));
IS(void, rms_norm_backward(in, f, f, f, b, f, 4));
IS(void, layer_norm_backward(in, f, f, f, f, b, f, f, 4));
IS(void, add_rows(in, f, 4));
IS(void, add_rows(in, added_to{f}, 4));
IS(std::size_t, rms_norm_backward_scratch(4, 4));
IS(std::size_t, layer_norm_backward_scratch(4, 4));
IS(void, rms_norm_backward(in, f, f, f, added_to{b}, added_to{f}, 4));
IS(void, layer_norm_backward(in, f, f, f, f, added_to{strided_rows{b, 8}}, f, f, 4));
IS(void, gather_rows(in, std::span<std::int64_t const>(), b, 4));
IS(void, gather_rows(b, std::span<std::int32_t const>(), b, 4, -1));
IS(void, scatter_add_rows(in, std::span<std::int64_t const>(), b, 4));
IS(void, scatter_add_rows(in, std::span<std::int32_t const>(), f, 4, -1));
IS(void, cross_entropy(in, std::span<std::int64_t const>(), 4, {}, f, b));
IS(void, cross_entropy(in, std::span<std::int64_t const>(), 4, {}, f, b, sums));
MEMBER(std::int64_t, cross_entropy_options, ignore_index, -100);
MEMBER(float, cross_entropy_options, label_smoothing, 0);
MEMBER(loss_reduction, cross_entropy_options, reduction, loss_reduction::averaged);
MEMBER(float, cross_entropy_options, scale, 1);
MEMBER(float const*, cross_entropy_options, scale_at, nullptr);
IS(void, gated_gelu_tanh(in, f, b, draws, overflow::saturate));
IS(void, gated_gelu(in, f, b, draws, overflow::saturate));
IS(void, gated_silu(in, f, b, draws, overflow::saturate));
IS(void, rms_norm(in, f, b, 4, 1e-6f));
IS(void, layer_norm(in, f, f, b, 4, 1e-6f));
IS(void, rms_norm(in, f, b, 4, 1e-6f, f));
IS(void, layer_norm(in, f, f, b, 4, 1e-6f, f, f));
IS(void, add_rms_norm(b, in, f, b, 4, 1e-6f));
IS(void, add_rms_norm(b, in, f, b, 4, 1e-6f, f, draws));
IS(void, add_layer_norm(b, in, f, f, b, 4, 1e-6f, draws));
IS(void, add_layer_norm(b, in, f, f, b, 4, 1e-6f, f, f, draws));
IS(strided_rows<bfloat16 const>, strided_rows{in, 8});
IS(void, softmax(strided_rows<bfloat16>{.elements = b, .stride = 8}, f, 4));
IS(attention_mask<float>, attention_mask{f, 1, 2, 8});
IS(void, scale_by_power_of_two(in, b, -3));
IS(void, scale_by_power_of_two(in, b, -3, std::declval<scaling_report&>()));
IS(int, projection_exponent<float16>(largest));
IS(clamp_report, clamp_overflow(b));

// Watches.
IS(stall_policy,
   stall_policy{.window = 100, .least_applied = 0.1, .evidence = 30, .least_steps = 10});
IS(std::size_t, std::declval<stall_watch&>().add(name, in));
IS(std::optional<stall_alarm>, std::declval<stall_watch&>().observe(0, u64(), 1.0, report));
IS(std::optional<stall_alarm>, std::declval<stall_watch&>().observe(0, adamw{}, u64(), report));
IS(std::vector<stall_alarm>,
   std::declval<stall_watch&>().observe(adaptive, adamw{}, u64(), reports));
IS(std::string, std::declval<stall_alarm>().text());
MEMBER(double, stall_policy, largest_bias, 1e-4);
IS(std::optional<moment_alarm>, std::declval<stall_watch&>().observe(0, u64(), moments));
IS(std::string, std::declval<moment_alarm>().text());
extern overflow_watch<float16> watch;
IS(watch_policy, watch_policy{.frames = 21, .every = 1, .weights_every = 16});
MEMBER(std::size_t, watch_policy, lines);
IS(std::size_t, watch.add(name));
IS(std::size_t, watch.add(name, name, source_place{}));
IS(bool, watch.step(u64()));
IS(overflow_watch<float16>::frame, watch.forward(0));
IS(overflow_watch<float16>::frame, watch.backward(0));
IS(void, watch.update(0, report));
IS(void, watch.update(0, seen));
IS(void, watch.stalled(0, std::declval<stall_alarm>()));
IS(watch_alarm, std::declval<watch_error>().alarm);

IS(std::string_view, isa());
static_assert(LOWP_VERSION ==
              LOWP_VERSION_MAJOR * 10000 + LOWP_VERSION_MINOR * 100 + LOWP_VERSION_PATCH);

}  // namespace signatures
