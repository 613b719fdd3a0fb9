// SPDX-License-Identifier: Apache-2.0
// The two halves of a master:
//
//     split(in, high, low, rounding = nearest_even, overflow = default of high's format)
//     join(high, low, out)
#pragma once

#include <lowp/ops/cast.hpp>
#include <lowp/ops/storage_operands.hpp>

namespace lowp::detail {

template <class R>
concept high_halves = input<R> && with_ieee_specials<element_of<R>>;
template <class R>
concept low_halves = array_range<R> && low_half<std::ranges::range_value_t<R>>;
template <class R>
concept low_output = low_halves<R> && lasting_array<R>;

template <class T>
using not_a_range_of_a_narrow_type_with_IEEE_specials_such_as_bfloat16 = fit<high_halves<T>>;
template <class T>
using not_a_lasting_writable_range_of_a_narrow_type_with_IEEE_specials_such_as_bfloat16 =
    fit<high_halves<T> && output<T>>;
template <class T>
using not_a_range_of_uint16_or_uint8 = fit<low_halves<T>>;
template <class T>
using not_a_lasting_writable_range_of_uint16_or_uint8 = fit<low_output<T>>;

/// Halves that are arguments of their own.
template <class H, class L>
struct named_halves : split_master<H, L> {
  static constexpr char const* names[] = {"high", "low"};
};

/// Splits floats into the halves of split_master:
///
///     high[i]  in[i] rounded to nearest, ties away from zero
///     low[i]   the bits with which `join` restores in[i]
///
/// bfloat16 and std::uint16_t restore every float to the bit; a NaN becomes quiet. With fewer bits,
/// the master is in[i] rounded by `rounding`, and high[i] is that master rounded.
///
/// @param in         n elements of float or a narrow type
/// @param high, low  n elements each, the members of a split_master; high has IEEE specials. None
///                   is the storage of another
template <class Executor>
struct split_operation : operation<Executor> {
  using calls =
      call<needs_input<names::in>,
           needs<names::high,
                 not_a_lasting_writable_range_of_a_narrow_type_with_IEEE_specials_such_as_bfloat16>,
           needs<names::low, not_a_lasting_writable_range_of_uint16_or_uint8>,
           may_have_rounding_then_policy>;

  template <input In, output High, low_output Low, range_rounding R = nearest_even>
    requires high_halves<High>
  LOWP_HOST_FN void operator()(In&& in, High&& high, Low&& low, R rounding = {},
                               overflow policy = default_overflow<element_of<High>>) const {
    named_halves<element_of<High>, element_of<Low>> const halves{{high, low}};
    run(this->executor, "split", make<identity>{}, no_report, write("", halves, rounding, policy),
        read("in", in));
  }
};

/// Joins: out[i] = the master with the halves high[i] and low[i], in other memory.
template <class Executor>
struct join_operation : operation<Executor> {
  using calls =
      call<needs<names::high, not_a_range_of_a_narrow_type_with_IEEE_specials_such_as_bfloat16>,
           needs<names::low, not_a_range_of_uint16_or_uint8>, needs_output<names::out>>;

  template <high_halves High, low_halves Low, output Out>
  LOWP_HOST_FN void operator()(High&& high, Low&& low, Out&& out) const {
    named_halves<element_of<High> const, element_of<Low> const> const halves{{high, low}};
    run(this->executor, "join", make<identity>{}, no_report, write("out", out), read("", halves));
  }
};

template <class S>
concept with_working_copy = storage<S> && requires(S const& s) { s.layout().working; };

template <class T>
using not_a_kahan_nor_a_master = fit<with_working_copy<T>>;

/// Makes a storage stand for its working copy, after something else wrote that copy: a checkpoint,
/// a broadcast. A NaN stays a NaN; all other codes of the copy stay as they are.
///
///     kahan             compensation = 0, beside value
///     master            weights = copy
///     split_master      low = 0, beside high
///     corrected_master  error_bits = 0, beside value
///
/// @param p  two arrays of n elements each. If the weights of a master are narrow, they have the
///           exponents and the precision of the copy
template <class Executor>
struct resync_operation : operation<Executor> {
  using calls = call<needs<names::p, not_a_kahan_nor_a_master>>;

  LOWP_HOST_FN void operator()(with_working_copy auto const& p) const {
    auto const copy = std::get<decltype(p.layout())::working>(p.parts());
    auto const both = write("p", p);
    if (is_right(this->executor, "resync", make<identity>{}, both))
      this->executor(call_of(make<identity>{}, no_report, both, read("copy", copy)));
  }
};

}  // namespace lowp::detail

LOWP_ON_THIS_THREAD(split)
LOWP_ON_THIS_THREAD(join)
LOWP_ON_THIS_THREAD(resync)
