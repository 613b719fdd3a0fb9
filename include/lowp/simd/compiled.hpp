// SPDX-License-Identifier: Apache-2.0
// The calls whose kernels the library lowp::compiled has. LOWP_COMPILED says that a unit is linked
// with it. An operation's header makes the types of its calls from these lists. Each line begins
// with the part of the library that has the call; the top CMakeLists.txt names all parts.
#pragma once

#include <lowp/simd/element_call.hpp>
#include <lowp/simd/rows/row_call.hpp>

// clang-format off

//  part, from, to, rounding
#define LOWP_COMPILED_CASTS(X) \
  X(casts, float, bfloat16, nearest_even)         X(casts, bfloat16, float, nearest_even) \
  X(casts, float, float16, nearest_even)          X(casts, float16, float, nearest_even) \
  X(casts, float, float8_e4m3fn, nearest_even)    X(casts, float8_e4m3fn, float, nearest_even) \
  X(casts, float, float8_e5m2, nearest_even)      X(casts, float8_e5m2, float, nearest_even) \
  X(casts, bfloat16, float16, nearest_even)       X(casts, float16, bfloat16, nearest_even) \
  X(casts, bfloat16, float8_e4m3fn, nearest_even) X(casts, float8_e4m3fn, bfloat16, nearest_even) \
  X(casts, bfloat16, float8_e5m2, nearest_even)   X(casts, float8_e5m2, bfloat16, nearest_even) \
  X(casts, float16, float8_e4m3fn, nearest_even)  X(casts, float8_e4m3fn, float16, nearest_even) \
  X(casts, float16, float8_e5m2, nearest_even)    X(casts, float8_e5m2, float16, nearest_even) \
  X(draws, float, bfloat16, stochastic)           X(draws, float, bfloat16, stochastic_fast) \
  X(draws, float, float16, stochastic)            X(draws, float, float16, stochastic_fast) \
  X(draws, float, float8_e4m3fn, stochastic)      X(draws, float, float8_e4m3fn, stochastic_fast) \
  X(draws, float, float8_e5m2, stochastic)        X(draws, float, float8_e5m2, stochastic_fast)

//  part, p, u, rounding
#define LOWP_COMPILED_FUSED_ADDS(X) \
  X(adds, float, float, nearest_even)             X(adds, float, bfloat16, nearest_even) \
  X(adds, bfloat16, float, nearest_even)          X(adds, bfloat16, bfloat16, nearest_even) \
  X(adds, bfloat16, float, stochastic)            X(adds, bfloat16, bfloat16, stochastic) \
  X(adds, bfloat16, float, stochastic_fast)       X(adds, bfloat16, bfloat16, stochastic_fast)

//  part, optimizer, p, g, rounding, moments: without and with update_report. `kahan` has two
//  bfloat16, `master` a float and a bfloat16.
#define LOWP_COMPILED_UPDATES(X) \
  X(adamw_nearest, adamw, float, float, nearest_even, float, float) \
  X(adamw_nearest, adamw, bfloat16, bfloat16, nearest_even, float, float) \
  X(adamw_nearest, adamw, bfloat16, bfloat16, nearest_even, bfloat16, bfloat16) \
  X(adamw_stochastic, adamw, bfloat16, bfloat16, stochastic, float, float) \
  X(adamw_stochastic, adamw, bfloat16, bfloat16, stochastic, bfloat16, bfloat16) \
  X(adamw_fast, adamw, bfloat16, bfloat16, stochastic_fast, float, float) \
  X(adamw_fast, adamw, bfloat16, bfloat16, stochastic_fast, bfloat16, bfloat16) \
  X(adamw_storages, adamw, kahan, bfloat16, nearest_even, bfloat16, bfloat16) \
  X(adamw_storages, adamw, master, bfloat16, nearest_even, float, float) \
  X(lion, lion, float, float, nearest_even, float) \
  X(lion, lion, bfloat16, bfloat16, nearest_even, bfloat16) \
  X(lion, lion, bfloat16, bfloat16, stochastic, bfloat16) \
  X(lion, lion, bfloat16, bfloat16, stochastic_fast, bfloat16) \
  X(lion, lion, kahan, bfloat16, nearest_even, bfloat16) \
  X(lion, lion, master, bfloat16, nearest_even, float) \
  X(sgd, sgd, float, float, nearest_even) \
  X(sgd, sgd, bfloat16, bfloat16, nearest_even) \
  X(sgd, sgd, bfloat16, bfloat16, stochastic) \
  X(sgd, sgd, bfloat16, bfloat16, stochastic_fast) \
  X(sgd, sgd, kahan, bfloat16, nearest_even) \
  X(sgd, sgd, master, bfloat16, nearest_even) \
  X(momentum, sgd, float, float, nearest_even, float) \
  X(momentum, sgd, bfloat16, bfloat16, nearest_even, bfloat16) \
  X(momentum, sgd, bfloat16, bfloat16, stochastic, bfloat16) \
  X(momentum, sgd, bfloat16, bfloat16, stochastic_fast, bfloat16) \
  X(momentum, sgd, kahan, bfloat16, nearest_even, bfloat16) \
  X(momentum, sgd, master, bfloat16, nearest_even, float) \
  X(sgd, ema, float, bfloat16, nearest_even) \
  X(sgd, ema, bfloat16, bfloat16, stochastic_fast)

//  part, type of elements: a report on gradients, which may be unscaled or clipped; a range, a sum
#define LOWP_COMPILED_MEASURES(X) X(measures, float) X(measures, bfloat16)

//  part, member of kept_as: the updates that advice seeks
#define LOWP_COMPILED_ADVICE(X) \
  X(advice, fp8) X(advice, fp8_stochastic) X(advice, bf16) X(advice, bf16_stochastic) \
  X(advice, fp16) X(advice, split24) X(advice, kahan) X(advice, fp32)
//  part, p and g, both moments: the updates that a step of AdamW asks for
#define LOWP_COMPILED_REQUESTS(X) \
  X(advice, float, float) X(advice, bfloat16, float) X(advice, bfloat16, bfloat16)

//  Derivatives of the calls below are in PART_backward.
//  part and activation, type of all elements: without and with a gate
#define LOWP_COMPILED_ACTIVATIONS(X) \
  X(gelu, float) X(gelu, bfloat16) X(gelu_tanh, float) X(gelu_tanh, bfloat16) \
  X(silu, float) X(silu, bfloat16)
//  part, type of all elements: without a mask and causal
#define LOWP_COMPILED_SOFTMAXES(X) X(softmax, float) X(softmax, bfloat16)
//  part, type of all elements: without and with statistics; derivatives that are added, too
#define LOWP_COMPILED_NORMS(X) X(norms, float) X(norms, bfloat16)
//  part, type of rows that add up to a bias, and of a table that gets sums of floats
#define LOWP_COMPILED_ROW_SUMS(X) X(tables, float) X(tables, bfloat16)
//  part, type of ids: rows of a table of any type
#define LOWP_COMPILED_GATHERS(X) X(tables, int) X(tables, std::int64_t)
//  part, type of logits and derivatives, type of labels
#define LOWP_COMPILED_CROSS_ENTROPIES(X) \
  X(losses, float, int) X(losses, bfloat16, int) \
  X(losses, float, std::int64_t) X(losses, bfloat16, std::int64_t)

// clang-format on

#if defined(LOWP_COMPILED)  // a unit that is linked with the library
#define LOWP_COMPILED_CALL(part, ...) \
  template <>                         \
  inline constexpr bool is_compiled<__VA_ARGS__> = true;
#elif defined(LOWP_COMPILING)  // a unit of the library: LOWP_PART_x is `, LOWP_COMPILE` in part x
#define LOWP_COMPILE(...) template void run_compiled(__VA_ARGS__ const&);
#define LOWP_COMPILE_NOTHING(...)
#define LOWP_COMPILED_CALL(part, ...) \
  LOWP_SECOND(LOWP_PART_##part, LOWP_COMPILE_NOTHING, )(__VA_ARGS__)
#else
#define LOWP_COMPILED_CALL(part, ...)
#endif

namespace lowp::simd {

/// Says that the library has the kernels of a call.
template <class Call>
inline constexpr bool is_compiled = false;

/// Runs a call in the library, on the backend that the library chooses.
template <class Call>
__attribute__((visibility("default"))) void run_compiled(Call const& call);

template <class Make, class Report, class... Operand>
using compiled_elements =
    element_call<Make, Report, std::index_sequence_for<Operand...>, Operand...>;
template <class T, class R = nearest_even>
using compiled_slot = operand<T, access::read_write, R>;
template <class... Operand>
using compiled_rows = tuple<row_operand<Operand>...>;
using compiled_statistic = operand<float, access::write>;
template <class Operation, class T, class Columns = tuple<>, class... Statistic>
using compiled_row_call =
    row_call<Operation, row_operand<operand<T, access::write>>,
             compiled_rows<operand<T, access::read>>, Columns, compiled_rows<Statistic...>>;
template <class Operation, class T, access A, class... Column>
using compiled_row_derivative =
    row_call<Operation, row_operand<operand<T, A>>,
             compiled_rows<operand<T, access::read>, operand<T, access::read>, Column...>, tuple<>,
             tuple<>>;

}  // namespace lowp::simd
