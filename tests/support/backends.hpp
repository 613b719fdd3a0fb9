// SPDX-License-Identifier: Apache-2.0
// Compiles kernels for the backends that LOWP_TEST_BACKENDS lists. A kernel that no processor here
// can run takes as long to compile as one that runs. The last backend in the list stands for all
// that are not in it. Without that macro all are compiled.
#pragma once

#include <lowp/simd/dispatch.hpp>

#include <string_view>
#include <type_traits>

#if defined(LOWP_TEST_BACKENDS) && !defined(__CUDA_ARCH__)

namespace lowp::simd::inline LOWP_UNIT {

template <class... Isa>
struct compiled_backends {
  template <class Other>
  static constexpr bool has = (std::is_same_v<Other, Isa> || ...);
  static bool have(std::string_view name) { return ((name == Isa::name) || ...); }
  using last = typename decltype((std::type_identity<Isa>{}, ...))::type;
};
using tested = compiled_backends<LOWP_TEST_BACKENDS>;

template <class Isa, class Call>
  requires(!shares_kernels<Isa, Call> && !tested::has<Isa>)
struct kernels_of_backend<Isa, Call> : std::type_identity<tested::last> {};

}  // namespace lowp::simd::inline LOWP_UNIT

#endif
