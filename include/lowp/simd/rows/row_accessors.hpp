// SPDX-License-Identifier: Apache-2.0
// The accessors of the loop over rows. Each is at its own row, because one row of a mask may serve
// many rows.
#pragma once

#include <lowp/simd/accessor.hpp>
#include <lowp/simd/rows/row_call.hpp>

#include <cstddef>
#include <tuple>
#include <utility>

namespace lowp::simd {

template <class Operand>
struct row_operand {
  using once = Operand;
  LOWP_HOST_FN static Operand const& of(Operand const& o) { return o; }
  LOWP_HOST_FN static std::size_t row(Operand const&, std::size_t r) { return r; }
};
template <class Operand>
struct row_operand<repeated<Operand>> {
  using once = Operand;
  LOWP_HOST_FN static Operand const& of(repeated<Operand> const& o) { return o.operand; }
  LOWP_HOST_FN static std::size_t row(repeated<Operand> const& o, std::size_t r) {
    return o.rows.row(r);
  }
};

template <class Isa>
struct staging<Isa, byte_operand> {
  unsigned char elements[Isa::lanes];
};

template <class Isa, nans Nans>
class accessor<Isa, byte_operand, Nans> {
  using registers = typename Isa::registers;
  using F = pack<float, registers>;

 public:
  LOWP_HOST_FN accessor(byte_operand const& o, loop_size, staging<Isa, byte_operand>&& scratch)
      : data_(o.data), staged_(scratch.elements) {}
  template <bool Prefetches>
  LOWP_HOST_FN void begin(std::size_t first, std::size_t valid) {
    at_ = data_ + first;
    if (valid % Isa::lanes == 0) return;
    __builtin_memset(staged_, 0, Isa::lanes);
    __builtin_memcpy(staged_, at_, valid);
    at_ = staged_;
  }
  LOWP_HOST_FN void fetch(std::size_t first, std::size_t count) const {
    constexpr std::size_t line = 64;
    for (std::size_t i = 0; i < count; i += line) __builtin_prefetch(data_ + first + i, 0, 2);
  }
  /// Returns a real with the bits of the byte.
  LOWP_HOST_FN F load(int k) const { return lanes::from_bits<F>(word<registers>::load(at_ + k)); }

 private:
  unsigned char const* data_;
  unsigned char* staged_;
  unsigned char const* at_ = nullptr;
};

template <class Isa, class Indices, class... Operand>
class row_accessors;

template <std::size_t I, class Isa, class Operand>
struct row_accessor {
  staging<Isa, Operand> scratch;
  accessor<Isa, Operand, nans::canonical> at;
  std::size_t row_start = 0;

  LOWP_HOST_FN row_accessor(Operand const& operand, std::size_t streamed)
      : at(operand, streamed, static_cast<staging<Isa, Operand>&&>(scratch)) {}
  row_accessor(row_accessor const&) = delete;
};

template <class Isa, std::size_t... I, class... Operand>
class row_accessors<Isa, std::index_sequence<I...>, Operand...>
    : row_accessor<I, Isa, typename row_operand<Operand>::once>... {
  template <std::size_t J>
  using once = typename row_operand<std::tuple_element_t<J, std::tuple<Operand...>>>::once;

 public:
  using indices = std::index_sequence<I...>;

  // An operation may have none of these operands.
  LOWP_HOST_FN row_accessors(std::tuple<Operand...> const& operands,
                             [[maybe_unused]] std::size_t streamed)
      : row_accessor<I, Isa, once<I>>(row_operand<Operand>::of(std::get<I>(operands)), streamed)...,
        operands_(operands) {}

  LOWP_HOST_FN void start([[maybe_unused]] std::size_t row, [[maybe_unused]] std::size_t columns) {
    ((part<I>::row_start = row_operand<Operand>::row(std::get<I>(operands_), row) * columns), ...);
  }
  LOWP_HOST_FN void begin([[maybe_unused]] std::size_t from, [[maybe_unused]] std::size_t valid) {
    (part<I>::at.template begin<false>(part<I>::row_start + from, valid), ...);
  }
  LOWP_HOST_FN void end(std::size_t from, std::size_t valid) {
    (part<I>::at.end(part<I>::row_start + from, valid), ...);
  }
  LOWP_HOST_FN void finish() { (part<I>::at.finish(), ...); }
  LOWP_HOST_FN void fetch([[maybe_unused]] std::size_t from,
                          [[maybe_unused]] std::size_t count) const {
    (part<I>::at.fetch(part<I>::row_start + from, count), ...);
  }
  template <std::size_t J>
  LOWP_HOST_FN auto& get() {
    return part<J>::at;
  }

 private:
  template <std::size_t J>
  using part = row_accessor<J, Isa, once<J>>;

  std::tuple<Operand...> const& operands_;
};

}  // namespace lowp::simd
