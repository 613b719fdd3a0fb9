// SPDX-License-Identifier: Apache-2.0
// Masks of attention scores, and the body of `scale_mask_softmax`.
#pragma once

#include <lowp/base/text.hpp>
#include <lowp/nn/softmax.hpp>
#include <lowp/ops/scaled_cast.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>

namespace lowp {

/// A mask whose rows serve several of the (batch, head, query) rows of scores. A mask of (batch,
/// query) rows has heads = heads and queries = queries. One of (batch) rows, for padded keys, has
/// queries = 1 and heads = heads * queries. If both are 0, all rows repeat, as (query) rows need.
///
/// Elements are bool or std::uint8_t, and not 0 if a score is masked. Or they are float or a narrow
/// type, and are added to the scaled score. A std::vector<bool> has no elements in memory: use
/// std::uint8_t. Rows begin `stride` elements apart, or follow each other if it is 0.
template <class T>
struct attention_mask {
  std::span<T const> elements;
  std::size_t queries = 0, heads = 0, stride = 0;
};
template <std::ranges::contiguous_range Mask>
attention_mask(Mask&&, std::size_t = 0, std::size_t = 0, std::size_t = 0)
    -> attention_mask<std::ranges::range_value_t<Mask>>;

/// A causal mask: query q of a sequence's last `queries` sees the keys up to its own. With as many
/// keys as queries, it masks column j of row q for j > q. With more, the last column is the last
/// query's.
struct causal_mask {
  std::size_t queries;
};

namespace detail {

template <class T>
inline constexpr bool is_flag = std::same_as<T, bool> || std::same_as<T, std::uint8_t>;

template <class T>
concept mask_element = is_flag<T> || element<T>;

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
  LOWP_FN std::size_t visible(std::size_t row, std::size_t columns) const {
    std::size_t const keys = row % queries + 1 + columns;  // and `queries` more
    return keys > queries ? keys - queries : 0;
  }
};

inline namespace LOWP_UNIT {

/// Returns the error text of a mask that does not fit the scores. Sets `queries` and `heads` if
/// both are 0.
inline error_text check_mask(char const* function, std::size_t rows, std::size_t mask_rows,
                             std::size_t& queries, std::size_t& heads) {
  if (rows == 0) return {};
  std::string const text = std::string(function) + ": mask has " + std::to_string(mask_rows) +
                           " rows, in has " + std::to_string(rows);
  if (queries == 0 && heads == 0) {
    if (mask_rows == 0 || rows % mask_rows != 0) return text + ", which is not a multiple";
    queries = mask_rows;
    heads = rows / mask_rows;
  } else if (queries == 0 || heads == 0 || mask_rows % queries != 0 || rows / heads != mask_rows ||
             rows % heads != 0) {
    return text + ": not (batch, " + std::to_string(heads) + " heads, " + std::to_string(queries) +
           " queries) over (batch, " + std::to_string(queries) + " queries)";
  }
  return {};
}

}  // namespace LOWP_UNIT

template <class Executor, class In, class T, class Out>
[[nodiscard]] LOWP_HOST_FN error_text scale_mask_softmax_on(Executor const& executor, In&& in,
                                                            attention_mask<T> mask, Out&& out,
                                                            std::size_t columns, float scale) {
  constexpr char const* name = "scale_mask_softmax";
  auto const read = as_rows(in, columns);
  auto const written = as_rows(out, columns);
  strided_rows<T const> const masks{mask.elements, mask.stride == 0 ? columns : mask.stride};
  row_extent const from("in", read, columns), hides("mask", masks, columns),
      to("out", written, columns);
  call_check check(name);
  check.add(not_rows(name, from));
  check.add(not_rows(name, hides));
  if (!check.failed()) check.add(check_mask(name, from.rows, hides.rows, mask.queries, mask.heads));
  check.add(check_scale(name, scale));
  check_row_by_row(check, executor, from, to);
  check.no_overlap(hides.all(), to.all());
  check.reachable(executor, {hides});
  if (check.failed()) return check.text();
  using score = std::conditional_t<is_flag<T>, flagged_score, biased_score>;
  using value = std::conditional_t<is_flag<T>, unsigned char, T>;
  using operand =
      std::conditional_t<is_flag<T>, simd::byte_operand, simd::operand<value, simd::access::read>>;
  run_rows(executor, softmax_rows<score>{{{scale}}}, written, to,
           std::tuple(row_operand_of<simd::access::read>(read),
                      simd::row_operand<operand, simd::row_repetition>{
                          {reinterpret_cast<value const*>(mask.elements.data())},
                          masks.stride,
                          {mask.queries, mask.heads}}));
  return {};
}
template <class Executor, class In, class Out>
[[nodiscard]] LOWP_HOST_FN error_text scale_mask_softmax_on(Executor const& executor, In&& in,
                                                            causal_mask mask, Out&& out,
                                                            std::size_t columns, float scale) {
  constexpr char const* name = "scale_mask_softmax";
  row_extent const from("in", as_rows(in, columns), columns);
  call_check check(name);
  check.add(check_scale(name, scale));
  check.add(not_rows(name, from));
  if (!check.failed() && (mask.queries == 0 || from.rows % mask.queries != 0))
    check.add(std::string(name) + ": in has " + std::to_string(from.rows) +
              " rows, which are not sequences of " + std::to_string(mask.queries) + " queries");
  if (check.failed()) return check.text();
  return row_map_on(executor, name, in, out, columns, causal_rows{{{scale}}, mask.queries});
}
template <class Executor, class In, std::ranges::contiguous_range Mask, class Out>
[[nodiscard]] LOWP_HOST_FN error_text scale_mask_softmax_on(Executor const& executor, In&& in,
                                                            Mask&& mask, Out&& out,
                                                            std::size_t columns, float scale) {
  return scale_mask_softmax_on(executor, in, attention_mask<element_of<Mask>>{std::span(mask)}, out,
                               columns, scale);
}

template <class M>
inline constexpr bool is_mask = false;
template <mask_element T>
inline constexpr bool is_mask<attention_mask<T>> = true;
template <>
inline constexpr bool is_mask<causal_mask> = true;
template <std::ranges::contiguous_range M>
inline constexpr bool is_mask<M> = mask_element<std::ranges::range_value_t<M>>;

}  // namespace detail

/// A mask of scores: an attention_mask, a contiguous range of its elements, or a causal_mask.
template <class M>
concept score_mask = detail::is_mask<std::remove_cvref_t<M>>;

}  // namespace lowp
