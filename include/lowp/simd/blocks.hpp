// SPDX-License-Identifier: Apache-2.0
// The accessor of an operand with a scale for every few elements. Results wait until their block is
// complete and its largest magnitude is known.
#pragma once

#include <lowp/simd/accessor.hpp>
#include <lowp/storage/block_rule.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace lowp::simd {

/// The number of elements that wait: a block, or a batch if that is more.
template <class Isa, class Operand>
inline constexpr std::size_t waiting = Operand::block > batch<Isa> ? Operand::block : batch<Isa>;

template <class Isa, class T, int Block, access A, class R>
struct staging<Isa, blocked<T, Block, A, R>> {
  using operand_type = blocked<T, Block, A, R>;
  staging<Isa, typename operand_type::code_operand> codes;
  alignas(64) float values[waiting<Isa, operand_type>];
  alignas(64) std::uint16_t random[waiting<Isa, operand_type>];
};

template <class Isa, class T, int Block, access A, class R, nans Nans>
class accessor<Isa, blocked<T, Block, A, R>, Nans> {
  using operand_type = blocked<T, Block, A, R>;
  using code_operand = typename operand_type::code_operand;
  using code = typename code_operand::type;
  using rule = detail::block_rule<T>;
  using storage = typename code::storage;
  using code_accessor = accessor<Isa, code_operand, Nans>;
  static constexpr std::size_t capacity = waiting<Isa, operand_type>;

 public:
  using registers = typename Isa::registers;
  using F = pack<float, registers>;
  using U = word<registers>;
  using encoder = typename rule::template encoder<U>;

  LOWP_HOST_FN accessor(operand_type const& in_blocks, loop_size size,
                        staging<Isa, operand_type>&& staged)
      : operand_(in_blocks),
        count_(size.count),
        codes_(operand_.codes, size, static_cast<staging<Isa, code_operand>&&>(staged.codes)),
        values_(staged.values),
        random_(staged.random) {
    if constexpr (operand_type::is_written)
      encoder_ = encoder(in_blocks.codes.rounding, in_blocks.codes.policy, Nans);
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
    std::size_t const block = (first_ + static_cast<std::size_t>(k)) / Block;
    float const scale = rule::value(operand_.scales[block]);
    if constexpr (narrow<T>)
      return lanes::mul(codes_.load(k), lanes::broadcast<F>(scale));
    else
      return rule::template decode<F>(codes_.codes(k), scale);
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
      if (last % Block != 0 && last != count_) return;
      for (std::size_t block = first / Block * Block; block < last; block += Block)
        round_block(block, last - block < Block ? last - block : Block);
    }
  }
  LOWP_HOST_FN void finish() const {}

 private:
  LOWP_HOST_FN void round_block(std::size_t first, std::size_t size) {
    constexpr std::size_t lanes_in_pack = Isa::lanes;
    float* const values = values_ + first % capacity;
    std::uint16_t const* const random = random_ + first % capacity;
    for (std::size_t k = size; k % lanes_in_pack != 0; ++k) values[k] = 0;

    U largest = lanes::broadcast<U>(0);
    for (std::size_t k = 0; k < size; k += lanes_in_pack)
      largest = lanes::max(largest, lanes::magnitude(F::load(values + k)));
    std::uint32_t amax = 0;
    for (int i = 0; i < Isa::lanes; ++i) amax = lanes::max(amax, lane<U>::at(largest, i));
    auto const scale = rule::of(amax, operand_.rule);
    operand_.scales[first / Block] = scale;

    for (std::size_t k = 0; k < size; k += lanes_in_pack) {
      U const bits = operand_type::is_random ? U::load(random + k) : lanes::broadcast<U>(0);
      U const codes = encoder_(F::load(values + k), scale, bits, operand_.codes.rounding);
      code* const to = operand_.codes.data + first + k;
      if (size - k >= lanes_in_pack) {
        codes.store(reinterpret_cast<storage*>(to));
      } else {
        storage rest[lanes_in_pack];
        codes.store(rest);
        __builtin_memcpy(static_cast<void*>(to), rest, (size - k) * sizeof(code));
      }
    }
  }

  operand_type operand_;
  std::size_t count_, first_ = 0;
  code_accessor codes_;
  float* values_;
  std::uint16_t* random_;
  encoder encoder_;
};

}  // namespace lowp::simd
