// SPDX-License-Identifier: Apache-2.0
// An operand with a scale for each block or square tile, whose threads find its largest magnitude.
#pragma once

#include <lowp/cuda/scale_group.hpp>
#include <lowp/storage/scale.hpp>

namespace lowp::cuda {

template <int Block, class Codes, class Rule>
struct blocked_kernel_operand {
  using tables = shared_tables<Rule>;
  static constexpr bool is_collective = Codes::is_written || tables::exist;
  /// True for an output: a kernel finds its blocks' scales before it rounds.
  static constexpr bool finds_scales = Codes::is_written && !Codes::is_read;
  static constexpr bool has_tiles = requires { requires Rule::has_tiles; };
  static constexpr std::uint64_t chunks_of_square = has_tiles ? Block * Block / chunk_size : 1;
  static constexpr int parts = 2;
  static constexpr int bytes_read = Codes::bytes_read, bytes_written = Codes::bytes_written;
  static constexpr bool permits_runs = Codes::permits_runs && !Codes::is_written && !has_tiles;

  Codes codes;
  Rule rule;
  bool is_by_tables;  ///< and to nearest even
};

/// A block is a whole number of chunks. Their threads are neighbours in a warp, because a pass is a
/// whole number of blocks.
template <int Block, class Codes, class Rule, bool IsComputed, class Hardware, int Rows>
class accessor<blocked_kernel_operand<Block, Codes, Rule>, IsComputed, Hardware, Rows> {
  using operand_type = blocked_kernel_operand<Block, Codes, Rule>;
  using scale_type = typename Rule::scale_type;
  using tables = typename operand_type::tables;
  using word = typename piece<sizeof(scale_type)>::word_type;
  static constexpr bool has_tiles = operand_type::has_tiles;
  // Codes that are no numbers of their type.
  static constexpr bool has_own_codes =
      requires(Rule rule, scale_type scale) { rule.decode_code(std::uint32_t{}, scale); };
  using code_accessor = accessor<Codes, IsComputed, Hardware, Rows>;
  static constexpr int threads = Block / chunk_size, pairs = chunk_size / 2;
  using encoding = scaled_encoding<Codes, Rule, Hardware, code_accessor::encodes>;

 public:
  static constexpr bool keeps_small = false;  // the block's other threads may have a large one

  LOWP_FN accessor(operand_type const& s, void* const* data, std::uint32_t number)
      : codes_(s.codes, data, number), operand_(s), scales_(static_cast<unsigned char*>(data[1])) {}

  template <int Width, class Thread>
  LOWP_FN void load(int pass, Thread const& thread, chunk_place first, int count) {
    codes_.template load<Width>(pass, thread, first, count);
    LOWP_UNROLL_ON_GPU
    for (unsigned i = 0; i < pairs; ++i) {
      if (!Codes::is_read || count == 0) continue;
      unsigned const more = i * chunk_size / pairs * warp_threads_of(thread);
      scale_[pass][i] = i * runs_of(Width) % pairs != 0
                            ? scale_[pass][i - 1]
                            : thread.template read<word>(scale_at(first, more));
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

  /// `tensor` has `numbers` and `counts`, for a rule that has tiles. Elements after the last one
  /// are zeros then, or the smallest of a format without zero.
  LOWP_FN void encode(auto const& thread, float const (&x)[chunk_size], std::uint64_t first,
                      int count, auto const& tensor) {
    if constexpr (Codes::is_written) {
      largest_[0] = largest_of(x, has_tiles ? chunk_size : count);
      find_scales<1>(
          thread, 0, x, [&](int) { return chunk_place(first); }, [&](int) { return count != 0; },
          tensor);
      needs_rule_ = needs_rule<1>(tensor);
      round(thread, 0, x, encoding::signs_of(x), first, count, tensor);
    }
  }

  /// True if the scales of all passes may be found before the first one is encoded.
  static constexpr bool shares_scales = operand_type::finds_scales;

  /// Returns the first element of a block.
  LOWP_FN static std::uint64_t block_of(std::uint64_t at) { return at / Block * Block; }

  /// Finds the scales of all passes, whose chunks `from` has.
  /// @param first_of    the place of a pass's chunk
  /// @param is_present  true if a pass's block has elements
  LOWP_FN void find_all_scales(auto const& thread, auto const& from, auto const& first_of,
                               auto const& is_present, auto const& tensor) {
    LOWP_UNROLL_ON_GPU
    for (int pass = 0; pass < Rows; ++pass) largest_[pass] = from.largest(thread, pass);
    bool chooses = false;
    if constexpr (has_tiles) chooses = operand_.rule.chooses();
    if (chooses) {
      LOWP_UNROLL_ON_GPU
      for (int pass = 0; pass < Rows; ++pass) {
        float x[chunk_size];
        from.decode(thread, pass, x);
        find_scales<1>(thread, pass, x, first_of, is_present, tensor);
      }
    } else {
      find_scales<Rows>(thread, 0, nullptr, first_of, is_present, tensor);
    }
    needs_rule_ = needs_rule<Rows>(tensor);
  }
  /// Encodes a pass's chunk by the scale that was found.
  LOWP_FN void encode_found(auto const& thread, int pass, float const (&x)[chunk_size],
                            auto const& from, std::uint64_t first, int count, auto const& tensor) {
    if constexpr (encoding::encodes_nibbles && requires { from.signs(pass); })
      round(thread, pass, x, from.signs(pass), first, count, tensor);
    else
      round(thread, pass, x, encoding::signs_of(x), first, count, tensor);
  }

  /// The chunks of a square tile, which are successive in the order of threads.
  static constexpr std::uint64_t square = operand_type::chunks_of_square;

  LOWP_FN std::uint64_t place(std::uint64_t at) const {
    if (!is_tiled()) return at;
    std::uint64_t const chunk = at / chunk_size;
    auto const tile = static_cast<std::uint32_t>(chunk / square);
    std::uint32_t const columns = operand_.rule.columns;
    std::uint64_t const row = std::uint64_t{tile / columns} * Block + chunk % square / threads;
    return (row * columns + tile % columns) * Block + at % Block;
  }
  /// Returns true if a square has more chunks than a block has threads.
  LOWP_FN bool reads_ahead(auto const& thread) const {
    return is_tiled() && square > thread.threads();
  }
  LOWP_FN void keep_largest(auto const& thread, std::uint32_t largest) {
    auto const together = together_with<1>(thread);
    of_square_ = together.max_of_square(together.max_of_block(largest));
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
  LOWP_FN scale_type written_scale() const { return __builtin_bit_cast(scale_type, scale_[0][0]); }
  LOWP_FN unsigned char* scale_at(chunk_place const& first, unsigned more = 0) const {
    return scales_ + (first.of_first_pass / Block + (first.further + more) / Block) * sizeof(word);
  }
  LOWP_FN bool is_tiled() const { return operand_.rule.columns != 0; }

  template <int Finders, class Thread>
  LOWP_FN static auto together_with(Thread const& thread) {
    return scale_group<Thread, threads, square, Finders>{thread};
  }
  /// Finds and stores the scales of N passes, the first of which is `begin`. A block's threads take
  /// turns: each finds those of some passes, and they exchange the factors.
  /// @param x  the elements of the one pass, for a rule that chooses
  template <int N>
  LOWP_FN void find_scales(auto const& thread, int begin, float const* x, auto const& first_of,
                           auto const& is_present, auto const& tensor) {
    constexpr int finders = N < threads ? N : threads;
    auto const place = static_cast<int>(thread.thread() % threads);
    auto const together = together_with<finders>(thread);
    std::uint32_t largest[std::size_t{N}];
    LOWP_UNROLL_ON_GPU
    for (int i = 0; i < N; ++i) largest[i] = largest_[begin + i];
    together.template divide<1, N>(largest);
    if constexpr (Codes::is_read)
      thread.warp_barrier();  // the block's other threads read the old scale
    LOWP_UNROLL_ON_GPU
    for (int i = 0; i < N / finders; ++i) {
      int const pass = begin + i * finders + place % finders;
      largest[i] = together.max_of_block(largest[i]);
      bool const stores = place < finders && is_present(pass);
      auto const next = [&] {
        if constexpr (has_tiles)
          return scale_of_tensor(together, largest[i], x, first_of(pass) == 0, stores, tensor);
        else
          return operand_.rule.scales(lanes::from_bits<float>(largest[i]), 0);
      }();
      if (stores) thread.write(scale_at(first_of(pass)), static_cast<word>(next.code));
      if constexpr (Codes::is_read) scale_[begin + i][0] = static_cast<word>(next.code);
      factor_[begin + i] = next.factor;
    }
    together.template spread<finders / 2, Rows>(factor_);
  }
  LOWP_FN detail::block_scale_of<float> scale_of_tensor(auto const& together, std::uint32_t largest,
                                                        float const* x, bool is_first, bool stores,
                                                        auto const& tensor) const {
    Rule const rule = rule_of(tensor);
    std::uint32_t const of_tile = !is_tiled() ? largest
                                  : square <= together.thread.threads()
                                      ? together.max_of_square(largest)
                                      : of_square_;
    auto const next = rule.chosen(
        tensor.numbers, lanes::from_bits<float>(of_tile),
        [&](auto const& error) { return together.sum_of_errors(x, error, is_tiled()); });
    if (is_first && stores && rule.tensor_scale_at != nullptr)
      *rule.tensor_scale_at = rule.tensor.value;
    rule.count_blocks(tensor.counts, largest, next.code, stores);
    return next;
  }
  LOWP_FN Rule rule_of([[maybe_unused]] auto const& tensor) const {
    Rule rule = operand_.rule;
    if constexpr (has_tiles) rule.tensor = tensor.numbers.scales;
    return rule;
  }

  /// Returns true if a product or quotient does not give all codes of the first N passes.
  template <int N>
  LOWP_FN bool needs_rule(auto const& tensor) const {
    Rule const rule = rule_of(tensor);
    bool result = has_own_codes && !operand_.is_by_tables;
    LOWP_UNROLL_ON_GPU
    for (int i = 0; i < N; ++i) {
      if constexpr (tables::exist)
        result = result || !detail::block_divisor::permits(factor_[i]);
      else if constexpr (requires { rule.is_plain(largest_[i], factor_[i]); })
        result = result || !rule.is_plain(largest_[i], factor_[i]);
    }
    return result;
  }
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
    if constexpr (tables::exist) return encoding::encode_by_tables(codes_, factor, present, thread);
    float scaled[chunk_size];
    encoding::scale(rule, x, factor, scaled);
    if constexpr (encoding::converts_nibbles) {
      codes_.set_nibbles(Hardware::nibbles(std::type_identity<typename Codes::type>{}, scaled));
    } else if constexpr (encoding::encodes_nibbles) {
      codes_.set_nibbles(detail::encode_nibbles<Codes::type::descriptor>(scaled, signs, rounding,
                                                                         codes_.bits(first)));
    } else if constexpr (encoding::encodes_plainly) {
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
  operand_type const& operand_;
  unsigned char* scales_;
  word scale_[std::size_t{Rows}][pairs] = {};      // of each two elements: a chunk may lie in runs
  std::uint32_t largest_[std::size_t{Rows}] = {};  // of this thread's chunks
  float factor_[std::size_t{Rows}] = {};
  bool needs_rule_ = false;
  std::uint32_t of_square_ = 0;
};

}  // namespace lowp::cuda
