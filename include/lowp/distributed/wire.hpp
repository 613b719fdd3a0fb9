// SPDX-License-Identifier: Apache-2.0
// Formats of gradients between ranks. A value is rounded once, by its sender. The owner of a shard
// adds in float, so no sum is rounded to the format of the wire.
#pragma once

#include <lowp/ops/arguments.hpp>
#include <lowp/ops/block_cast.hpp>
#include <lowp/ops/fused_add.hpp>
#include <lowp/ops/scaled_cast.hpp>
#include <lowp/storage/block_scaled.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

namespace lowp {

namespace detail {

/// Returns `rounding` for the elements that begin at `index`.
template <class R>
constexpr R rounding_from(R const& rounding, std::uint64_t index) {
  if constexpr (R::is_stochastic)
    return rounding.after(index);
  else
    return rounding;
}

/// The numbers that must agree on all ranks: a wire's format, scale and random bits.
using wire_identity = std::array<std::uint64_t, 5>;

template <class T, class R>
constexpr wire_identity identity_of(int block, float scale, R const& rounding) {
  wire_identity id{sizeof(T), static_cast<std::uint64_t>(block),
                   std::bit_cast<std::uint32_t>(scale)};
  if constexpr (narrow<T>)
    id[0] |= std::uint64_t{T::descriptor.code_mask()} << 32 |
             std::uint64_t{T::descriptor.nan_code()} << 16 |
             static_cast<std::uint64_t>(T::descriptor.significand_bits) << 8;
  if constexpr (R::is_stochastic) {
    id[3] = rounding.seed ^ rounding.offset << 1;
    id[4] = rounding.stream;
  }
  return id;
}

}  // namespace detail

/// Values of T with one scale for all: code = round(x * scale), total += code / scale. A value
/// beyond the range of T becomes infinite or NaN, so that the total shows it.
template <element T, span_rounding R = nearest_even>
struct wire_format {
  R rounding{};
  float scale = 1;

  using value_type = T;
  static constexpr std::uint64_t bytes(std::uint64_t n) { return n * sizeof(T); }
  [[nodiscard]] detail::wire_identity identity() const {
    return detail::identity_of<T>(1, scale, rounding);
  }
  /// Returns the error text of a scale other than a power of two with a normal reciprocal.
  [[nodiscard]] std::string invalid() const {
    std::uint32_t const bits = std::bit_cast<std::uint32_t>(scale);
    std::uint32_t const exponent = bits >> 23;
    if ((bits & 0x7fffff) == 0 && exponent >= 1 && exponent <= 253) return {};
    return "scale is " + detail::text_of(scale) + ", not a power of two from 2^-126 to 2^126";
  }

  template <class Executor, class In>
  void encode(Executor const& executor, In const& in, std::byte* out, std::uint64_t index) const {
    executor.refuse_if(detail::scaled_cast_on(
        executor, in, std::span(reinterpret_cast<T*>(out), in.size()), detail::make_scaling{scale},
        detail::rounding_from(rounding, index), overflow::infinity));
  }
  template <class Executor>
  void add(Executor const& executor, std::byte* in, std::span<float> total, bool is_first) const {
    std::span<T const> const codes(reinterpret_cast<T*>(in), total.size());
    float const reciprocal =
        std::bit_cast<float>((254u << 23) - std::bit_cast<std::uint32_t>(scale));
    if (is_first)
      executor.refuse_if(
          detail::scaled_cast_on(executor, codes, total, detail::make_scaling{reciprocal}));
    else
      executor.refuse_if(
          detail::fused_add_on(executor, total, detail::make_scaled_addition{reciprocal}, codes));
  }
};

/// Codes of T with a power of two for every Block elements: block_scaled. A block with an infinity
/// or NaN becomes NaN, so that the total shows it.
template <scalable T, int Block, span_rounding R = nearest_even>
struct block_wire_format {
  R rounding{};

  using value_type = T;
  static constexpr std::uint64_t bytes(std::uint64_t n) {
    return n + block_scaled<T, Block>::blocks(n);
  }
  [[nodiscard]] detail::wire_identity identity() const {
    return detail::identity_of<T>(Block, 1, rounding);
  }
  [[nodiscard]] std::string invalid() const { return {}; }

  template <class Executor, class In>
  void encode(Executor const& executor, In const& in, std::byte* out, std::uint64_t index) const {
    executor.refuse_if(detail::block_cast_on(executor, in, in_place(out, in.size()),
                                             detail::rounding_from(rounding, index),
                                             scale_rule::rceil, overflow::saturate));
  }
  template <class Executor>
  void add(Executor const& executor, std::byte* in, std::span<float> total, bool is_first) const {
    auto const blocks = in_place(in, total.size());
    if (is_first)
      executor.refuse_if(
          detail::block_cast_from(executor, blocks, total, nearest_even{}, overflow::infinity));
    else
      executor.refuse_if(
          detail::fused_add_on(executor, total, detail::make_scaled_addition{1.0f}, blocks));
  }

 private:
  static_assert(sizeof(T) == 1);
  static block_scaled<T, Block> in_place(std::byte* at, std::size_t n) {
    return blocks_of<Block>(
        std::span(reinterpret_cast<T*>(at), n),
        std::span(reinterpret_cast<float8_e8m0fnu*>(at + n), block_scaled<T, Block>::blocks(n)));
  }
};

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

}  // namespace lowp
