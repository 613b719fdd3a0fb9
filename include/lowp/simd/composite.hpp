// SPDX-License-Identifier: Apache-2.0
// The lanes of a storage whose values lie in several arrays.
#pragma once

#include <lowp/simd/port.hpp>
#include <lowp/storage/part.hpp>

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace lowp::simd {

template <class Isa, class Layout, class... Part>
struct staging<Isa, composite<Layout, Part...>> {
  std::tuple<staging<Isa, Part>...> parts;
};

template <std::size_t I, class Port>
struct part_port {
  Port port;
};

template <class Isa, nans Nans, class Indices, class Layout, class... Part>
class composite_port;

template <class Isa, nans Nans, std::size_t... I, class Layout, class... Part>
class composite_port<Isa, Nans, std::index_sequence<I...>, Layout, Part...>
    : part_port<I, port<Isa, Part, Nans>>... {
  using operand_type = composite<Layout, Part...>;
  using rounded_type = std::tuple_element_t<Layout::rounded, std::tuple<Part...>>;

 public:
  using registers = typename Isa::registers;
  using F = pack<float, registers>;
  using U = word<registers>;
  using stored = detail::encoded<U, mask<registers>>;

  LOWP_HOST_FN composite_port(operand_type const& o, std::size_t count,
                              staging<Isa, operand_type>&& s)
      : part_port<I, port<Isa, Part, Nans>>{{std::get<I>(o.parts), count,
                                             std::move(std::get<I>(s.parts))}}...,
        rounding_(std::get<Layout::rounded>(o.parts).rounding),
        codec_(o.layout, rounding_, std::get<Layout::rounded>(o.parts).policy, Nans) {}

  template <bool Prefetches>
  LOWP_HOST_FN void begin(std::size_t first, std::size_t valid) {
    (part<I>().template begin<Prefetches>(first, valid), ...);
  }
  LOWP_HOST_FN void end(std::size_t first, std::size_t valid) {
    (part<I>().end(first, valid), ...);
  }
  LOWP_HOST_FN void finish() const { (part<I>().finish(), ...); }

  /// What stands for the code of a value that has several: the value's own bits.
  LOWP_HOST_FN U codes(int k) const { return lanes::bits(load(k)); }
  LOWP_HOST_FN static F decoded(U const& code) { return lanes::from_bits<F>(code); }

  LOWP_HOST_FN F load(int k) const {
    if constexpr (!(Part::is_read || ...)) {
      return lanes::spread<F>(0);
    } else {
      U const codes[] = {code<I>(k)...};
      return codec_.template decode<F>(codes);
    }
  }
  template <bool Tells>
  LOWP_HOST_FN stored store(int k, F const& value) {
    if constexpr (!operand_type::is_written) {
      return {};
    } else {
      U codes[sizeof...(I)];
      auto const overflowed =
          codec_.encode(value, part<Layout::rounded>().random_bits(k), rounding_, codes);
      (part<I>().store_code(k, codes[I]), ...);
      if constexpr (Tells)
        return {lanes::bits(detail::written_value<F>(codec_, codes)), overflowed};
      else
        return {};
    }
  }

 private:
  template <std::size_t J>
  using port_of = port<Isa, std::tuple_element_t<J, std::tuple<Part...>>, Nans>;
  template <std::size_t J>
  LOWP_HOST_FN port_of<J>& part() {
    return part_port<J, port_of<J>>::port;
  }
  template <std::size_t J>
  LOWP_HOST_FN port_of<J> const& part() const {
    return part_port<J, port_of<J>>::port;
  }
  template <std::size_t J>
  LOWP_HOST_FN U code(int k) const {
    if constexpr (Layout::reads(J))
      return part<J>().codes(k);
    else
      return lanes::spread<U>(0);
  }

  decltype(rounded_type::rounding) rounding_;
  typename Layout::template codec<U> codec_;
};

template <class Isa, class Layout, class... Part, nans Nans>
class port<Isa, composite<Layout, Part...>, Nans>
    : public composite_port<Isa, Nans, std::index_sequence_for<Part...>, Layout, Part...> {
 public:
  using composite_port<Isa, Nans, std::index_sequence_for<Part...>, Layout,
                       Part...>::composite_port;
};

}  // namespace lowp::simd
