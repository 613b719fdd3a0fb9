// SPDX-License-Identifier: Apache-2.0
// An operand with a scale for each block or square tile, whose threads find its largest magnitude.
#pragma once

#include <lowp/cuda/block_scales.hpp>

namespace lowp::cuda {

/// A block is a whole number of chunks. Their threads are neighbours in a warp, because a pass is a
/// whole number of blocks.
template <int Block, class Codes, class Rule, bool IsComputed, class Hardware, int Rows>
class accessor<blocked_kernel_operand<Block, Codes, Rule>, IsComputed, Hardware, Rows>
    : public block_scales<Block, Codes, Rule, Rows> {
  using base = block_scales<Block, Codes, Rule, Rows>;
  using base::has_tiles, base::has_own_codes, base::pairs, base::operand_, base::scale_,
      base::largest_, base::factor_, base::needs_rule_, base::rule_of;
  using typename base::operand_type, typename base::scale_type, typename base::word,
      typename base::tables;
  using code_accessor = accessor<Codes, IsComputed, Hardware, Rows>;

 public:
  static constexpr bool keeps_small = false;  // the block's other threads may have a large one

  LOWP_FN accessor(operand_type const& s, void* const* data, std::uint32_t number)
      : base(s, data[1]), codes_(s.codes, data, number) {}

  template <int Width, class Thread>
  LOWP_FN void load(int pass, Thread const& thread, chunk_place first, int count) {
    codes_.template load<Width>(pass, thread, first, count);
    LOWP_UNROLL_ON_GPU
    for (unsigned i = 0; i < pairs; ++i) {
      if (!Codes::is_read || count == 0) continue;
      unsigned const more = i * chunk_size / pairs * warp_threads_of(thread);
      scale_[pass][i] = i * runs_of(Width) % pairs != 0
                            ? scale_[pass][i - 1]
                            : thread.template read<word>(base::scale_at(first, more));
    }
  }
  LOWP_FN void decode(auto const& thread, int pass, float (&x)[chunk_size]) const {
    auto const scale = [&](int k) { return __builtin_bit_cast(scale_type, scale_[pass][k / 2]); };
    if constexpr (has_own_codes) {
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k)
        x[k] = operand_.rule.decode_code(codes_.code(pass, k), scale(k), tables::of(thread));
    } else {
      codes_.decode(thread, pass, x);
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k) x[k] = operand_.rule.decode(x[k], scale(k));
    }
  }

  LOWP_FN auto& keyed() { return codes_; }

  /// `tensor` has `numbers` and `counts`, for a rule that has tiles. Elements after the last one
  /// are zeros then, or the smallest of a format without zero.
  LOWP_FN void encode(auto const& thread, float const (&x)[chunk_size], std::uint64_t first,
                      int count, auto const& tensor) {
    if constexpr (Codes::is_written) {
      largest_[0] = largest_of(x, has_tiles ? chunk_size : count);
      base::template find_scales<1>(
          thread, 0, x, [&](int) { return chunk_place(first); }, [&](int) { return count != 0; },
          tensor);
      needs_rule_ = base::template needs_rule<1>(tensor);
      round(thread, 0, x, signs_of(x), first, count, tensor);
    }
  }

  /// Encodes a pass's chunk by the scale that was found.
  LOWP_FN void encode_found(auto const& thread, int pass, float const (&x)[chunk_size],
                            auto const& from, std::uint64_t first, int count, auto const& tensor) {
    if constexpr (encodes_nibbles && requires { from.signs(pass); })
      round(thread, pass, x, from.signs(pass), first, count, tensor);
    else
      round(thread, pass, x, signs_of(x), first, count, tensor);
  }

  // Return the value to which an element was encoded, and false if all of them are finite.
  LOWP_FN float written(int k) const {
    if constexpr (has_own_codes)
      return operand_.rule.decode_code(codes_.written_code(k), written_scale());
    else
      return operand_.rule.decode(codes_.written(k), written_scale());
  }
  LOWP_FN bool may_be_nonfinite() const { return !operand_.rule.stores_finite(written_scale()); }

  template <int Width, class Thread>
  LOWP_FN void store(Thread const& thread, chunk_place first, int count) const {
    if constexpr (Codes::is_written) codes_.template store<Width>(thread, first, count);
  }

 private:
  // Faster ways from scaled elements to codes than the rule's own.
  static constexpr bool is_to_nearest =
      std::same_as<mode_type<typename Codes::rounding_type>, nearest_even>;
  static constexpr bool is_packed = !std::same_as<typename Codes::order, simd::unpacked>;
  static constexpr bool encodes_plainly =
      !code_accessor::encodes && requires(Rule rule, float x) { rule.is_plain(lanes::bits(x), x); };
  static constexpr bool encodes_nibbles =
      encodes_plainly && is_packed && detail::has_nibbles<Codes::type::descriptor, std::uint32_t> &&
      (is_to_nearest || detail::draws_bits<mode_type<typename Codes::rounding_type>>);
  // By one instruction for two.
  static constexpr bool converts_nibbles =
      encodes_plainly && is_packed && is_to_nearest &&
      requires(float const (&x)[std::size_t{chunk_size}]) {
        Hardware::nibbles(std::type_identity<typename Codes::type>{}, x);
      };

  template <class F>
  LOWP_FN static auto signs_of([[maybe_unused]] F const (&x)[chunk_size]) {
    if constexpr (encodes_nibbles)
      return detail::signs_for_nibbles(x);
    else
      return 0;
  }
  template <class F>
  LOWP_FN static F without_sign_for_nibbles(F const& x) {
    if constexpr (encodes_nibbles && !converts_nibbles)
      return lane<F>::absolute(x);
    else
      return x;
  }
  LOWP_FN scale_type written_scale() const { return __builtin_bit_cast(scale_type, scale_[0][0]); }
  LOWP_FN void round(auto const& thread, int pass, float const (&x)[chunk_size], auto const& signs,
                     std::uint64_t first, int count, auto const& tensor) {
    Rule const rule = rule_of(tensor);
    float const factor = factor_[pass];
    auto const& rounding = mode_of(operand_.codes.rounding);
    // Tables have no place for a larger one than the largest.
    auto const present = [&](int k) { return !tables::exist || k < count ? x[k] : 0; };
    if (tables::exist ? thread.any_of_warp(needs_rule_) : needs_rule_) {
      chunk_bits const random = codes_.bits(first);
      struct element {
        float x;
        std::uint32_t random_or_code;
      } each[chunk_size];
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k) each[k] = {present(k), random(k)};
      // Few chunks come here, so they share one text.
      LOWP_KEEP_LOOP
      for (int k = 0; k < chunk_size; ++k) {
        auto& [x_k, random_or_code] = each[k];
        auto const result =
            rule.encode(x_k, factor, random_or_code, rounding, operand_.codes.results);
        random_or_code = result.code;
        if constexpr (has_tiles) rule.count_elements(tensor.counts, k < count && result.overflowed);
      }
      codes_.clear();
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k) codes_.set_code(k, each[k].random_or_code);
      return;
    }
    if constexpr (tables::exist) {  // to nearest, and the divisor permits the factor
      detail::block_divisor const divisor(factor);
      codes_.clear();
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k)
        codes_.set_code(k, Rule::encode_plain(present(k), divisor, tables::of(thread)));
      return;
    }
    float scaled[chunk_size];
    bool divides = false;
    if constexpr (requires { rule.divides(); }) divides = rule.divides();
    if (divides) {
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k)
        scaled[k] = lanes::div(without_sign_for_nibbles(x[k]), factor);
    } else {
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k)
        scaled[k] = lanes::mul(without_sign_for_nibbles(x[k]), factor);
    }
    if constexpr (converts_nibbles) {
      codes_.set_nibbles(Hardware::nibbles(std::type_identity<typename Codes::type>{}, scaled));
    } else if constexpr (encodes_nibbles) {
      codes_.set_nibbles(detail::encode_nibbles<Codes::type::descriptor>(scaled, signs, rounding,
                                                                         codes_.bits(first)));
    } else if constexpr (encodes_plainly) {
      chunk_bits const random = codes_.bits(first);
      codes_.clear();
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k)
        codes_.set_code(k,
                        rule.encode_scaled(scaled[k], random(k), rounding, operand_.codes.results));
    } else {
      codes_.encode(thread, scaled, first, count);
    }
  }

  code_accessor codes_;
};

}  // namespace lowp::cuda
