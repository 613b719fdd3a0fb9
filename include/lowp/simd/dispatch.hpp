// SPDX-License-Identifier: Apache-2.0
// The list of backends, and the choice among them, made once.
#pragma once

#include <lowp/base/error_text.hpp>
#include <lowp/simd/rows/row_call.hpp>
#include <lowp/simd/transform.hpp>

#if !defined(__CUDA_ARCH__)
#include <lowp/simd/blocks.hpp>
#include <lowp/simd/composite.hpp>
#include <lowp/simd/isa/portable.hpp>
#include <lowp/simd/rows/row_loop.hpp>
#if defined(__x86_64__)
#include <lowp/simd/isa/avx2.hpp>
#include <lowp/simd/isa/avx512.hpp>
#include <lowp/simd/isa/avx512_bf16.hpp>
#elif defined(__AARCH64EL__)
#include <lowp/simd/isa/neon_bf16.hpp>
#endif
#endif

#include <cstdlib>
#include <string_view>

namespace lowp {

namespace simd::inline LOWP_UNIT {

#if defined(__CUDA_ARCH__)  // no kernel of a backend is compiled

struct native {
  static constexpr char const* names[] = {""};
  template <class Call>
  static constexpr void (*entries[])(Call const&) = {nullptr};
  static std::size_t chosen() { return 0; }
};

#else

/// Says that a backend has its own instruction for an operand, or for one among T's arguments.
template <class Isa, class T>
inline constexpr bool has_own_instruction = requires { requires Isa::template converts<T>; };
template <class Isa, template <class...> class Of, class... T>
inline constexpr bool has_own_instruction<Isa, Of<T...>> = (has_own_instruction<Isa, T> || ...);

/// The backend whose kernel runs: the base of Isa if it would give the same machine code. Tests
/// specialize it.
template <class Isa, class Call>
struct kernels_of_backend : std::type_identity<Isa> {};
template <class Isa, class Call>
inline constexpr bool shares_kernels =
    !has_own_instruction<Isa, Call> && requires { typename Isa::base; };
template <class Isa, class Call>
  requires shares_kernels<Isa, Call>
struct kernels_of_backend<Isa, Call> : kernels_of_backend<typename Isa::base, Call> {};

/// Writes a character that is not printable ASCII as \xNN: a terminal may take it for a command.
LOWP_COLD inline detail::error_text printable(char const* text) {
  constexpr char digit[] = "0123456789abcdef";
  detail::error_text shown;
  for (; *text != '\0'; ++text) {
    auto const byte = static_cast<unsigned char>(*text);
    char const escaped[] = {'\\', 'x', digit[byte >> 4], digit[byte & 15]};
    bool const is_printable = *text >= ' ' && *text <= '~';
    shown.append(is_printable ? text : escaped, is_printable ? 1 : sizeof(escaped));
  }
  return shown;
}

/// The last backend that the unit's flags allow: every machine that runs the unit has it.
#if defined(LOWP_ALL_BACKENDS)
using least = portable;
#elif defined(__AVX512BF16__)
using least = avx512_bf16;
#elif defined(__AVX512F__)
using least = avx512;
#elif defined(__AVX2__)
using least = avx2;
#elif defined(__AARCH64EL__) && defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
using least = neon_bf16;
#else
using least = portable;
#endif

#if defined(LOWP_SANITIZED) && !defined(LOWP_ALL_BACKENDS)
inline constexpr bool has_one_backend = true;
#else
inline constexpr bool has_one_backend = false;
#endif

/// Throws std::runtime_error: this machine or this unit does not have the backend that LOWP_ISA
/// names; or, without a name, any.
[[noreturn]] LOWP_COLD inline void refuse_backend(char const* wanted, char const* const* names,
                                                  bool const* available, std::size_t count) {
  using detail::joined_text;
  detail::error_text message =
      wanted == nullptr
          ? joined_text({"lowp: this machine has no backend of this unit;"})
          : joined_text({"lowp: LOWP_ISA=", printable(wanted), " is not a backend here;"});
  message = joined_text({message, " there is"});
  for (std::size_t i = 0; i < count; ++i)
    if (available[i]) message = joined_text({message, " ", names[i]});
  constexpr bool has_flags = !std::is_same_v<least, portable>;
  if (has_flags || has_one_backend)
    message = joined_text({message, "; compiled ",
                           has_one_backend ? "under a sanitizer, this unit has only "
                                           : "with flags that need it, this unit has none below ",
                           least::name, ": -DLOWP_ALL_BACKENDS brings all"});
  detail::raise_text<false>(message.c_str());
}

template <backend... Isa>
struct isa_list;

/// The list from Least on, or Least alone.
template <class Least, class Isa, class... Faster>
struct list_from : list_from<Least, Faster...> {};
template <class Least, class... Faster>
struct list_from<Least, Least, Faster...>
    : std::conditional<has_one_backend, isa_list<Least>, isa_list<Least, Faster...>> {};

template <backend... Isa>
struct isa_list {
  using list = isa_list;
  template <class Least>
  using from = typename list_from<Least, Isa...>::type;

  static constexpr char const* names[] = {Isa::name...};
  static constexpr std::size_t none = sizeof...(Isa);

  /// Returns the last backend in the list that this machine has, or the one that LOWP_ISA names.
  static std::size_t choose() {
#if defined(__x86_64__)
    __builtin_cpu_init();  // a program's constructor may call before the one that does this
#endif
    bool const available[] = {Isa::available()...};
    std::size_t best = none;
    for (std::size_t i = 0; i < none; ++i)
      if (available[i]) best = i;
    char const* wanted = std::getenv("LOWP_ISA");
    if (wanted != nullptr && *wanted == '\0') wanted = nullptr;
    if (wanted == nullptr && best != none) return best;
    for (std::size_t i = 0; wanted != nullptr && i < none; ++i)
      if (available[i] && __builtin_strcmp(names[i], wanted) == 0) return i;
    refuse_backend(wanted, names, available, none);
  }

  static std::size_t chosen() {
    static std::size_t const index = choose();
    return index;
  }

  template <class Call>
  static constexpr void (*entries[])(Call const&) = {
      kernels_of_backend<Isa, Call>::type::template enter<Call>...};
};

#if defined(__x86_64__)
struct native : isa_list<portable, avx2, avx512, avx512_bf16>::from<least> {};
#elif defined(__AARCH64EL__)
struct native : isa_list<portable, neon, neon_bf16>::from<least> {};
#else
struct native : isa_list<portable> {};
#endif

#endif

}  // namespace simd::inline LOWP_UNIT

/// Returns the name of the backend that runs, such as "portable". LOWP_ISA in the environment names
/// another. Throws std::runtime_error if this machine does not have it.
LOWP_HOST_FN std::string_view isa() { return simd::native::names[simd::native::chosen()]; }

}  // namespace lowp
