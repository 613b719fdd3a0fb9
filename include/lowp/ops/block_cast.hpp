// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/ops/cast.hpp>
#include <lowp/ops/storage_operands.hpp>

#include <type_traits>

namespace lowp {

namespace detail {

template <class S>
inline constexpr bool is_block_scaled = false;
template <class T, int Block>
inline constexpr bool is_block_scaled<block_scaled<T, Block>> = true;

template <class T>
using neither_a_range_of_float_or_a_narrow_type_nor_blocks_of =
    fit<input<T> || is_block_scaled<std::remove_cvref_t<T>>>;
template <class T>
using neither_a_writable_range_of_float_or_a_narrow_type_nor_blocks_of =
    fit<output<T> || is_block_scaled<std::remove_cvref_t<T>>>;
template <class T>
using neither_a_rounding_mode_of_ranges_a_scale_rule_nor_an_overflow_policy =
    fit<std::same_as<std::remove_cvref_t<T>, scale_rule> ||
        neither_a_rounding_mode_of_ranges_nor_an_overflow_policy<T>::value>;

inline namespace LOWP_UNIT {

/// Checks a block cast. `plain` has one element for each code, and may be the storage of the codes.
template <class Executor, class Blocks>
error_text check_blocks(Executor const& executor, extent const& plain, Blocks const& blocks) {
  extent const codes("codes", blocks.codes), scales("scales", blocks.scales);
  call_check check("block_cast");
  if (!blocks.invalid().empty()) check.add("block_cast: " + blocks.invalid());
  check.element_by_element(executor, {plain, codes});
  check.no_overlap(plain, scales);
  check.no_overlap(codes, scales);
  check.reachable(executor, {scales});
  return check.text();
}

}  // namespace LOWP_UNIT

template <class Executor, class In, class T, int Block, class R = nearest_even>
[[nodiscard]] LOWP_HOST_FN error_text block_cast_on(Executor const& executor, In&& in,
                                                    block_scaled<T, Block> const& out,
                                                    R rounding = {},
                                                    scale_rule rule = scale_rule::rceil,
                                                    overflow policy = overflow::saturate) {
  error_text wrong = check_blocks(executor, extent("in", in), out);
  if (!wrong.empty()) return wrong;
  auto to = operand_of<simd::access::write>(out, rounding, policy);
  to.rule = rule;
  executor(make<copy_element>{}, out.codes.size(), static_cast<simd::no_report*>(nullptr), to,
           operand_of<simd::access::read>(in));
  return {};
}
template <class Executor, class T, int Block, class Out, class R = nearest_even>
[[nodiscard]] LOWP_HOST_FN error_text
block_cast_from(Executor const& executor, block_scaled<T, Block> const& in, Out&& out,
                R rounding = {}, overflow policy = default_overflow<element_of<Out>>) {
  error_text wrong = check_blocks(executor, extent("out", out), in);
  if (!wrong.empty()) return wrong;
  executor(make<copy_element>{}, in.codes.size(), static_cast<simd::no_report*>(nullptr),
           operand_of<simd::access::write>(out, rounding, policy),
           operand_of<simd::access::read>(in));
  return {};
}

}  // namespace detail

}  // namespace lowp
