// SPDX-License-Identifier: Apache-2.0
// The operands of a kernel: the place of their elements, the direction, the rounding of results.
#pragma once

#include <lowp/format/basic_float.hpp>
#include <lowp/storage/packed.hpp>
#include <lowp/storage/scale.hpp>

// Headers that include this one, directly or not, take these from here.
#include <tuple>

namespace lowp::detail {

/// A double, or an integer of 8 to 64 bits that is neither a character nor a bool.
template <class T>
concept plain_number = one_of<T, double, signed char, unsigned char, short, unsigned short, int,
                              unsigned, long, unsigned long, long long, unsigned long long>;

template <class T>
inline constexpr bool is_always_a_float = std::integral<T> && sizeof(T) <= 2;

/// Rounds a double or an integer to float, before the float is rounded to the target.
///
/// To odd, this changes no result: a float keeps two digits more than any narrow format has (S.
/// Boldo, G. Melquiond, IEEE TC 57, 2008). For bfloat16 and stochastic rounding, to nearest away: a
/// float has exactly the 16 bits that the draw is compared with, a tiny one too.
template <class Mode>
struct intermediate_rounding {
  static constexpr bool is_stochastic = false;
};
template <class To>
concept has_last_place_of_floats =
    narrow<To> && To::descriptor.is_truncated_binary32() && To::descriptor.bits() == 16;

/// Rounds a double or an integer to a value of To stochastically, while it is read. A float could
/// not hold the fraction: 2^-16 of a gap takes more digits.
template <element To, class R = stochastic>
struct stochastic_when_read {
  using target = To;
  R mode;

  static constexpr bool is_stochastic = true;
  LOWP_HOST_FN stochastic_when_read after(std::uint64_t count) const { return {mode.after(count)}; }
  LOWP_HOST_FN auto stored_at() const
    requires requires(R const& r) { r.stored_at(); }
  {
    return mode.stored_at();
  }
};
template <class R>
inline constexpr bool is_stochastic_when_read = requires { typename R::target; };

/// The rounding of a load of a double or an integer; `beyond` comes before the caller's policy.
template <class R>
struct read_plan {
  static constexpr format target = binary32;
  LOWP_FN static R const& mode(R const& rounding) { return rounding; }
};
template <class Mode>
struct read_plan<intermediate_rounding<Mode>> : read_plan<Mode> {
  using beyond = Mode;
  LOWP_FN static Mode mode(intermediate_rounding<Mode>) { return {}; }
};
template <class R>
struct read_plan<stochastic_when_read<float, R>> : read_plan<R> {
  LOWP_FN static stochastic mode(auto const&) { return {0}; }
};
template <narrow To, class R>
struct read_plan<stochastic_when_read<To, R>> : read_plan<stochastic_when_read<float, R>> {
  using beyond = to_odd;  // finite
  static constexpr format target = To::descriptor;
};

}  // namespace lowp::detail

namespace lowp::simd {

/// Stands for "no report", and costs nothing.
struct no_report {};

/// The elements of a loop, and of the whole range if a thread has a part of it.
struct loop_size {
  std::size_t count, whole;

  LOWP_HOST_FN loop_size(std::size_t elements) : loop_size(elements, elements) {}
  LOWP_HOST_FN loop_size(std::size_t part, std::size_t all) : count(part), whole(all) {}
};

enum class access : std::uint8_t { read, write, read_write };

/// The order of a range of elements, in place of that of packed codes.
struct unpacked {};

/// An operand of a kernel. `rounding`, `policy` and the number of the random draw matter if narrow
/// elements are written. They also matter if plain numbers are read, which a load rounds to float.
template <class T, access A, class R = nearest_even, class Order = unpacked>
  requires element<T> || detail::plain_number<T>
struct operand {
  using type = T;
  using order = Order;
  static constexpr bool is_packed = !std::same_as<Order, unpacked>;
  static constexpr access direction = A;
  static constexpr bool is_read = A != access::write;
  static constexpr bool is_written = A != access::read;
  static constexpr bool is_random =
      (is_written && narrow<T> && R::is_stochastic) || detail::is_stochastic_when_read<R>;

  using stored = std::conditional_t<is_packed, std::uint8_t, T>;

  std::conditional_t<is_written, stored, stored const>* data;
  R rounding{};
  overflow policy = default_overflow<T>;
  std::uint32_t draw = 0;

  LOWP_HOST_FN detail::random_origin origin() const {
    detail::random_origin origin;
    if constexpr (detail::is_stochastic_when_read<R>)
      origin = rounding.mode.origin();
    else if constexpr (requires { rounding.origin(); })
      origin = rounding.origin();
    origin.source.draw = draw;
    return origin;
  }

  /// Returns the place of an element, which begins a byte.
  LOWP_HOST_FN auto* at(std::size_t first) const { return data + stored_in(first); }
  /// Returns the size of `count` elements in units of `data`.
  LOWP_FN static constexpr std::size_t stored_in(std::size_t count) {
    if constexpr (is_packed)
      return detail::bytes_of_codes(count, T::descriptor.bits());
    else
      return count;
  }

  /// Returns the rest of the operand after its first `count` elements.
  LOWP_HOST_FN operand after(std::size_t count) const {
    operand rest = *this;
    rest.data = at(count);
    if constexpr (is_random) rest.rounding = rounding.after(count);
    return rest;
  }
};

/// A base class for each number K, so that a class may have any number of members of one kind.
template <std::size_t K, class T>
struct indexed {
  T value;
};

/// A tuple. std::tuple takes several functions for each element, which every unit compiles.
template <class Indices, class... T>
struct tuple_of;
template <std::size_t... K, class... T>
struct tuple_of<std::index_sequence<K...>, T...> : indexed<K, T>... {
  static constexpr std::size_t size = sizeof...(T);
};
template <class... T>
using tuple = tuple_of<std::index_sequence_for<T...>, T...>;

template <std::size_t K, class T>
LOWP_HOST_FN T const& get(indexed<K, T> const& element) {
  return element.value;
}

/// A storage whose values lie in several arrays: an operand for each part of storage/layout.hpp.
template <class Indices, class Layout, class... Part>
struct composite;
template <std::size_t... K, class Layout, class... Part>
struct composite<std::index_sequence<K...>, Layout, Part...> {
  static constexpr int rounded = Layout::rounded;
  static constexpr bool is_written = (Part::is_written || ...);
  static constexpr bool is_random = (Part::is_random || ...);

  Layout layout;
  tuple<Part...> parts;

  LOWP_HOST_FN composite after(std::size_t count) const {
    return {layout, {{get<K>(parts).after(count)}...}};
  }
};

/// Codes with a scale for every Block elements.
template <narrow T, int Block, access A, class R = nearest_even, class Order = unpacked,
          class Rule = detail::power_of_two_rule<T>>
struct blocked {
  static constexpr int block = Block;
  static constexpr bool is_read = A != access::write;
  static constexpr bool is_written = A != access::read;
  using codes_type = operand<T, A, R, Order>;
  static constexpr bool is_random = codes_type::is_random;

  codes_type codes;
  using scale_type = typename Rule::scale_type;
  std::conditional_t<is_written, scale_type, scale_type const>* scales;
  Rule rule{};

  /// Returns the rest after the first `count` elements, a multiple of Block.
  LOWP_HOST_FN blocked after(std::size_t count) const {
    return {codes.after(count), scales + count / Block, rule.after(count / Block)};
  }
};

/// The type of an element's code, or the type of any other number.
template <class T>
struct storage_of : std::type_identity<T> {};
template <narrow T>
struct storage_of<T> : std::type_identity<typename T::storage> {};

/// The type of an element's code. A float's code is its bits.
template <class T>
using code_type =
    std::conditional_t<std::is_same_v<T, float>, std::uint32_t, typename storage_of<T>::type>;

template <class Operand>
concept element_operand = requires { typename Operand::type; };

template <class Operand>
using rounding_type = std::remove_cv_t<decltype(Operand::rounding)>;

/// Says that an operand has bfloat16 that are written, which some backends round by an instruction.
template <class Operand>
inline constexpr bool writes_bfloat16 =
    std::same_as<Operand, operand<bfloat16, access::write>> ||
    std::same_as<Operand, operand<bfloat16, access::read_write>>;

inline namespace LOWP_UNIT {

/// Visits all arrays of an operand of `count` elements: spans, of bytes for scales.
template <element_operand Operand>
void visit_arrays(Operand const& o, std::size_t count, auto const& visit) {
  visit(std::span(o.data, Operand::stored_in(count)));
}
template <std::size_t... K, class... Type>
void visit_arrays(composite<std::index_sequence<K...>, Type...> const& o, std::size_t count,
                  auto const& visit) {
  (visit_arrays(get<K>(o.parts), count, visit), ...);
}
template <narrow T, int Block, access A, class R, class Order, class Rule>
void visit_arrays(blocked<T, Block, A, R, Order, Rule> const& o, std::size_t count,
                  auto const& visit) {
  using byte = std::conditional_t<A == access::read, std::byte const, std::byte>;
  visit_arrays(o.codes, count, visit);
  std::size_t const blocks = detail::blocks_in(count, Block);
  visit(std::span(reinterpret_cast<byte*>(o.scales), blocks * sizeof(*o.scales)));
}

}  // namespace LOWP_UNIT

}  // namespace lowp::simd
