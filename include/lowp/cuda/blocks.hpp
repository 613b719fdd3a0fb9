// SPDX-License-Identifier: Apache-2.0
// A kernel operand with a scale for every few elements, or for a square tile of them. The threads
// that hold a block or a tile find its largest magnitude together.
#pragma once

#include <lowp/cuda/accessor.hpp>
#include <lowp/report/warp_sums.hpp>
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

/// The chunks of a square of elements that threads must see together.
template <class KernelOperand>
inline constexpr std::uint64_t chunks_of_square = 1;
template <int Block, class Codes, class Rule>
  requires Rule::has_tiles
inline constexpr std::uint64_t chunks_of_square<blocked_kernel_operand<Block, Codes, Rule>> =
    Block * Block / chunk_size;

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
  static constexpr bool encodes_plainly =
      !code_accessor::encodes && requires(Rule rule, float x) { rule.is_plain(lanes::bits(x), x); };
  static constexpr bool encodes_nibbles = [] {
    if constexpr (encodes_plainly)
      return detail::has_nibbles<Codes::type::descriptor, std::uint32_t> &&
             (std::is_same_v<mode_type<typename Codes::rounding_type>, nearest_even> ||
              detail::draws_bits<mode_type<typename Codes::rounding_type>>);
    return false;
  }();

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
      std::uint32_t const largest = thread.template max_among<threads>(largest_of(x, count));
      auto const next = operand_.rule.scales(lanes::from_bits<float>(largest), first / Block);
      round(thread, operand_.rule, x, largest, next, first, count, [](int, auto const&) {});
    }
  }
  /// Encodes by a rule that has tiles and counts, with the numbers of the tensor.
  template <class Thread, class Tensor, class Counts>
  LOWP_FN void encode(Thread const& thread, float const (&x)[chunk_size], std::uint64_t first,
                      int count, Tensor const& tensor, Counts& counts) {
    using namespace lanes;
    Rule rule = operand_.rule;
    rule.tensor = tensor.scales;
    // The elements after the last one are zeros, or the smallest of a format without zero.
    std::uint32_t const largest = thread.template max_among<threads>(largest_of(x, chunk_size));
    float const amax =
        from_bits<float>(!is_tiled()                  ? largest
                         : square <= thread.threads() ? max_of_square(thread, largest)
                                                      : of_square_);
    auto const next = rule.chosen(
        tensor, amax, [&](auto const& error) { return sum_of_errors(thread, x, error); });
    if (first == 0 && count != 0 && rule.tensor_scale_at != nullptr)
      *rule.tensor_scale_at = rule.tensor.value;
    rule.count_blocks(counts, largest, next.code, count != 0 && thread.thread() % threads == 0);
    round(thread, rule, x, largest, next, first, count, [&](int k, auto const& result) {
      rule.count_elements(counts, k < count && result.overflowed);
    });
  }

  /// The chunks of a square tile, which are successive in the order of threads.
  static constexpr std::uint64_t square = chunks_of_square<slot_type>;

  LOWP_FN std::uint64_t place(std::uint64_t at) const {
    if (!is_tiled()) return at;
    std::uint64_t const chunk = at / chunk_size;
    auto const tile = static_cast<std::uint32_t>(chunk / square);
    std::uint32_t const columns = operand_.rule.columns;
    std::uint64_t const row = std::uint64_t{tile / columns} * Block + chunk % square / threads;
    return (row * columns + tile % columns) * Block + at % Block;
  }
  /// Returns true if a square has more chunks than a block has threads.
  template <class Thread>
  LOWP_FN bool reads_ahead(Thread const& thread) const {
    return is_tiled() && square > thread.threads();
  }
  template <class Thread>
  LOWP_FN void keep_largest(Thread const& thread, std::uint32_t largest) {
    of_square_ = max_of_square(thread, thread.template max_among<threads>(largest));
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
  LOWP_FN bool is_tiled() const { return operand_.rule.columns != 0; }
  /// Returns the largest of a square, or of all threads of a block if a square has more.
  template <class Thread>
  LOWP_FN static std::uint32_t max_of_square(Thread const& thread, std::uint32_t largest) {
    constexpr unsigned of_warp = 32;
    largest = thread.template max_among<(square < of_warp ? square : of_warp)>(largest);
    if constexpr (square > of_warp) {
      auto* const words = thread.template shared<std::uint32_t>();
      words[thread.thread()] = largest;
      thread.barrier();
      auto const first = static_cast<unsigned>(thread.thread() / square * square);
      for (unsigned i = first; i < first + square && i < thread.threads(); i += of_warp)
        largest = lanes::max(largest, words[i]);
      thread.barrier();  // before the next words
    }
    return largest;
  }
  /// Adds up the errors of two chunks, a row, in order. Those of a tile's rows add up as a tree.
  template <class Thread, class Error>
  LOWP_FN float sum_of_errors(Thread const& thread, float const (&x)[chunk_size],
                              Error const& error) const {
    if constexpr (threads == 2) {
      detail::warp<Thread> const warp{thread};
      float errors[chunk_size], first = 0;
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k) {
        errors[k] = error(x[k]);
        first = lanes::add(first, errors[k]);
      }
      float all = warp.template other<1>(first);
      LOWP_UNROLL_ON_GPU
      for (float const each : errors) all = lanes::add(all, each);
      float const of_other = warp.template other<1>(all);
      float const sum = warp.is_upper(1) ? all : of_other;
      return is_tiled() ? warp.template sum_of_two<2>(warp.template sum_of_two<4>(
                              warp.template sum_of_two<8>(warp.template sum_of_two<16>(sum))))
                        : sum;
    } else {
      return 0;  // such a choice is refused
    }
  }

  template <class F>
  LOWP_FN static F without_sign_for_nibbles(F const& x) {
    if constexpr (encodes_nibbles)
      return lane<F>::absolute(x);
    else
      return x;
  }
  template <class Thread, class Next, class Count>
  LOWP_FN void round(Thread const& thread, Rule const& rule, float const (&x)[chunk_size],
                     std::uint32_t largest, Next const& next, std::uint64_t first, int count,
                     Count const& count_element) {
    next_scale_ = static_cast<word>(next.code);
    auto const& rounding = mode_of(operand_.codes.rounding);
    if (is_encoded_by_rule(rule, largest, next.factor)) {
      chunk_bits const random = codes_.bits(first);
      codes_.clear();
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k) {
        auto const result =
            rule.encode(x[k], next.factor, random(k), rounding, operand_.codes.results);
        codes_.set_code(k, result.code);
        count_element(k, result);
      }
      return;
    }
    float scaled[chunk_size];
    bool const divides = [&] {  // no question for each element
      if constexpr (requires { rule.divides(); }) return rule.divides();
      return false;
    }();
    if (divides) {
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k)
        scaled[k] = lanes::div(without_sign_for_nibbles(x[k]), next.factor);
    } else {
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k)
        scaled[k] = lanes::mul(without_sign_for_nibbles(x[k]), next.factor);
    }
    if constexpr (encodes_nibbles) {
      codes_.set_nibbles(
          detail::encode_nibbles<Codes::type::descriptor>(scaled, x, rounding, codes_.bits(first)));
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
  LOWP_FN static bool is_encoded_by_rule(Rule const& rule, std::uint32_t amax, float factor) {
    if constexpr (requires { rule.is_plain(amax, factor); })
      return !rule.is_plain(amax, factor);
    else
      return has_own_codes;
  }

  code_accessor codes_;
  slot_type const& operand_;
  unsigned char* scales_;
  word scale_[std::size_t{Rows}] = {};
  word next_scale_ = 0;
  std::uint32_t of_square_ = 0;
};

}  // namespace lowp::cuda
