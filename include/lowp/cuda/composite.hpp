// SPDX-License-Identifier: Apache-2.0
// A storage whose values lie in several arrays, as a kernel operand: see simd/composite.hpp.
#pragma once

#include <lowp/cuda/accessor.hpp>
#include <lowp/storage/layout.hpp>

namespace lowp::cuda {

using simd::indexed;

template <class Indices, class Layout, class... Part>
struct composite_kernel_operand;

template <std::size_t... K, class Layout, class... Part>
struct composite_kernel_operand<std::index_sequence<K...>, Layout, Part...> : indexed<K, Part>... {
  using codec_type = typename Layout::template codec<std::uint32_t>;
  static constexpr bool is_collective = false, finds_scales = false, has_few_blocks = false,
                        has_keys = (Part::has_keys || ...);
  static constexpr std::uint64_t chunks_of_square = 1;
  static constexpr int parts = sizeof...(Part);
  static constexpr int bytes_read = (0 + ... + Part::bytes_read);
  static constexpr int bytes_written = most_written<Part...>;
  static constexpr bool permits_runs = (Part::permits_runs && ...);

  codec_type codec;

  composite_kernel_operand(auto const& o, detail::nans kind)
      : indexed<K, Part>{Part::of(simd::get<K>(o.parts), kind)}...,
        codec(o.layout, simd::get<Layout::rounded>(o.parts).rounding,
              simd::get<Layout::rounded>(o.parts).policy, kind) {}
};

template <bool IsComputed, class Hardware, int Rows, std::size_t... K, class Layout, class... Part>
class accessor<composite_kernel_operand<std::index_sequence<K...>, Layout, Part...>, IsComputed,
               Hardware, Rows> : indexed<K, accessor<Part, IsComputed, Hardware, Rows>>... {
  using operand_type = composite_kernel_operand<std::index_sequence<K...>, Layout, Part...>;
  template <std::size_t J>
  using part_kernel_operand = std::tuple_element_t<J, std::tuple<Part...>>;
  template <std::size_t J>
  using part = indexed<J, accessor<part_kernel_operand<J>, IsComputed, Hardware, Rows>>;
  static constexpr std::size_t rounded = Layout::rounded;

 public:
  static constexpr bool keeps_small = requires { requires Layout::holds_small; };

  LOWP_FN accessor(operand_type const& s, void* const* data, std::uint32_t number)
      : part<K>{{s.indexed<K, Part>::value, data + K, number}}..., operand_(s) {}

  template <int Width, class Thread>
  LOWP_FN void load(int pass, Thread const& thread, chunk_place first, int count) {
    (part<K>::value.template load<Width>(pass, thread, first, count), ...);
  }
  template <int Width, class Thread>
  LOWP_FN void store(Thread const& thread, chunk_place first, int count) const {
    (part<K>::value.template store<Width>(thread, first, count), ...);
  }

  /// Returns the value's own bits. They represent the code of a value that has several codes.
  LOWP_FN std::uint32_t code(int pass, int k) const { return lanes::bits(value(pass, k)); }
  LOWP_FN static float decoded(std::uint32_t code) { return lanes::from_bits<float>(code); }

  LOWP_FN void decode(auto const&, int pass, float (&x)[chunk_size]) const {
    LOWP_UNROLL_ON_GPU
    for (int k = 0; k < chunk_size; ++k) x[k] = value(pass, k);
  }

  LOWP_FN auto& keyed() { return part<rounded>::value; }
  LOWP_FN chunk_bits bits(std::uint64_t first) const { return part<rounded>::value.bits(first); }
  LOWP_FN void clear() { (part<K>::value.clear(), ...); }
  LOWP_FN void encode(auto const&, float const (&x)[chunk_size], std::uint64_t first, int,
                      auto const&) {
    if constexpr ((Part::is_written || ...)) {
      clear();
      chunk_bits const random = bits(first);
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k) set(k, x[k], random(k));
    }
  }
  LOWP_FN detail::encoded<std::uint32_t, bool> set(int k, float x, std::uint32_t random) {
    std::uint32_t codes[sizeof...(K)];
    bool const overflowed = operand_.codec.encode(
        x, random, mode_of(operand_.indexed<rounded, part_kernel_operand<rounded>>::value.rounding),
        codes);
    (part<K>::value.set_code(k, codes[K]), ...);
    return {lanes::bits(detail::written_value<float>(operand_.codec, codes)), overflowed};
  }
  LOWP_FN float written(int k) const {
    std::uint32_t const codes[] = {part<K>::value.written_code(k)...};
    return detail::written_value<float>(operand_.codec, codes);
  }
  LOWP_FN bool may_be_nonfinite() const {
    if constexpr (requires { operand_.codec.is_finite_with_code(); })
      if (operand_.codec.is_finite_with_code()) return part<0>::value.may_be_nonfinite();
    return true;
  }

 private:
  LOWP_FN float value(int pass, int k) const {
    if constexpr ((Part::is_read || ...)) {
      std::uint32_t const codes[] = {(Layout::reads(K) ? part<K>::value.code(pass, k) : 0)...};
      return operand_.codec.template decode<float>(codes);
    } else {
      return 0;
    }
  }

  operand_type const& operand_;
};

}  // namespace lowp::cuda
