// SPDX-License-Identifier: Apache-2.0
// The accessor of an operand with a scale for every few elements. Results wait until their block is
// complete and its largest magnitude is known.
#pragma once

#include <lowp/simd/accessor.hpp>
#include <lowp/storage/scale.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace lowp::simd {

/// The number of elements that wait: a block, or a batch if that is more.
template <class Isa, class Operand>
inline constexpr std::size_t waiting = Operand::block > batch<Isa> ? Operand::block : batch<Isa>;

/// The counts of a rule that counts.
template <class Rule>
struct counts_of {
  struct type {};
};
template <class Rule>
  requires Rule::is_counted
struct counts_of<Rule> {
  using type = typename Rule::counts;
};

template <class Isa, scalable T, int Block, access A, class R, class Order, class Rule>
struct staging<Isa, blocked<T, Block, A, R, Order, Rule>> {
  using operand_type = blocked<T, Block, A, R, Order, Rule>;
  staging<Isa, typename operand_type::codes_type> codes;
  alignas(64) float values[waiting<Isa, operand_type>];
  alignas(64) std::uint16_t random[waiting<Isa, operand_type>];
};

template <class Isa, scalable T, int Block, access A, class R, class Order, class Rule, nans Nans>
class accessor<Isa, blocked<T, Block, A, R, Order, Rule>, Nans> {
  using operand_type = blocked<T, Block, A, R, Order, Rule>;
  using codes_type = typename operand_type::codes_type;
  using storage = typename T::storage;
  using code_accessor = accessor<Isa, codes_type, Nans>;
  static constexpr std::size_t capacity = waiting<Isa, operand_type>;

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
    codes_.template begin<Prefetches>(first, valid, static_cast<batch_start<registers>&&>(start));
    if constexpr (operand_type::is_random)
      for (int k = 0; k < batch<Isa>; k += Isa::lanes)
        codes_.random_bits(k).store(random_ + (first + static_cast<std::size_t>(k)) % capacity);
  }
  LOWP_HOST_FN F load(int k) const {
    if constexpr (!operand_type::is_read) return lanes::broadcast<F>(0);
    auto const scale = operand_.scales[(first_ + static_cast<std::size_t>(k)) / Block];
    if constexpr (requires { operand_.rule.decode_code(codes_.codes(k), scale); })
      return operand_.rule.decode_code(codes_.codes(k), scale);
    else
      return operand_.rule.decode(codes_.load(k), scale);
  }
  template <bool Tells>
  LOWP_HOST_FN no_report store(int k, F const& value) {
    static_assert(!Tells, "a parameter is not stored with a scale for every block");
    if constexpr (operand_type::is_written)
      value.store(values_ + (first_ + static_cast<std::size_t>(k)) % capacity);
    return {};
  }
  LOWP_HOST_FN void end(std::size_t first, std::size_t valid) {
    if constexpr (operand_type::is_written) {
      std::size_t const last = first + valid;
      if (last % Block == 0 || last == count_) round_blocks(first / Block * Block, last);
    }
  }
  LOWP_HOST_FN void finish() const {
    if constexpr (Rule::is_counted && operand_type::is_written)
      if (operand_.rule.report != nullptr) *operand_.rule.report += counts_;
  }

 private:
  static constexpr std::size_t lanes_in_pack = Isa::lanes;

  /// Rounds the blocks that wait. Their scales take lanes of blocks, then elements take theirs.
  LOWP_HOST_FN void round_blocks(std::size_t begin, std::size_t end) {
    constexpr std::size_t most = (capacity / Block + lanes_in_pack - 1) / lanes_in_pack;
    alignas(64) std::uint32_t scales[most * lanes_in_pack] = {};
    alignas(64) float factors[most * lanes_in_pack];
    // They are packed last. A load that spans several fresh stores would wait for them.
    storage to_pack[room_for_codes()];
    std::size_t const blocks = (end - begin + Block - 1) / Block;
    for (std::size_t i = 0; i < blocks; ++i)
      scales[i] = largest_of(begin + i * Block, size_from(begin + i * Block, end));
    for (std::size_t i = 0; i < blocks; i += lanes_in_pack) {
      auto const of =
          operand_.rule.scales(lanes::from_bits<F>(U::load(scales + i)), begin / Block + i);
      if constexpr (Rule::is_counted)
        operand_.rule.count_blocks(counts_, U::load(scales + i), of.code,
                                   first_lanes<registers>(static_cast<int>(blocks - i)));
      of.code.store(scales + i);
      of.factor.store(factors + i);
    }
    for (std::size_t i = 0; i < blocks; ++i) {
      using scale = typename storage_of<typename Rule::scale_type>::type;
      if constexpr (std::is_same_v<scale, float>)
        operand_.scales[begin / Block + i] = lanes::from_bits<float>(scales[i]);
      else
        operand_.scales[begin / Block + i] =
            Rule::scale_type::from_bits(static_cast<scale>(scales[i]));
      round_block(begin + i * Block, size_from(begin + i * Block, end),
                  lanes::broadcast<F>(factors[i]),
                  to_pack + (codes_type::is_packed ? i * Block : 0));
    }
    if constexpr (codes_type::is_packed)
      packed_codes<Isa, codes_type, capacity>::pack(operand_.codes.at(begin), to_pack, end - begin);
  }
  LOWP_HOST_FN static std::size_t size_from(std::size_t first, std::size_t end) {
    return end - first < Block ? end - first : Block;
  }

  /// Returns the largest magnitude of a block, and sets the rest of its last pack to zero.
  LOWP_HOST_FN std::uint32_t largest_of(std::size_t first, std::size_t size) {
    float* const values = values_ + first % capacity;
    for (std::size_t k = size; k % lanes_in_pack != 0; ++k) values[k] = 0;
    U largest = lanes::broadcast<U>(0);
    for (std::size_t k = 0; k < size; k += lanes_in_pack)
      largest = lanes::max(largest, lanes::magnitude(F::load(values + k)));
    return lane<U>::at(largest_in_all<Isa::lanes / 2>(largest), 0);
  }
  template <int Bit>
  LOWP_HOST_FN static U largest_in_all(U const& x) {
    if constexpr (Bit == 0) {
      return x;
    } else {
      U other;
      Isa::template exchange<Bit>(other.v, x.v);
      return largest_in_all<Bit / 2>(lanes::max(x, other));
    }
  }

  static constexpr std::size_t room_for_codes() {
    if constexpr (codes_type::is_packed)
      return packed_codes<Isa, codes_type, capacity>::room;
    else
      return 1;
  }
  LOWP_HOST_FN void round_block(std::size_t first, std::size_t size, F const& factor,
                                storage* to_pack) {
    if constexpr (requires { operand_.rule.is_plain(); })
      if (operand_.rule.is_plain())
        return round_block_by(detail::power_of_two_rule<T>{}, first, size, factor, to_pack);
    round_block_by(operand_.rule, first, size, factor, to_pack);
  }
  template <class By>
  LOWP_HOST_FN void round_block_by(By const& rule, std::size_t first, std::size_t size,
                                   F const& factor, [[maybe_unused]] storage* to_pack) {
    float const* const values = values_ + first % capacity;
    std::uint16_t const* const random = random_ + first % capacity;
    for (std::size_t k = 0; k < size; k += lanes_in_pack) {
      U const bits = operand_type::is_random ? U::load(random + k) : lanes::broadcast<U>(0);
      auto const result =
          rule.encode(F::load(values + k), factor, bits, operand_.codes.rounding, results_);
      if constexpr (By::is_counted) operand_.rule.count_elements(counts_, result.overflowed);
      if constexpr (codes_type::is_packed) {
        result.code.store(to_pack + k);
      } else if (auto* const to = operand_.codes.data + first + k; size - k >= lanes_in_pack) {
        result.code.store(reinterpret_cast<storage*>(to));
      } else {
        storage rest[lanes_in_pack];
        result.code.store(rest);
        __builtin_memcpy(static_cast<void*>(to), rest, (size - k) * sizeof(T));
      }
    }
  }

  operand_type operand_;
  std::size_t count_, first_ = 0;
  code_accessor codes_;
  float* values_;
  std::uint16_t* random_;
  detail::special_results<U> results_;
  typename counts_of<Rule>::type counts_{};
};

}  // namespace lowp::simd
