// SPDX-License-Identifier: Apache-2.0
// The accessor of a storage whose values lie in several arrays.
#pragma once

#include <lowp/simd/accessor.hpp>
#include <lowp/storage/layout.hpp>

namespace lowp::simd {

template <class Isa, class Indices, class Layout, class... Part>
struct staging<Isa, composite<Indices, Layout, Part...>> {
  tuple<staging<Isa, Part>...> parts;
};

template <class Isa, std::size_t... K, class Layout, class... Part, nans Nans>
class accessor<Isa, composite<std::index_sequence<K...>, Layout, Part...>, Nans>
    : indexed<K, accessor<Isa, Part, Nans>>... {
  static_assert(detail::storage_layout<Layout>, "storage/layout.hpp lists what a layout has");

  using operand_type = composite<std::index_sequence<K...>, Layout, Part...>;
  template <std::size_t J>
  using part = indexed<J, accessor<Isa, std::tuple_element_t<J, std::tuple<Part...>>, Nans>>;
  using rounded_part = std::tuple_element_t<Layout::rounded, std::tuple<Part...>>;

 public:
  using registers = typename Isa::registers;
  using F = pack<float, registers>;
  using U = word<registers>;
  using stored = detail::encoded<U, mask<registers>>;

  LOWP_HOST_FN accessor(operand_type const& operand, loop_size size,
                        staging<Isa, operand_type>&& staged)
      : part<K>{{get<K>(operand.parts), size,
                 std::move(static_cast<indexed<K, staging<Isa, Part>>&>(staged.parts).value)}}...,
        rounding_(get<Layout::rounded>(operand.parts).rounding),
        codec_(operand.layout, rounding_, get<Layout::rounded>(operand.parts).policy, Nans) {}

  static constexpr bool may_be_stretched = (accessor<Isa, Part, Nans>::may_be_stretched && ...);
  LOWP_HOST_FN bool is_staged(bool a) const { return (part<K>::value.is_staged(a) || ...); }

  template <bool Prefetches>
  LOWP_HOST_FN void begin(std::size_t first, std::size_t valid,
                          batch_start<registers>&& start = {}) {
    (part<K>::value.template begin<Prefetches>(first, valid, std::move(start)), ...);
  }
  LOWP_HOST_FN void end(std::size_t first, std::size_t valid, auto const&...) {
    (part<K>::value.end(first, valid), ...);
  }
  LOWP_HOST_FN void look_out(std::size_t first, arrays_at_once& arrays) {
    (part<K>::value.look_out(first, arrays), ...);
  }
  template <int Locality>
  LOWP_HOST_FN void fetch(std::size_t first, std::size_t count) const {
    (part<K>::value.template fetch<Locality>(first, count), ...);
  }
  LOWP_HOST_FN void finish() const { (part<K>::value.finish(), ...); }

  /// Returns the value's own bits, in place of a code: the value has several codes.
  LOWP_HOST_FN U codes(int k) const { return lanes::bits(load(k)); }
  LOWP_HOST_FN static F decoded(U const& code) { return lanes::from_bits<F>(code); }

  LOWP_HOST_FN F load(int k) const {
    if constexpr (!(Part::is_read || ...)) {
      return lanes::broadcast<F>(0);
    } else {
      U const codes[] = {code<K>(k)...};
      return codec_.template decode<F>(codes);
    }
  }
  template <bool ReturnsCode>
  LOWP_HOST_FN stored store(int k, F const& x) {
    if constexpr (!operand_type::is_written) {
      return {};
    } else {
      U codes[sizeof...(K)];
      auto const overflowed =
          codec_.encode(x, part<Layout::rounded>::value.random_bits(k), rounding_, codes);
      (part<K>::value.store_code(k, codes[K]), ...);
      if constexpr (ReturnsCode)
        return {lanes::bits(detail::written_value<F>(codec_, codes)), overflowed};
      else
        return {};
    }
  }

 private:
  template <std::size_t J>
  LOWP_HOST_FN U code(int k) const {
    if constexpr (Layout::reads(J))
      return part<J>::value.codes(k);
    else
      return lanes::broadcast<U>(0);
  }

  decltype(rounded_part::rounding) rounding_;
  typename Layout::template codec<U> codec_;
};

}  // namespace lowp::simd
