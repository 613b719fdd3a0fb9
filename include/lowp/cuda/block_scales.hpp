// SPDX-License-Identifier: Apache-2.0
// The scales of blocks and square tiles, which threads find together. A warp takes tiles in strips
// if it has them whole. A block of threads then stores the scales of 32: a sector for each row.
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
  static constexpr bool has_keys = Codes::has_keys;
  /// True if a block of threads does much once: it reads tables, or makes three tensors' keys.
  static constexpr bool has_few_blocks = tables::exist || (Codes::is_read && Codes::is_written);
  static constexpr bool has_tiles = requires { requires Rule::has_tiles; };
  static constexpr std::uint64_t chunks_of_square = has_tiles ? Block * Block / chunk_size : 1;
  static constexpr int parts = 2;
  static constexpr int bytes_read = Codes::bytes_read, bytes_written = Codes::bytes_written;
  static constexpr bool permits_runs = Codes::permits_runs && !Codes::is_written && !has_tiles;

  Codes codes;
  Rule rule;
  bool is_by_tables;  ///< and to nearest even
};

/// The part of a block's accessor that finds the scales of its passes.
template <int Block, class Codes, class Rule, int Rows>
class block_scales {
 protected:
  using operand_type = blocked_kernel_operand<Block, Codes, Rule>;
  using scale_type = typename Rule::scale_type;
  using tables = typename operand_type::tables;
  using word = typename piece<sizeof(scale_type)>::word_type;
  static constexpr bool has_tiles = operand_type::has_tiles;
  // Codes that are no numbers of their type.
  static constexpr bool has_own_codes =
      requires(Rule rule, scale_type scale) { rule.decode_code(std::uint32_t{}, scale); };
  static constexpr int threads = Block / chunk_size, pairs = chunk_size / 2;

 public:
  /// True if the scales of all passes may be found before the first one is encoded.
  static constexpr bool shares_scales = operand_type::finds_scales;

  /// Returns the first element of a block.
  LOWP_FN static std::uint64_t block_of(std::uint64_t at) { return at / Block * Block; }

  /// Finds the scales of all passes, whose chunks `from` has.
  /// @param first_of    the place of a pass's chunk
  /// @param is_present  true if a pass's block has elements
  LOWP_FN void find_all_scales(auto const& thread, auto& from, auto const& first_of,
                               auto const& is_present, auto const& tensor) {
    LOWP_UNROLL_ON_GPU
    for (int pass = 0; pass < Rows; ++pass) largest_[pass] = from.largest(thread, pass);
    bool chooses = false;
    if constexpr (has_tiles) chooses = operand_.rule.chooses();
    if (is_in_strip(thread)) {
      if constexpr (has_tiles) find_scale_of_tile(thread, from, first_of, is_present, tensor);
    } else if (chooses) {
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
  /// The chunks of a square tile, which are successive in the order of threads.
  static constexpr std::uint64_t square = operand_type::chunks_of_square;

  /// Changes the order of a thread's chunks to that of a strip.
  LOWP_FN chunk_place order(auto const& thread, chunk_place at) {
    if (!is_in_strip(thread)) return at;
    constexpr unsigned across = threads < chunk_size ? chunk_size / threads : 1;
    unsigned const lane = thread.thread() % 32;
    std::uint64_t const tile = at / (Block * Block) / across * across + lane / threads % across;
    slot_ = static_cast<unsigned>(tile % squares_of_block);
    return {tile * Block * Block + lane / chunk_size * Block + lane % threads * chunk_size,
            32 / chunk_size * Block};
  }
  /// Returns the place in memory. All passes of a strip share the division.
  LOWP_FN std::uint64_t place(auto const& thread, chunk_place at) const {
    if (!is_tiled()) return at;
    bool const shares = is_in_strip(thread);
    std::uint64_t const chunk = (shares ? at.of_first_pass : std::uint64_t{at}) / chunk_size;
    auto const tile = static_cast<std::uint32_t>(chunk / square);
    std::uint32_t const columns = operand_.rule.columns;
    std::uint64_t const row = std::uint64_t{tile / columns} * Block + chunk % square / threads +
                              (shares ? at.further / Block : 0);
    return (row * columns + tile % columns) * Block + at % Block;
  }
  /// Returns true if a warp does not have a square whole.
  LOWP_FN bool reads_ahead(auto const& thread) const { return is_tiled() && !is_in_strip(thread); }
  LOWP_FN void keep_largest(auto const& thread, std::uint32_t largest) {
    auto const together = together_with<1>(thread);
    of_square_ = together.max_of_square(together.max_of_block(largest));
  }
  /// Stores the scales of a tile of the kernel: whole sectors for each row.
  LOWP_FN void store_scales(auto const& thread, std::uint64_t begin, std::uint64_t end) const {
    if (!is_in_strip(thread)) return;
    unsigned const lane = thread.thread() % 32;
    std::uint64_t const first = begin + std::uint64_t{lane} * Block * Block;
    thread.barrier();
    for (unsigned row = thread.thread() / 32; first < end && row < Block;
         row += thread.threads() / 32)
      thread.write(scale_at(place(thread, {first, row * Block})), scales_of_tiles(thread)[lane]);
    thread.barrier();
  }

 protected:
  LOWP_FN block_scales(operand_type const& s, void* scales)
      : operand_(s), scales_(static_cast<unsigned char*>(scales)) {}
  LOWP_FN unsigned char* scale_at(chunk_place const& first, unsigned more = 0) const {
    return scales_ + (first.of_first_pass / Block + (first.further + more) / Block) * sizeof(word);
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
  /// Finds the scale of a thread's tile, which all of its passes share.
  LOWP_FN void find_scale_of_tile(auto const& thread, auto& from, auto const& first_of,
                                  auto const& is_present, auto const& tensor) {
    auto const together = together_with<1>(thread);
    std::uint32_t largest = 0;
    LOWP_UNROLL_ON_GPU
    for (std::uint32_t const each : largest_) largest = lanes::max(largest, each);
    of_square_ = together.max_of_strip(largest);
    Rule const rule = rule_of(tensor);
    auto const sum_of = [&](auto const& error) {
      float sum[std::size_t{Rows}];
      LOWP_UNROLL_ON_GPU
      for (int pass = 0; pass < Rows; ++pass) {
        float x[chunk_size];
        from.decode(thread, pass, x);
        sum[pass] = together.sum_of_errors(x, error);
      }
      return together.template sum_of_strip<Rows>(sum);
    };
    auto const next =
        rule.chosen(tensor.numbers, lanes::from_bits<float>(of_square_), together, sum_of);
    LOWP_UNROLL_ON_GPU
    for (float& each : factor_) each = next.factor;
    if (thread.thread() % 32 < chunk_size && thread.thread() % threads == 0)
      scales_of_tiles(thread)[slot_] = static_cast<word>(next.code);
    if (first_of(0) == 0 && rule.tensor_scale_at != nullptr)
      *rule.tensor_scale_at = rule.tensor.value;
    if (rule.report == nullptr) return;
    LOWP_UNROLL_ON_GPU
    for (int pass = 0; pass < Rows; ++pass)
      rule.count_blocks(tensor.counts, together.max_of_block(largest_[pass]), next.code,
                        thread.thread() % threads == 0 && is_present(pass));
  }
  LOWP_FN detail::block_scale_of<float> scale_of_tensor(auto const& together, std::uint32_t largest,
                                                        float const* x, bool is_first, bool stores,
                                                        auto const& tensor) const {
    Rule const rule = rule_of(tensor);
    auto const next =
        rule.chosen(tensor.numbers, lanes::from_bits<float>(is_tiled() ? of_square_ : largest),
                    together, [&](auto const& error) { return together.sum_of_errors(x, error); });
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
  operand_type const& operand_;
  word scale_[std::size_t{Rows}][pairs] = {};      // of each two elements: a chunk may lie in runs
  std::uint32_t largest_[std::size_t{Rows}] = {};  // of this thread's chunks
  float factor_[std::size_t{Rows}] = {};
  bool needs_rule_ = false;

 private:
  LOWP_FN bool is_tiled() const {
    if constexpr (has_tiles) return operand_.rule.columns != 0;
    return false;
  }
  LOWP_FN bool is_in_strip(auto const& thread) const {
    return is_tiled() && is_in_strips(square, thread.threads());
  }
  LOWP_FN static word* scales_of_tiles(auto const& thread) {
    return thread.template shared<word, squares_of_block>();
  }

  template <int Finders, class Thread>
  LOWP_FN static auto together_with(Thread const& thread) {
    return scale_group<Thread, threads, square, Finders>{{thread}};
  }

  unsigned char* scales_;
  std::uint32_t of_square_ = 0;
  unsigned slot_ = 0;  // of the tile among those of the block
};

}  // namespace lowp::cuda
