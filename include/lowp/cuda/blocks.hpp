// SPDX-License-Identifier: Apache-2.0
// A kernel operand with a scale for every few elements. The threads that hold a block of elements
// find its largest magnitude together.
#pragma once

#include <lowp/cuda/accessor.hpp>
#include <lowp/storage/block_rule.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace lowp::cuda {

template <class T, int Block, class Codes>
struct blocked_kernel_operand {
  static constexpr bool is_read = Codes::is_read;
  static constexpr bool is_written = Codes::is_written;
  static constexpr bool is_collective = is_written;
  static constexpr int parts = 2;
  static constexpr int bytes_read = Codes::bytes_read;

  Codes codes;
  scale_rule rule;
};

/// A block is a whole number of chunks. Their threads are neighbours in a warp, because a pass is a
/// whole number of blocks.
template <class T, int Block, class Codes, bool IsComputed, class Hardware, int Rows>
class accessor<blocked_kernel_operand<T, Block, Codes>, IsComputed, Hardware, Rows> {
  using slot_type = blocked_kernel_operand<T, Block, Codes>;
  using rule = detail::block_rule<T>;
  using scale_type = typename rule::scale;
  using word = std::conditional_t<sizeof(scale_type) == 1, std::uint8_t, std::uint32_t>;
  using code_accessor = accessor<Codes, IsComputed, Hardware, Rows>;
  static constexpr int threads = Block / chunk_size;

 public:
  static constexpr bool is_read = slot_type::is_read;
  static constexpr bool is_written = slot_type::is_written;

  LOWP_FN accessor(slot_type const& s, void* const* data, std::uint32_t number)
      : codes_(s.codes, data, number),
        operand_(s.codes),
        scales_(static_cast<unsigned char*>(data[1])),
        rule_(s.rule) {}

  template <int Width, class Thread>
  LOWP_FN void load(int pass, Thread const& thread, std::uint64_t first, int count) {
    codes_.template load<Width>(pass, thread, first, count);
    if (is_read && count != 0)
      scale_[pass] = __builtin_bit_cast(
          scale_type, thread.template read<word>(scales_ + first / Block * sizeof(word)));
  }
  LOWP_FN void decode(int pass, float (&x)[chunk_size]) const {
    float const scale = rule::value(scale_[pass]);
    if constexpr (narrow<T>) {
      codes_.decode(pass, x);
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k) x[k] = lanes::mul(x[k], scale);
    } else {
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k)
        x[k] = rule::template decode<float>(codes_.code(pass, k), scale);
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
      next_scale_ = rule::of(thread.template max_among<threads>(largest), rule_);
      if constexpr (narrow<T>) {
        float const reciprocal = lanes::from_bits<float>(
            detail::reciprocal_of_block_scale(std::uint32_t{next_scale_.bits()}));
        float scaled[chunk_size];
        LOWP_UNROLL_ON_GPU
        for (int k = 0; k < chunk_size; ++k) scaled[k] = lanes::mul(x[k], reciprocal);
        codes_.encode(thread, scaled, first, count);
      } else {
        chunk_bits const random = codes_.bits(first);
        typename rule::template encoder<std::uint32_t> const encode;
        codes_.clear();
        LOWP_UNROLL_ON_GPU
        for (int k = 0; k < chunk_size; ++k)
          codes_.set_code(k, encode(x[k], next_scale_, random(k), mode_of(operand_.rounding)));
      }
    }
  }
  template <int Width, class Thread>
  LOWP_FN void store(Thread const& thread, std::uint64_t first, int count) const {
    if constexpr (is_written) {
      codes_.template store<Width>(thread, first, count);
      if constexpr (is_read) thread.warp_barrier();  // the block's other threads read the old scale
      if (count != 0 && thread.thread() % threads == 0)
        thread.write(scales_ + first / Block * sizeof(word), __builtin_bit_cast(word, next_scale_));
    }
  }

 private:
  code_accessor codes_;
  Codes const& operand_;
  unsigned char* scales_;
  scale_rule rule_;
  scale_type scale_[std::size_t{Rows}] = {};
  scale_type next_scale_{};
};

}  // namespace lowp::cuda
