// SPDX-License-Identifier: Apache-2.0
// The accessors of the loop over rows. Each is at its own row, because strides differ, and one row
// of a mask may serve many rows.
#pragma once

#include <lowp/lanes/row_folds.hpp>
#include <lowp/simd/accessor.hpp>
#include <lowp/simd/rows/row_call.hpp>

namespace lowp::simd {

template <class Isa>
struct staging<Isa, byte_operand> {
  alignas(64) unsigned char elements[64];
};

template <class Isa, nans Nans>
class accessor<Isa, byte_operand, Nans> {
  using registers = typename Isa::registers;
  using F = pack<float, registers>;

 public:
  static constexpr bool may_be_stretched = true;
  LOWP_HOST_FN accessor(byte_operand const& o, loop_size, staging<Isa, byte_operand>&& scratch)
      : data_(o.data), staged_(scratch.elements) {}
  template <bool Prefetches>
  LOWP_HOST_FN void begin(std::size_t first, std::size_t valid) {
    at_ = data_ + first;
    if (valid % Isa::lanes == 0) return;
    copy_in<registers>(staged_, at_, valid, Isa::lanes);
    at_ = staged_;
  }
  LOWP_HOST_FN void fetch(std::size_t first, std::size_t count) const {
    simd::fetch(data_ + first, count);
  }
  /// Returns a real with the bits of the byte.
  LOWP_HOST_FN F load(int k) const { return lanes::from_bits<F>(word<registers>::load(at_ + k)); }

 private:
  unsigned char const* data_;
  unsigned char* staged_;
  unsigned char const* at_ = nullptr;
};

/// Returns what an accessor takes at once of a row's rest: whole packs, or less than one.
template <class Isa>
LOWP_HOST_FN std::size_t row_stretch(std::size_t left, std::size_t most = batch<Isa>) {
  constexpr std::size_t lanes_in_pack = Isa::lanes;
  // So a stretch adds only first elements, or only others, and its values are kept side by side.
  static_assert(fold::sums % batch<Isa> == 0);
  return left >= most ? most : left >= lanes_in_pack ? left / lanes_in_pack * lanes_in_pack : left;
}

template <class Operand>
inline constexpr bool holds_floats =
    requires { requires std::is_same_v<typename Operand::type, float>; };

template <class Isa, class Operands>
class row_accessors;

template <std::size_t K, class Isa, class RowOperand>
struct row_accessor {
  using staging_type = staging<Isa, typename RowOperand::operand_type>;

  accessor<Isa, typename RowOperand::operand_type, nans::canonical> at;
  std::size_t stride, row_start = 0;

  LOWP_HOST_FN row_accessor(RowOperand const& rows, std::size_t streamed,
                            indexed<K, staging_type>& scratch)
      : at(rows.operand, streamed, static_cast<staging_type&&>(scratch.value)),
        stride(rows.stride) {}
  row_accessor(row_accessor const&) = delete;
};

template <class Isa, std::size_t... K, class... Operand>
class row_accessors<Isa, tuple_of<std::index_sequence<K...>, Operand...>>
    : row_accessor<K, Isa, Operand>... {
  template <std::size_t J>
  using part = row_accessor<J, Isa, std::tuple_element_t<J, std::tuple<Operand...>>>;

 public:
  using indices = std::index_sequence<K...>;
  static constexpr bool may_be_stretched =
      (accessor<Isa, typename Operand::operand_type, nans::canonical>::may_be_stretched && ...);

  static constexpr bool has_floats = (holds_floats<typename Operand::operand_type> && ...);

  using scratch = tuple<staging<Isa, typename Operand::operand_type>...>;  // it lies apart

  // An operation may have none of these operands.
  LOWP_HOST_FN explicit row_accessors(tuple<Operand...> const& operands,
                                      [[maybe_unused]] std::size_t streamed = 0,
                                      scratch&& memory = {})
      : part<K>(simd::get<K>(operands), streamed, memory)..., operands_(operands) {}

  LOWP_HOST_FN void start([[maybe_unused]] std::size_t row) {
    ((part<K>::row_start = simd::get<K>(operands_).rows.row(row) * part<K>::stride), ...);
  }
  LOWP_HOST_FN void begin([[maybe_unused]] std::size_t from, [[maybe_unused]] std::size_t valid) {
    (part<K>::at.template begin<false>(part<K>::row_start + from, valid), ...);
  }
  LOWP_HOST_FN void end([[maybe_unused]] std::size_t from, [[maybe_unused]] std::size_t valid) {
    (part<K>::at.end(part<K>::row_start + from, valid), ...);
  }
  LOWP_HOST_FN void finish() { (part<K>::at.finish(), ...); }
  LOWP_HOST_FN void fetch([[maybe_unused]] std::size_t from,
                          [[maybe_unused]] std::size_t count) const {
    (part<K>::at.fetch(part<K>::row_start + from, count), ...);
  }
  template <std::size_t J>
  LOWP_HOST_FN auto& get() {
    return part<J>::at;
  }

 private:
  tuple<Operand...> const& operands_;
};

}  // namespace lowp::simd
