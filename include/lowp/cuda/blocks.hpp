// SPDX-License-Identifier: Apache-2.0
// A kernel operand with a scale for every few elements. The threads that hold a block of elements
// find its largest magnitude together.
#pragma once

#include <lowp/cuda/accessor.hpp>
#include <lowp/storage/scale.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace lowp::cuda {

template <int Block, class Codes, class Rule>
struct blocked_kernel_operand {
  static constexpr bool is_read = Codes::is_read;
  static constexpr bool is_written = Codes::is_written;
  static constexpr bool is_collective = is_written;
  static constexpr int parts = 2;
  static constexpr int bytes_read = Codes::bytes_read;

  Codes codes;
  Rule rule;
};

/// A block is a whole number of chunks. Their threads are neighbours in a warp, because a pass is a
/// whole number of blocks.
template <int Block, class Codes, class Rule, bool IsComputed, class Hardware, int Rows>
class accessor<blocked_kernel_operand<Block, Codes, Rule>, IsComputed, Hardware, Rows> {
  using slot_type = blocked_kernel_operand<Block, Codes, Rule>;
  using scale_type = typename Rule::scale_type;
  using word =
      std::conditional_t<sizeof(scale_type) == 1, std::uint8_t,
                         std::conditional_t<sizeof(scale_type) == 2, std::uint16_t, std::uint32_t>>;
  // Codes that are no numbers of their type.
  static constexpr bool has_own_codes =
      requires(Rule rule, scale_type scale) { rule.decode_code(std::uint32_t{}, scale); };
  using code_accessor = accessor<Codes, IsComputed, Hardware, Rows>;
  static constexpr int threads = Block / chunk_size;

 public:
  static constexpr bool is_read = slot_type::is_read;
  static constexpr bool is_written = slot_type::is_written;

  LOWP_FN accessor(slot_type const& s, void* const* data, std::uint32_t number)
      : codes_(s.codes, data, number), operand_(s), scales_(static_cast<unsigned char*>(data[1])) {}

  template <int Width, class Thread>
  LOWP_FN void load(int pass, Thread const& thread, std::uint64_t first, int count) {
    codes_.template load<Width>(pass, thread, first, count);
    if (is_read && count != 0)
      scale_[pass] = thread.template read<word>(scales_ + first / Block * sizeof(word));
  }
  LOWP_FN void decode(int pass, float (&x)[chunk_size]) const {
    auto const scale = __builtin_bit_cast(scale_type, scale_[pass]);
    if constexpr (has_own_codes) {
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k)
        x[k] = operand_.rule.decode_code(codes_.code(pass, k), scale);
    } else {
      codes_.decode(pass, x);
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k) x[k] = operand_.rule.decode(x[k], scale);
    }
  }

  template <class Thread>
  LOWP_FN void encode(Thread const& thread, float const (&x)[chunk_size], std::uint64_t first,
                      int count) {
    if constexpr (is_written) {
      std::uint32_t largest = 0;
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k)
        if (k < count) largest = lanes::max(largest, lanes::magnitude(x[k]));
      float const amax = lanes::from_bits<float>(thread.template max_among<threads>(largest));
      auto const next = operand_.rule.scales(amax, first / Block);
      next_scale_ = static_cast<word>(next.code);
      if (is_encoded_by_rule(amax, next.factor)) {
        chunk_bits const random = codes_.bits(first);
        codes_.clear();
        LOWP_UNROLL_ON_GPU
        for (int k = 0; k < chunk_size; ++k)
          codes_.set_code(k, operand_.rule
                                 .encode(x[k], next.factor, random(k),
                                         mode_of(operand_.codes.rounding), operand_.codes.results)
                                 .code);
      } else {
        float scaled[chunk_size];
        LOWP_UNROLL_ON_GPU
        for (int k = 0; k < chunk_size; ++k)
          scaled[k] = scaled_by(operand_.rule, x[k], next.factor);
        codes_.encode(thread, scaled, first, count);
      }
    }
  }
  template <int Width, class Thread>
  LOWP_FN void store(Thread const& thread, std::uint64_t first, int count) const {
    if constexpr (is_written) {
      codes_.template store<Width>(thread, first, count);
      if constexpr (is_read) thread.warp_barrier();  // the block's other threads read the old scale
      if (count != 0 && thread.thread() % threads == 0)
        thread.write(scales_ + first / Block * sizeof(word), next_scale_);
    }
  }

 private:
  LOWP_FN bool is_encoded_by_rule(float amax, float factor) const {
    if constexpr (requires { operand_.rule.is_plain(lanes::bits(amax), factor); })
      return !operand_.rule.is_plain(lanes::bits(amax), factor);
    else
      return has_own_codes;
  }
  LOWP_FN static float scaled_by(Rule const& rule, float x, float factor) {
    if constexpr (requires { rule.scaled(x, factor); })
      return rule.scaled(x, factor);
    else
      return lanes::mul(x, factor);
  }

  code_accessor codes_;
  slot_type const& operand_;
  unsigned char* scales_;
  word scale_[std::size_t{Rows}] = {};
  word next_scale_ = 0;
};

}  // namespace lowp::cuda
