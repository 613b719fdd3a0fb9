// SPDX-License-Identifier: Apache-2.0
// A kernel operand with a scale for every few elements, or for a square tile of them. The threads
// that hold a block or a tile find its largest magnitude together.
#pragma once

#include <lowp/cuda/accessor.hpp>
#include <lowp/cuda/block_threads.hpp>
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

/// True for an output whose blocks' scales a kernel finds before it rounds.
template <class KernelOperand>
inline constexpr bool finds_scales = false;
template <int Block, class Codes, class Rule>
inline constexpr bool finds_scales<blocked_kernel_operand<Block, Codes, Rule>> =
    Codes::is_written && !Codes::is_read;

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
  static constexpr bool is_to_nearest =
      std::is_same_v<mode_type<typename Codes::rounding_type>, nearest_even>;
  static constexpr bool encodes_plainly =
      !code_accessor::encodes && requires(Rule rule, float x) { rule.is_plain(lanes::bits(x), x); };
  static constexpr bool encodes_nibbles = [] {
    if constexpr (encodes_plainly)
      return detail::has_nibbles<Codes::type::descriptor, std::uint32_t> &&
             (is_to_nearest || detail::draws_bits<mode_type<typename Codes::rounding_type>>);
    return false;
  }();
  // By one instruction for two.
  static constexpr bool converts_nibbles =
      encodes_plainly && is_to_nearest && requires(float const (&x)[std::size_t{chunk_size}]) {
        Hardware::nibbles(std::type_identity<typename Codes::type>{}, x);
      };

 public:
  static constexpr bool is_read = slot_type::is_read;
  static constexpr bool is_written = slot_type::is_written;

  LOWP_FN accessor(slot_type const& s, void* const* data, std::uint32_t number)
      : codes_(s.codes, data, number), operand_(s), scales_(static_cast<unsigned char*>(data[1])) {}

  template <int Width, class Thread>
  LOWP_FN void load(int pass, Thread const& thread, chunk_place first, int count) {
    codes_.template load<Width>(pass, thread, first, count);
    if (is_read && count != 0) scale_[pass] = thread.template read<word>(scale_at(first));
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

  /// `of_tensor` are a tensor's numbers and counts, for a rule that has tiles. Elements after the
  /// last one are zeros then, or the smallest of a format without zero.
  template <class Thread, class... OfTensor>
  LOWP_FN void encode(Thread const& thread, float const (&x)[chunk_size], std::uint64_t first,
                      int count, OfTensor&... of_tensor) {
    if constexpr (is_written) {
      largest_[0] = largest_of(x, sizeof...(OfTensor) != 0 ? chunk_size : count);
      find_scales<1>(
          thread, 0, [&](int) { return chunk_place(first); }, [&](int) { return count != 0; },
          [&](auto const& error) { return sum_of_errors(thread, x, error); }, of_tensor...);
      round(thread, 0, way_of_passes<1>(of_tensor...), x, signs_of(x), first, count, of_tensor...);
    }
  }

  /// True if the scales of all passes may be found before the first one is encoded.
  static constexpr bool shares_scales = finds_scales<slot_type>;

  /// Returns the first element of a block.
  LOWP_FN static std::uint64_t block_of(std::uint64_t at) { return at / Block * Block; }

  /// Finds the scales of all passes, whose chunks `from` has.
  /// @param first_of    the place of a pass's chunk
  /// @param is_present  true if a pass's block has elements
  template <class Thread, class From, class... OfTensor>
  LOWP_FN void find_all_scales(Thread const& thread, From const& from, auto const& first_of,
                               auto const& is_present, OfTensor&... of_tensor) {
    LOWP_UNROLL_ON_GPU
    for (int pass = 0; pass < Rows; ++pass) largest_[pass] = from.largest(pass);
    if (chooses_scales()) {
      LOWP_UNROLL_ON_GPU
      for (int pass = 0; pass < Rows; ++pass) {
        float x[chunk_size];
        from.decode(pass, x);
        find_scales<1>(
            thread, pass, first_of, is_present,
            [&](auto const& error) { return sum_of_errors(thread, x, error); }, of_tensor...);
      }
    } else {
      find_scales<Rows>(
          thread, 0, first_of, is_present, [](auto const&) { return 0.0f; }, of_tensor...);
    }
    way_ = way_of_passes<Rows>(of_tensor...);
  }
  /// Encodes a pass's chunk by the scale that was found.
  template <class Thread, class From, class... OfTensor>
  LOWP_FN void encode_found(Thread const& thread, int pass, float const (&x)[chunk_size],
                            From const& from, std::uint64_t first, int count,
                            OfTensor&... of_tensor) {
    auto const signs = [&] {
      if constexpr (encodes_nibbles && requires { from.signs(pass); })
        return from.signs(pass);
      else
        return signs_of(x);
    }();
    round(thread, pass, way_, x, signs, first, count, of_tensor...);
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
    auto const together = together_with<1>(thread);
    of_square_ = together.max_of_square(together.max_of_block(largest));
  }

  template <int Width, class Thread>
  LOWP_FN void store(Thread const& thread, chunk_place first, int count) const {
    if constexpr (is_written) codes_.template store<Width>(thread, first, count);
  }

 private:
  LOWP_FN unsigned char* scale_at(chunk_place const& first) const {
    return scales_ + (first.of_first_pass / Block + first.further / Block) * sizeof(word);
  }
  LOWP_FN bool is_tiled() const { return operand_.rule.columns != 0; }

  template <int Finders, class Thread>
  LOWP_FN static auto together_with(Thread const& thread) {
    return block_threads<Thread, threads, square, Finders>{thread};
  }
  template <class Thread, class Error>
  LOWP_FN float sum_of_errors(Thread const& thread, float const (&x)[chunk_size],
                              Error const& error) const {
    if constexpr (threads == 2)
      return together_with<1>(thread).sum_of_errors(x, error, is_tiled());
    else
      return 0;  // such a choice is refused
  }
  LOWP_FN bool chooses_scales() const {
    if constexpr (requires { operand_.rule.chooses(); }) return operand_.rule.chooses();
    return false;
  }
  /// Finds and stores the scales of N passes, the first of which is `begin`. A block's threads take
  /// turns: each finds those of some passes, and they exchange the factors.
  template <int N, class Thread, class... OfTensor>
  LOWP_FN void find_scales(Thread const& thread, int begin, auto const& first_of,
                           auto const& is_present, auto const& sum_of, OfTensor&... of_tensor) {
    constexpr int finders = N < threads ? N : threads;
    auto const place = static_cast<int>(thread.thread() % threads);
    auto const together = together_with<finders>(thread);
    std::uint32_t largest[std::size_t{N}];
    LOWP_UNROLL_ON_GPU
    for (int i = 0; i < N; ++i) largest[i] = largest_[begin + i];
    together.template divide<1, N>(largest);
    if constexpr (is_read) thread.warp_barrier();  // the block's other threads read the old scale
    LOWP_UNROLL_ON_GPU
    for (int i = 0; i < N / finders; ++i) {
      int const pass = begin + i * finders + place % finders;
      largest[i] = together.max_of_block(largest[i]);
      bool const stores = place < finders && is_present(pass);
      auto const next = [&] {
        if constexpr (sizeof...(OfTensor) == 0)
          return operand_.rule.scales(lanes::from_bits<float>(largest[i]), 0);
        else
          return scale_of_tensor(together, largest[i], first_of(pass) == 0, stores, sum_of,
                                 of_tensor...);
      }();
      if (stores) thread.write(scale_at(first_of(pass)), static_cast<word>(next.code));
      factor_[begin + i] = next.factor;
    }
    together.template spread<finders / 2, Rows>(factor_);
  }
  template <class Together, class Tensor, class Counts>
  LOWP_FN detail::block_scale_of<float> scale_of_tensor(Together const& together,
                                                        std::uint32_t largest, bool is_first,
                                                        bool stores, auto const& sum_of,
                                                        Tensor const& tensor,
                                                        Counts& counts) const {
    Rule const rule = rule_of(tensor);
    std::uint32_t const of_tile = !is_tiled() ? largest
                                  : square <= together.thread.threads()
                                      ? together.max_of_square(largest)
                                      : of_square_;
    float const amax = lanes::from_bits<float>(of_tile);
    auto const next = rule.chosen(tensor, amax, sum_of);
    if (is_first && stores && rule.tensor_scale_at != nullptr)
      *rule.tensor_scale_at = rule.tensor.value;
    rule.count_blocks(counts, largest, next.code, stores);
    return next;
  }
  LOWP_FN Rule const& rule_of() const { return operand_.rule; }
  template <class Tensor, class... Counts>
  LOWP_FN Rule rule_of(Tensor const& tensor, Counts const&...) const {
    Rule rule = operand_.rule;
    rule.tensor = tensor.scales;
    return rule;
  }

  template <class F>
  LOWP_FN static F without_sign_for_nibbles(F const& x) {
    if constexpr (encodes_nibbles && !converts_nibbles)
      return lane<F>::absolute(x);
    else
      return x;
  }
  template <class F>
  LOWP_FN static auto signs_of([[maybe_unused]] F const (&x)[chunk_size]) {
    if constexpr (encodes_nibbles)
      return detail::signs_for_nibbles(x);
    else
      return 0;
  }
  /// The way to the codes of chunks.
  enum class way { by_rule, by_division, by_product };
  template <int N>
  LOWP_FN way way_of_passes(auto const&... of_tensor) const {
    auto const& rule = rule_of(of_tensor...);
    bool needs_rule = false;
    LOWP_UNROLL_ON_GPU
    for (int i = 0; i < N; ++i)
      needs_rule = needs_rule || is_encoded_by_rule(rule, largest_[i], factor_[i]);
    if (needs_rule) return way::by_rule;
    if constexpr (requires { rule.divides(); })
      if (rule.divides()) return way::by_division;
    return way::by_product;
  }
  template <class Thread, class Signs, class... OfTensor>
  LOWP_FN void round(Thread const& thread, int pass, way taken, float const (&x)[chunk_size],
                     Signs const& signs, std::uint64_t first, int count, OfTensor&... of_tensor) {
    auto const& rule = rule_of(of_tensor...);
    float const factor = factor_[pass];
    auto const& rounding = mode_of(operand_.codes.rounding);
    if (taken == way::by_rule) {
      chunk_bits const random = codes_.bits(first);
      struct element {
        float x;
        std::uint32_t random_or_code;
      } each[chunk_size];
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k) each[k] = {x[k], random(k)};
      // Few chunks come here, so they share one text.
      LOWP_KEEP_LOOP
      for (int k = 0; k < chunk_size; ++k) {
        auto& [x_k, random_or_code] = each[k];
        auto const result =
            rule.encode(x_k, factor, random_or_code, rounding, operand_.codes.results);
        random_or_code = result.code;
        count_element(rule, k < count && result.overflowed, of_tensor...);
      }
      codes_.clear();
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k) codes_.set_code(k, each[k].random_or_code);
      return;
    }
    float scaled[chunk_size];
    if (taken == way::by_division) {
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
  LOWP_FN static void count_element(Rule const&, bool) {}
  template <class Tensor, class Counts>
  LOWP_FN static void count_element(Rule const& rule, bool overflowed, Tensor const&,
                                    Counts& counts) {
    rule.count_elements(counts, overflowed);
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
  std::uint32_t largest_[std::size_t{Rows}] = {};  // of this thread's chunks
  float factor_[std::size_t{Rows}] = {};
  way way_{};
  std::uint32_t of_square_ = 0;
};

}  // namespace lowp::cuda
