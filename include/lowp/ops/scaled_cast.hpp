// SPDX-License-Identifier: Apache-2.0
// Casts with a scale for all elements, and with one for each block.
#pragma once

#include <lowp/ops/cast.hpp>
#include <lowp/ops/number.hpp>
#include <lowp/ops/storage_operands.hpp>
#include <lowp/report/amax.hpp>

namespace lowp {

/// Optional arguments of `block_cast` to blocks.
struct block_cast_options {
  std::size_t columns = 0;  ///< of a matrix, in rows; a row that is no whole blocks is refused
  scale_rule rule = scale_rule::rceil;
  lowp::overflow overflow = lowp::overflow::saturate;
};

namespace detail {

template <class T>
using neither_an_amax_a_rounding_mode_of_ranges_nor_an_overflow_policy =
    fit<std::same_as<T, amax&> ||
        neither_a_rounding_mode_of_ranges_nor_an_overflow_policy<T>::value>;

/// Converts with a scale: out[i] = round(in[i] * scale). One multiplication in float, rounded to
/// nearest even, then one rounding to the format of `out`. The product is exact if the scale is a
/// power of two and the product normal. A NaN result is the canonical one.
///
/// @param scale    finite and not 0, also as a float
/// @param largest  optional; merges the largest |in[i]| in the same pass, without NaN
template <class Executor>
struct scaled_cast_operation : operation<Executor> {
  using calls =
      call<needs<names::in, neither_a_range_of_float_or_a_narrow_type_nor_packed>,
           needs<names::out, neither_a_lasting_writable_range_of_float_or_a_narrow_type_nor_packed>,
           needs<names::scale, not_a_number_to_scale_by>,
           may_have<3, names::largest_rounding_or_overflow,
                    neither_an_amax_a_rounding_mode_of_ranges_nor_an_overflow_policy>>;

  template <any_input In, any_output Out, number_argument Scale, range_rounding R = nearest_even>
  LOWP_HOST_FN void operator()(In&& in, Out&& out, Scale scale, R rounding = {},
                               overflow policy = default_overflow<element_of<Out>>) const {
    run(this->executor, "scaled_cast", make_of<scaling>(scale), no_report,
        write("out", out, rounding, policy), read("in", in));
  }
  template <any_input In, any_output Out, number_argument Scale, range_rounding R = nearest_even>
  LOWP_HOST_FN void operator()(In&& in, Out&& out, Scale scale, amax& largest, R rounding = {},
                               overflow policy = default_overflow<element_of<Out>>) const {
    run(this->executor, "scaled_cast", make_of<scaling>(scale), &largest,
        write("out", out, rounding, policy), read("in", in));
  }
};

template <class S>
inline constexpr bool is_block_scaled = false;
template <class T, int Block>
inline constexpr bool is_block_scaled<block_scaled<T, Block>> = true;

template <class T>
using neither_a_range_of_float_or_a_narrow_type_nor_blocks_of =
    fit<any_input<T> || is_block_scaled<std::remove_cvref_t<T>>>;
template <class T>
using neither_a_writable_range_of_float_or_a_narrow_type_nor_blocks_of =
    fit<any_output<T> || is_block_scaled<std::remove_cvref_t<T>>>;
template <class T>
using neither_a_rounding_mode_of_ranges_a_scale_rule_an_overflow_policy_nor_options =
    fit<one_of<std::remove_cvref_t<T>, scale_rule, block_cast_options> ||
        neither_a_rounding_mode_of_ranges_nor_an_overflow_policy<T>::value>;

/// Codes and scales that are arguments of their own, and the rule for new scales.
template <class T, int Block>
struct named_blocks : block_scaled<T, Block> {
  static constexpr char const* names[] = {"codes", "scales"};
  scale_rule rule = scale_rule::rceil;
};

/// Converts to blocks of codes:
///
///     scales[b]  by `rule` from the largest |in[i]| of block b; 2^-127 if all are zero; NaN if one
///                is infinite or NaN: then the codes are NaN, or negative zero if T has no NaN
///     codes[i]   round(in[i] * (1 / scales[b])), the product rounded to nearest even in float
///
/// and back: out[i] = round(codes[i] * scales[i / Block]).
///
/// The first product is exact if the code is normal and the product at least 2^-126. The second is
/// exact unless it is subnormal or beyond the range of float. A number that rounds up to 2^128, as
/// 3e38 does in float4_e2m1fn, reads back as infinity. With the default rule no element
/// saturates. An element that is small beside the largest of its block may become zero. MX proper
/// has Block 32 and T float8_e5m2, float8_e4m3fn, float6_e3m2fn, float6_e2m3fn or float4_e2m1fn.
/// scale_rule::floor gives the scales of the specification's 6.3.
///
/// Ranges are flat. Without options.columns, a block may begin in one row of a matrix and end in
/// the next. Both rows then share its scale.
///
/// @param in, out   n elements, and blocks_of<Block>(codes, scales): n codes and a scale for each
///                  block. The last block may be short. Codes may be the storage of the elements if
///                  these have equal size
/// @param policy    overflow of the codes, if a floored scale is too small
/// @param options   block_cast_options after the rounding, in place of a rule and a policy
template <class Executor>
struct block_cast_operation : operation<Executor> {
  using calls =
      call<needs<names::in, neither_a_range_of_float_or_a_narrow_type_nor_blocks_of>,
           needs<names::out, neither_a_writable_range_of_float_or_a_narrow_type_nor_blocks_of>,
           may_have<3, names::rounding_scale_rule_overflow_or_options,
                    neither_a_rounding_mode_of_ranges_a_scale_rule_an_overflow_policy_nor_options>>;

  template <any_input In, class T, int Block, range_rounding R = nearest_even>
    requires(block_scaled<T, Block>::is_written)
  LOWP_HOST_FN void operator()(In&& in, block_scaled<T, Block> const& out, R rounding = {},
                               scale_rule rule = scale_rule::rceil,
                               overflow policy = overflow::saturate) const {
    named_blocks<T, Block> const blocks{out, rule};
    run(this->executor, "block_cast", make<copy_element>{}, no_report,
        write("", blocks, rounding, policy), read("in", in));
  }
  template <any_input In, class T, int Block, range_rounding R>
    requires(block_scaled<T, Block>::is_written)
  LOWP_HOST_FN void operator()(In&& in, block_scaled<T, Block> const& out, R rounding,
                               block_cast_options const& options) const {
    std::size_t const columns = options.columns, size = out.codes.size();
    if (columns != 0 && (columns % Block != 0 || size % columns != 0))
      return this->executor.refuse_if(
          joined_text({name_on(this->executor, "block_cast"), ": ", size, " elements in rows of ",
                       columns, " are no whole blocks of ", std::uint64_t{Block}}));
    (*this)(in, out, rounding, options.rule, options.overflow);
  }
  template <class T, int Block, any_output Out, range_rounding R = nearest_even>
  LOWP_HOST_FN void operator()(block_scaled<T, Block> const& in, Out&& out, R rounding = {},
                               overflow policy = default_overflow<element_of<Out>>) const {
    named_blocks<T, Block> const blocks{in};
    run(this->executor, "block_cast", make<copy_element>{}, no_report,
        write("out", out, rounding, policy), read("", blocks));
  }
};

}  // namespace detail

}  // namespace lowp

LOWP_ON_THIS_THREAD(scaled_cast)
LOWP_ON_THIS_THREAD(block_cast)
