// SPDX-License-Identifier: Apache-2.0
// The accessor of an operand with a scale for every few elements. Results wait for their block.
#pragma once

#include <lowp/simd/accessor.hpp>
#include <lowp/storage/scale.hpp>

namespace lowp::simd {

/// The number of elements that wait: two batches, or a block if that is more. Scales of the second
/// batch need not wait for those of the first.
template <class Isa, class Operand>
inline constexpr std::size_t staged_elements =
    Operand::block > 2 * batch<Isa> ? Operand::block : 2 * batch<Isa>;

template <class Isa, scalable T, int Block, access A, class R, class Order, class Rule>
struct staging<Isa, blocked<T, Block, A, R, Order, Rule>> {
  using operand_type = blocked<T, Block, A, R, Order, Rule>;
  staging<Isa, typename operand_type::codes_type> codes;
  alignas(64) float values[staged_elements<Isa, operand_type>];
  alignas(64) std::uint16_t random[staged_elements<Isa, operand_type>];
};

template <class Isa, scalable T, int Block, access A, class R, class Order, class Rule, nans Nans>
class accessor<Isa, blocked<T, Block, A, R, Order, Rule>, Nans> {
  using operand_type = blocked<T, Block, A, R, Order, Rule>;
  using codes_type = typename operand_type::codes_type;
  using storage = typename T::storage;
  using code_accessor = accessor<Isa, codes_type, Nans>;
  static constexpr std::size_t capacity = staged_elements<Isa, operand_type>;
  static constexpr bool is_counted = !std::is_empty_v<typename Rule::counts>;
  static constexpr bool has_nibbles =
      std::is_same_v<Order, pair_order> && T::descriptor.bits() == 4;

 public:
  using registers = typename Isa::registers;
  using F = pack<float, registers>;
  using U = word<registers>;

  LOWP_HOST_FN accessor(operand_type const& in_blocks, loop_size size,
                        staging<Isa, operand_type>&& staged)
      : operand_(in_blocks),
        count_(size.count),
        codes_(operand_.codes, size, static_cast<staging<Isa, codes_type>&&>(staged.codes)),
        values_(staged.values),
        random_(staged.random) {
    if constexpr (operand_type::is_written)
      results_ = detail::special_results_of<T::descriptor, U>(in_blocks.codes.rounding,
                                                              in_blocks.codes.policy, Nans);
  }

  template <bool Prefetches>
  LOWP_HOST_FN void begin(std::size_t first, std::size_t valid,
                          batch_start<registers>&& start = {}) {
    first_ = first;
    staged_values_ = values_ + first % capacity;
    std::uint16_t* const draws = random_ + first % capacity;
    constexpr bool draws_there = std::is_same_v<rounding_type<codes_type>, stochastic_fast>;
    codes_.template begin<Prefetches>(first, valid, static_cast<batch_start<registers>&&>(start),
                                      draws_there ? draws : nullptr);
    if constexpr (operand_type::is_random && !draws_there) {
      for (int k = 0; k < batch<Isa>; k += 2 * Isa::lanes) {
        U const two = codes_.random_numbers(k);
        __builtin_memcpy(opaque(draws + k), &two.v, sizeof(two.v));
      }
    }
  }
  LOWP_HOST_FN F load(int k) const {
    if constexpr (!operand_type::is_read) return lanes::broadcast<F>(0);
    auto const scale = operand_.scales[(first_ + static_cast<std::size_t>(k)) / Block];
    if constexpr (requires { operand_.rule.decode_code(codes_.codes(k), scale); })
      return operand_.rule.decode_code(codes_.codes(k), scale);
    else
      return operand_.rule.decode(codes_.load(k), scale);
  }
  template <bool ReturnsCode>
  LOWP_HOST_FN no_report store(int k, F const& value) {
    static_assert(!ReturnsCode, "a parameter is not stored with a scale for every block");
    if constexpr (operand_type::is_written) value.store(opaque(staged_values_ + k));
    return {};
  }
  /// Rounds what waits if it is complete, and prefetches all operands of the call on the way.
  LOWP_HOST_FN void end(std::size_t first, std::size_t valid, auto const&... operands) {
    if constexpr (operand_type::is_written) {
      std::size_t const last = first + valid;
      if (last % capacity == 0 || last == count_)
        round_blocks(first / capacity * capacity, last, operands...);
    }
  }
  template <int Locality>
  LOWP_HOST_FN void fetch(std::size_t first, std::size_t count) const {
    codes_.template fetch<Locality>(operand_type::is_written ? first - lag_of_codes : first, count);
  }
  LOWP_HOST_FN void finish() const {
    if constexpr (is_counted && operand_type::is_written)
      if (operand_.rule.report != nullptr) operand_.rule.add_to_report(counts_);
  }

 private:
  static constexpr int most = static_cast<int>(capacity / Block);
  static constexpr int at_once = most < Isa::lanes ? most : Isa::lanes;

  /// The distance of prefetches in elements; that of codes is `lag_of_codes` less. Lines are
  /// requested a few at a time, between elements that are rounded. Many at once fill the queue of
  /// the first cache, and rounding waits for them.
  static constexpr std::size_t lag_of_codes = 256;
  static constexpr std::size_t ahead = lag_of_codes + (capacity < 512 ? 512 : capacity);

  /// Rounds the blocks that wait. Their scales take lanes of blocks, then elements take theirs.
  LOWP_HOST_FN void round_blocks(std::size_t begin, std::size_t end, auto const&... operands) {
    std::size_t const size = end - begin, first = begin / Block;
    int const blocks = static_cast<int>(detail::blocks_in(size, Block));
    if (size != capacity) __builtin_memset(values_ + size, 0, (capacity - size) * sizeof(float));
    using scale = code_type<typename Rule::scale_type>;
    constexpr std::size_t room = most < Isa::lanes ? Isa::lanes : most;
    scale scales[room];
    alignas(64) float factors[room], low_parts[room];
    bool is_plain = true;
    for (int i = 0; i < most; i += at_once) {
      U const largest = larger_of_all<at_once>(largest_of<at_once>(values_ + i * Block));
      auto const of =
          operand_.rule.scales(lanes::from_bits<F>(largest), first + static_cast<std::size_t>(i));
      if constexpr (is_counted)
        operand_.rule.count_blocks(counts_, largest, of.code, first_lanes<registers>(blocks - i));
      if constexpr (requires { operand_.rule.is_plain(largest, of.factor); })
        is_plain = is_plain && operand_.rule.is_plain(largest, of.factor);
      of.code.store(scales + i);
      of.factor.store(factors + i);
    }
    void* const to = operand_.scales + first;
    if (blocks == most) [[likely]]  // a constant size needs no call
      __builtin_memcpy(to, scales, most * sizeof(scale));
    else
      __builtin_memcpy(to, scales, static_cast<std::size_t>(blocks) * sizeof(scale));
    if constexpr (requires(U u, F f) { operand_.rule.is_plain(u, f); })
      if (is_plain) [[likely]] {
        invert(factors, low_parts);
        return round_elements<true>(begin, size, factors, low_parts, operands...);
      }
    round_elements<false>(begin, size, factors, low_parts, operands...);
  }
  /// Replaces divisors of blocks by their inverses, if that is exact and saves time.
  LOWP_HOST_FN void invert([[maybe_unused]] float* factors, [[maybe_unused]] float* low_parts) {
    if constexpr (Rule::template has_short_divisors<F>) {
      if (!operand_.rule.divides()) return;
      for (int i = 0; i < most; i += at_once) {
        auto const inverse = operand_.rule.inverse(F::load(factors + i));
        inverse.high.store(factors + i);
        inverse.low.store(low_parts + i);
      }
    }
  }

  /// Returns magnitudes of successive blocks, in the order of the blocks: lane i has the largest of
  /// some elements of block i / (lanes / Blocks).
  template <int Blocks>
  LOWP_HOST_FN static U largest_of(float const* values) {
    if constexpr (Blocks == 1) {
      U largest = lanes::magnitude(F::load(values));
      for (int k = Isa::lanes; k < Block; k += Isa::lanes)
        largest = lanes::max(largest, lanes::magnitude(F::load(values + k)));
      return largest;
    } else {
      constexpr int half = Blocks / 2;
      return larger_of_pairs<half>(largest_of<half>(values),
                                   largest_of<half>(values + half * Block));
    }
  }
  /// Returns the larger of each two lanes, first those of x. Both hold elements of one block: they
  /// are neighbours, or lie in neighbouring registers of 128 bits once four blocks share these.
  template <int Count>
  LOWP_HOST_FN static U larger_of_pairs(U const& x, U const& y) {
    U even, odd;
    Isa::template separate<(Count >= 4)>(even.v, odd.v, x.v, y.v);
    return lanes::max(even, odd);
  }
  template <int Count>
  LOWP_HOST_FN static U larger_of_all(U const& x) {
    if constexpr (Count >= Isa::lanes)
      return x;
    else
      return larger_of_all<2 * Count>(larger_of_pairs<Count>(x, x));
  }

  template <bool IsPlain>
  LOWP_HOST_FN void round_elements(std::size_t begin, std::size_t size, float const* factors,
                                   float const* low_parts, auto const&... operands) {
    constexpr std::size_t together = has_nibbles ? registers::packs_of_nibbles : 1;
    constexpr bool is_packed_later = codes_type::is_packed && !has_nibbles;
    // A load that spans several fresh stores would wait for them.
    storage buffer[packing::room];
    bool const is_buffered = is_packed_later || size % (together * Isa::lanes) != 0;
    storage* const to = is_buffered ? buffer : reinterpret_cast<storage*>(operand_.codes.at(begin));
    for (std::size_t k = 0; k < size; k += together * Isa::lanes) {
      (operands.template fetch<3>(begin + k + ahead, together * Isa::lanes), ...);
      U codes[together];
      LOWP_UNROLL
      for (std::size_t j = 0, at = k; j < together; ++j, at += Isa::lanes)
        codes[j] =
            code_of<IsPlain>(F::load(values_ + at), factors + at / Block, low_parts + at / Block,
                             random_bits(at), static_cast<int>(size) - static_cast<int>(at));
      if constexpr (has_nibbles)
        store_nibbles<registers>(to + k / 2, codes);
      else
        codes[0].store(to + k);
    }
    if (!is_buffered) return;
    if constexpr (is_packed_later) {
      packing::pack(operand_.codes.at(begin), buffer, size);
    } else {
      if (has_nibbles && size % 2 != 0) buffer[size / 2] &= 15;
      __builtin_memcpy(static_cast<void*>(operand_.codes.at(begin)), buffer,
                       codes_type::stored_in(size) * sizeof(storage));
    }
  }
  template <bool IsPlain>
  LOWP_HOST_FN U code_of(F const& x, float const* of_block, [[maybe_unused]] float const* low_part,
                         U const& random, [[maybe_unused]] int left) {
    auto const& rounding = operand_.codes.rounding;
    F const factor = lanes::broadcast<F>(*of_block);
    if constexpr (IsPlain) {
      return operand_.rule.encode_plain(operand_.rule.scaled_plainly(x, factor, low_part), random,
                                        rounding, results_);
    }
    auto const result = operand_.rule.encode(x, factor, random, rounding, results_);
    if constexpr (is_counted)  // 0 after the last element would become NaN by some factors
      operand_.rule.count_elements(
          counts_, lanes::mask_and(result.overflowed, first_lanes<registers>(left)));
    return result.code;
  }
  LOWP_HOST_FN U random_bits(std::size_t k) const {
    if constexpr (operand_type::is_random)
      return U::load(random_ + k);
    else
      return lanes::broadcast<U>(0);
  }
  using packing = packed_codes<Isa, codes_type, static_cast<int>(capacity)>;

  operand_type operand_;
  std::size_t count_, first_ = 0;
  code_accessor codes_;
  float *values_, *staged_values_ = nullptr;
  std::uint16_t* random_;
  detail::special_results<U> results_;
  typename Rule::counts counts_{};
};

}  // namespace lowp::simd
