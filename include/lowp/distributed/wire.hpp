// SPDX-License-Identifier: Apache-2.0
// Formats of gradients between ranks. A value is rounded once, by its sender. The owner of a shard
// adds in float, so no sum is rounded to the format of the wire.
#pragma once

#include <lowp/base/text.hpp>
#include <lowp/interop/dtypes.hpp>
#include <lowp/ops/fused_add.hpp>
#include <lowp/ops/scaled_cast.hpp>

namespace lowp {

namespace detail {

template <class R>
constexpr R rounding_from(R const& rounding, std::uint64_t index) {
  if constexpr (R::is_stochastic)
    return rounding.after(index);
  else
    return rounding;
}

template <class R>
inline constexpr char const* rounding_name = std::same_as<R, nearest_even>      ? "nearest_even"
                                             : std::same_as<R, nearest_away>    ? "nearest_away"
                                             : std::same_as<R, toward_zero>     ? "toward_zero"
                                             : std::same_as<R, upward>          ? "upward"
                                             : std::same_as<R, downward>        ? "downward"
                                             : std::same_as<R, to_odd>          ? "to_odd"
                                             : std::same_as<R, stochastic>      ? "stochastic"
                                             : std::same_as<R, stochastic_fast> ? "stochastic_fast"
                                                                                : nullptr;

/// Returns a mode's name and random bits. The increments of a program's mode are its name.
template <class R>
std::string text_of_rounding(R const& rounding) {
  std::string text;
  if constexpr (rounding_name<R> != nullptr) {
    text = rounding_name<R>;
  } else {
    text = "rounding";
    for (bool negative : {false, true}) {
      for (std::uint32_t odd : {0u, 1u})
        text += " " + text_of(rounding.template increment<31>(odd, negative, std::uint32_t{0}));
      text += rounding.inward(negative) ? " in" : " out";
    }
  }
  if constexpr (R::is_stochastic)
    text += " of seed " + text_of(rounding.seed) + ", stream " + text_of(rounding.stream) +
            ", offset " + text_of(rounding.offset);
  return text;
}

template <class T>
std::string text_of_type() {
  if constexpr (has_dtype_codes<T>) {
    return std::string(dtype_table::of<T>.numpy);
  } else {
    constexpr format f = T::descriptor;
    return "format " + text_of(f.exponent_bits) + " " + text_of(f.significand_bits) + " " +
           text_of(f.bias) + " " + text_of(static_cast<int>(f.special_values)) +
           (f.has_sign ? "" : " u");
  }
}

/// The words that must agree on all ranks: a wire's format, scale, rounding and random bits. They
/// are text, so that an error shows them, and have one size, so that a message carries them.
using wire_words = std::array<char, 192>;

inline wire_words words_of(std::string const& text) {
  wire_words words{};
  text.copy(words.data(), words.size() - 1);
  return words;
}

}  // namespace detail

/// Values of T with one scale for all: code = round(x * scale), total += code / scale. A value
/// beyond the range of T becomes infinite or NaN, so that the total shows it.
template <element T, span_rounding R = nearest_even>
struct wire_format {
  R rounding{};
  float scale = 1;

  static constexpr std::uint64_t bytes(std::uint64_t n) { return n * sizeof(T); }
  [[nodiscard]] detail::wire_words words() const {
    return detail::words_of(detail::text_of_type<T>() + ", scale " + detail::text_of(scale) + ", " +
                            detail::text_of_rounding(rounding));
  }
  [[nodiscard]] std::string invalid() const { return detail::check_power_of_two(scale); }

  template <class Executor, class In>
  void encode(Executor const& executor, In const& in, std::byte* out, std::uint64_t index) const {
    detail::scaled_cast_operation<Executor>{{executor}}(
        in, std::span(reinterpret_cast<T*>(out), in.size()), scale,
        detail::rounding_from(rounding, index), overflow::infinity);
  }
  template <class Executor>
  void add(Executor const& executor, std::byte* in, std::span<float> total, bool is_first) const {
    std::span<T const> const codes(reinterpret_cast<T*>(in), total.size());
    float const reciprocal = detail::inverse_of_scale(scale);
    if (is_first)
      detail::scaled_cast_operation<Executor>{{executor}}(codes, total, reciprocal);
    else
      detail::fused_add_operation<Executor>{{executor}}(total, reciprocal, codes);
  }
};

/// Codes of T with a power of two for each block: block_scaled. Infinity or NaN makes a block NaN.
template <scalable T, int Block, span_rounding R = nearest_even>
struct block_wire_format {
  R rounding{};

  static constexpr std::uint64_t bytes(std::uint64_t n) {
    return n + block_scaled<T, Block>::blocks(n);
  }
  [[nodiscard]] detail::wire_words words() const {
    return detail::words_of(detail::text_of_type<T>() + " in blocks of " + detail::text_of(Block) +
                            ", " + detail::text_of_rounding(rounding));
  }
  [[nodiscard]] std::string invalid() const { return {}; }

  template <class Executor, class In>
  void encode(Executor const& executor, In const& in, std::byte* out, std::uint64_t index) const {
    detail::block_cast_operation<Executor>{{executor}}(in, in_place(out, in.size()),
                                                       detail::rounding_from(rounding, index),
                                                       scale_rule::rceil, overflow::saturate);
  }
  template <class Executor>
  void add(Executor const& executor, std::byte* in, std::span<float> total, bool is_first) const {
    auto const blocks = in_place(in, total.size());
    if (is_first)
      detail::block_cast_operation<Executor>{{executor}}(blocks, total, nearest_even{},
                                                         overflow::infinity);
    else
      detail::fused_add_operation<Executor>{{executor}}(total, 1.0f, blocks);
  }

 private:
  static_assert(sizeof(T) == 1);
  static block_scaled<T, Block> in_place(std::byte* at, std::size_t n) {
    return blocks_of<Block>(
        std::span(reinterpret_cast<T*>(at), n),
        std::span(reinterpret_cast<float8_e8m0fnu*>(at + n), block_scaled<T, Block>::blocks(n)));
  }
};

namespace functions {

/// Makes a wire of T: `wire<bfloat16>()`, `wire<bfloat16>(stochastic{...})`,
/// `wire<float8_e5m2>(nearest_even{}, scale)`. The scale is a power of two, the same on all ranks.
template <element T, span_rounding R = nearest_even>
constexpr wire_format<T, R> wire(R rounding = {}, float scale = 1) {
  return {rounding, scale};
}
/// Makes a wire with a scale for every Block elements: `block_wire<float8_e4m3fn>()` is MXFP8.
template <scalable T, int Block = 32, span_rounding R = nearest_even>
constexpr block_wire_format<T, Block, R> block_wire(R rounding = {}) {
  return {rounding};
}

}  // namespace functions

}  // namespace lowp
