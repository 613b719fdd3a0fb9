// SPDX-License-Identifier: Apache-2.0
// The arguments of the loop over elements, in simd/transform.hpp and in cuda/kernel.hpp.
#pragma once

#include <lowp/simd/operand.hpp>

namespace lowp::simd {

template <class Isa, class Operand>
struct staging;
template <class Isa, class Operand, detail::nans Nans>
class accessor;
template <class Call>
struct element_loop;

LOWP_LAYERS_BEGIN

/// A call of the loop. `make_function()` returns the element function, which takes the operands'
/// lanes by reference, in order. It changes those that are written and, if there is a report,
/// returns the requested update. Operand 0 is the one reported; the update comes from operand 1.
template <class MakeFunction, class Report, class Indices, class... Operand>
struct element_call;
template <class MakeFunction, class Report, class... Operand>
element_call(MakeFunction, loop_size, Report*, Operand...)
    -> element_call<MakeFunction, Report, std::index_sequence_for<Operand...>, Operand...>;
template <class MakeFunction, class Report, std::size_t... K, class... Operand>
struct element_call<MakeFunction, Report, std::index_sequence<K...>, Operand...> {
  MakeFunction make_function;
  loop_size size;
  Report* report;
  tuple<Operand...> operands;

  LOWP_HOST_FN element_call(MakeFunction const& make, loop_size of_loop, Report* counts,
                            Operand const&... each)
      : make_function(make), size(of_loop), report(counts), operands{{each}...} {}

  /// Returns a call for the `count` elements that begin at number `first`.
  LOWP_HOST_FN element_call subrange(std::size_t first, std::size_t count, Report* counts) const {
    return {make_function, {count, size.whole}, counts, get<K>(operands).after(first)...};
  }

  LOWP_HOST_FN void each_array(auto const& visit) const {
    (visit_arrays(get<K>(operands), size.count, visit), ...);
  }

  template <class Isa>
  LOWP_HOST_FN void body() const {
    using detail::nans;
    using function = decltype(make_function());
    constexpr nans kind = requires { function::is_conversion; } ? nans::kept : nans::canonical;
    element_loop<element_call>::template loop<Isa>(
        *this, make_function(),
        accessor<Isa, Operand, kind>(get<K>(operands), size, staging<Isa, Operand>{})...);
  }
};

LOWP_EXACT_END

}  // namespace lowp::simd
