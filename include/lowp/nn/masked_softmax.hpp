// SPDX-License-Identifier: Apache-2.0
// scale_mask_softmax: scale, mask and softmax of attention scores in one pass over memory.
#pragma once

#include <lowp/format/math.hpp>
#include <lowp/nn/softmax.hpp>

namespace lowp {

/// A type for an additive mask. A quarter of its range far exceeds every x whose e^-x is not 0.
template <class T>
concept maskable =
    element<T> && std::numeric_limits<T>::is_signed &&
    (std::same_as<T, float> || std::numeric_limits<T>::max_exponent >= 9);  // as <limits> counts it

/// The value that masks: -3/4 of the largest finite value, rounded toward zero; -49120 in float16.
/// Adding a score of at most a quarter of the range does not overflow. The softmax of a masked
/// score is 0 beside a score that is not masked.
///
/// The smallest finite value, a common choice, has no room: in float16 -65504 - 16 is -infinity,
/// and a row of those is NaN (huggingface/transformers, pull request 17306).
template <maskable T>
inline constexpr T mask_value =
    convert<T>(-0.75 * static_cast<double>(std::numeric_limits<T>::max()), toward_zero{});

/// A mask whose rows serve several of the (batch, head, query) rows of scores. A mask of (batch,
/// query) rows has heads = heads and queries = queries. One of (batch) rows, for padded keys, has
/// queries = 1 and heads = heads * queries. If both are 0, all rows repeat, as (query) rows need.
///
/// A bool or std::uint8_t is not 0 if its score is masked: the opposite of attn_mask in PyTorch's
/// scaled_dot_product_attention. A float or narrow value is added to the scaled score. Rows begin
/// `stride` elements apart, or follow each other if it is 0.
template <class T>
struct attention_mask {
  std::span<T const> elements;
  std::size_t queries = 0, heads = 0, stride = 0;
};
template <std::ranges::contiguous_range Mask>
attention_mask(Mask&&, std::size_t = 0, std::size_t = 0, std::size_t = 0)
    -> attention_mask<std::ranges::range_value_t<Mask>>;

/// A causal mask: query q of a sequence's last `queries` sees the keys up to its own. The last
/// column is the last query's. With as many keys as queries, column j of row q is masked for j > q.
struct causal_mask {
  std::size_t queries;
};

namespace detail {

template <class T>
inline constexpr bool is_flag = std::same_as<T, bool> || std::same_as<T, std::uint8_t>;

struct scaled_score {
  float scale;
  template <class F>
  LOWP_FN F operator()(F const& x) const {
    return lanes::mul(x, lanes::broadcast<F>(scale));
  }
};
/// The mask is a byte.
struct flagged_score : scaled_score {
  template <class F>
  LOWP_FN F operator()(F const& x, F const& mask) const {
    return lanes::select(lanes::equal(lanes::bits(mask), lanes::broadcast<lanes::word<F>>(0)),
                         scaled_score::operator()(x), neutral<F>(fold::maximum{}));
  }
};
struct biased_score : scaled_score {
  template <class F>
  LOWP_FN F operator()(F const& x, F const& mask) const {
    return lanes::fma(x, lanes::broadcast<F>(scale), mask);
  }
};

struct causal_rows : softmax_rows<scaled_score> {
  std::size_t queries;

  [[nodiscard]] LOWP_HOST_FN error_text check(char const* function, row_extent const& in) const {
    if (queries == 0 || in.rows % queries != 0)
      return joined_text({function, ": in has ", in.rows, " rows, which are not sequences of ",
                          queries, " queries"});
    return softmax_rows<scaled_score>::check(function, in);
  }
  LOWP_FN std::size_t visible(std::size_t row, std::size_t columns) const {
    std::size_t const keys = row % queries + 1 + columns;  // and `queries` more
    return keys > queries ? keys - queries : 0;
  }
};

template <class T>
  requires(is_flag<T> || element<T>)
LOWP_HOST_FN auto scores_for(attention_mask<T> const&, float scale) {
  return softmax_rows<std::conditional_t<is_flag<T>, flagged_score, biased_score>>{{{scale}}};
}

/// A mask's rows, each of which serves several rows of scores.
template <class Operand>
struct mask_role : row_role<row_use::score, Operand> {
  [[nodiscard]] LOWP_HOST_FN error_text check(char const* function, row_extent const& in) const {
    std::uint64_t const rows = this->range.rows, queries = this->operand.rows.period,
                        heads = this->operand.rows.repeats;
    if (in.rows == 0 || (queries != 0 && heads != 0 && rows % queries == 0 &&
                         in.rows / heads == rows && in.rows % heads == 0))
      return {};
    error_text const why = joined_text({function, ": mask has ", rows, " rows, in has ", in.rows});
    if (queries == 0 && heads == 0)
      return joined_text({why,
                          ", which is not a multiple: a mask has a row for each query, or is an "
                          "attention_mask{elements, queries, heads}"});
    return joined_text({why, ": not (batch, ", heads, " heads, ", queries,
                        " queries) over (batch, ", queries, " queries)"});
  }
};
template <class T>
LOWP_HOST_FN auto read_mask(attention_mask<T> const& mask, row_extent const& in) {
  using value = std::conditional_t<is_flag<T>, unsigned char, T>;
  using operand =
      std::conditional_t<is_flag<T>, simd::byte_operand, simd::operand<value, simd::access::read>>;
  strided_rows<T const> const masks{mask.elements, mask.stride == 0 ? in.columns : mask.stride};
  row_extent const range("mask", masks, in.columns);
  simd::row_repetition repetition{mask.queries, mask.heads};
  if (mask.queries == 0 && mask.heads == 0 && range.rows != 0 && in.rows % range.rows == 0)
    repetition = {range.rows, in.rows / range.rows};
  return mask_role<simd::row_operand<operand, simd::row_repetition>>{
      {range, {{reinterpret_cast<value const*>(mask.elements.data())}, masks.stride, repetition}}};
}

}  // namespace detail

/// A mask of scores: an attention_mask, a contiguous range of its elements, or a causal_mask.
template <class M>
concept score_mask = std::same_as<std::remove_cvref_t<M>, causal_mask> ||
                     requires(M& mask) { detail::scores_for(attention_mask{mask}, 1.0f); };

namespace detail {

template <class T>
using neither_an_array_of_bool_uint8_or_numbers_to_add_nor_attention_mask_nor_causal_mask =
    fit<score_mask<T>>;

/// Computes softmax of scale * in without masked scores, as softmax. A row of these gives zeros.
///
/// A score that is masked by a flag or causally may be anything, NaN included. An additive mask
/// joins in the fused multiply-add that scales. The product with `scale` is exact for a power of
/// two. Beyond the range of float it is infinite: see softmax.
///
/// @param mask   see attention_mask and causal_mask
/// @param scale  finite and not 0
template <class Executor>
struct scale_mask_softmax_operation : operation<Executor> {
  using calls = call<
      needs_row_input<names::in>,
      needs<names::mask,
            neither_an_array_of_bool_uint8_or_numbers_to_add_nor_attention_mask_nor_causal_mask>,
      needs_row_output<names::out>, needs_number<names::columns>, needs_number<names::scale>>;

  template <row_input In, score_mask Mask, row_output Out>
  LOWP_HOST_FN void operator()(In&& in, Mask&& mask, Out&& out, std::size_t columns,
                               float_argument scale) const {
    constexpr char const* name = "scale_mask_softmax";
    auto const from = read_rows("in", in, columns);
    auto const to = write_rows("out", out, columns);
    if constexpr (std::same_as<std::remove_cvref_t<Mask>, causal_mask>) {
      run_rows(this->executor, name, causal_rows{{{scale.value}}, mask.queries}, from, to);
    } else {
      attention_mask const all{mask};
      run_rows(this->executor, name, scores_for(all, scale.value), from, read_mask(all, from.range),
               to);
    }
  }
};

}  // namespace detail

}  // namespace lowp

LOWP_ON_THIS_THREAD(scale_mask_softmax)

namespace lowp::simd {
#define LOWP_COMPILED_CAUSAL(part, T) \
  LOWP_COMPILED_CALL(part, compiled_row_call<detail::causal_rows, T>)
LOWP_COMPILED_SOFTMAXES(LOWP_COMPILED_CAUSAL)
#undef LOWP_COMPILED_CAUSAL
}  // namespace lowp::simd
