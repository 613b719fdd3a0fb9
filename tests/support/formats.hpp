// SPDX-License-Identifier: Apache-2.0
// Each type of the library beside the oracle's facts about it, and lists of types for typed tests.
#pragma once

#include <gtest/gtest.h>
#include <lowp/format/basic_float.hpp>

#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "oracle/facts.hpp"
#include "typed_tests.hpp"

namespace lowp_test {

// By type, not by the library's own names and widths, which are under test.
template <lowp::narrow T>
inline constexpr oracle::facts facts{};
#define LOWP_FACTS(name, ...) \
  template <>                 \
  inline constexpr oracle::facts facts<lowp::name> = oracle::name;
ORACLE_FORMATS(LOWP_FACTS)
#undef LOWP_FACTS
template <lowp::format F>
inline constexpr oracle::facts facts<lowp::basic_float<F, true>> = [] {
  oracle::facts same = facts<lowp::basic_float<F>>;
  same.name = "implicit";
  return same;
}();

// Formats that a user might add. Each has what the catalogue lacks: more significand bits,
// an odd width, NaN at the top of six bits, no negative zero in four. Two are P3109's with
// infinity: one has powers of two alone, and one has no sign.
// clang-format off
using user_e6m9     = lowp::basic_float<lowp::format{6, 9, 31}>;
using user_e2m13    = lowp::basic_float<lowp::format{2, 13, 1}>;
using user_e5m4     = lowp::basic_float<lowp::format{5, 4, 15}>;
using user_e3m2fn   = lowp::basic_float<lowp::format{3, 2, 3, lowp::specials::nan_all_ones}>;
using user_e2m1fnuz = lowp::basic_float<lowp::format{2, 1, 2, lowp::specials::nan_negative_zero}>;
using binary6p1se   = lowp::basic_float<lowp::format{5, 0, 16, lowp::specials::p3109_extended}>;
using binary8p4ue   = lowp::basic_float<lowp::format{5, 3, 16, lowp::specials::p3109_extended, false}>;
template <>
inline constexpr oracle::facts facts<user_e6m9>{"user_e6m9",
    6, 9,  31, true,  oracle::nan_rule::ieee,          true, 0x1.ff8p31, 0x1p-30, 0x1p-39};
template <>
inline constexpr oracle::facts facts<user_e2m13>{"user_e2m13",
    2, 13, 1,  true,  oracle::nan_rule::ieee,          true, 0x1.fff8p1, 1.0,     0x1p-13};
template <>
inline constexpr oracle::facts facts<user_e5m4>{"user_e5m4",
    5, 4,  15, true,  oracle::nan_rule::ieee,          true, 63488.0,    0x1p-14, 0x1p-18};
template <>
inline constexpr oracle::facts facts<user_e3m2fn>{"user_e3m2fn",
    3, 2,  3,  false, oracle::nan_rule::all_ones,      true, 24.0,       0.25,    0.0625};
template <>
inline constexpr oracle::facts facts<user_e2m1fnuz>{"user_e2m1fnuz",
    2, 1,  2,  false, oracle::nan_rule::negative_zero, true, 3.0,        0.5,     0.25};
template <>
inline constexpr oracle::facts facts<binary6p1se>{"binary6p1se",
    5, 0,  16, true,  oracle::nan_rule::negative_zero, true, 0x1p14,     0x1p-15, 0x1p-15};
template <>
inline constexpr oracle::facts facts<binary8p4ue>{"binary8p4ue",
    5, 3,  16, true,  oracle::nan_rule::unsigned_p3109, false, 53248.0,  0x1p-15, 0x1p-18};
// clang-format on

template <class... Lists>
struct joined {
  using type = testing::Types<>;
};
template <class... A>
struct joined<testing::Types<A...>> {
  using type = testing::Types<A...>;
};
template <class... A, class... B, class... Rest>
struct joined<testing::Types<A...>, testing::Types<B...>, Rest...>
    : joined<testing::Types<A..., B...>, Rest...> {};

template <class, class... T>
struct formats_of {
  using all = testing::Types<T...>;
  template <bool IsWide>
  using of_width =
      typename joined<std::conditional_t<(facts<T>.bits() > 8) == IsWide, testing::Types<T>,
                                         testing::Types<>>...>::type;
};
#define LOWP_TYPE(name, ...) , lowp::name
using library_formats = formats_of<void ORACLE_FORMATS(LOWP_TYPE)>;
#undef LOWP_TYPE
using all_formats = library_formats::all;
using wide_formats = library_formats::of_width<true>;
using byte_formats = library_formats::of_width<false>;
using user_formats = testing::Types<user_e6m9, user_e2m13, user_e5m4, binary6p1se, binary8p4ue>;
using every_format = joined<all_formats, user_formats>::type;

// Kernels take long to compile, each for every backend. The default tests compile them for formats
// that differ in kind; `tests/run.sh --all` compiles them for all. Most scalars are tested in every
// format by both.
#ifdef LOWP_TEST_SOME
inline constexpr bool tests_all = false;
#else
inline constexpr bool tests_all = true;
#endif
template <class Some, class All>
using some_or_all = std::conditional_t<tests_all, All, Some>;
template <std::size_t Some, class All>
struct some_of;
template <std::size_t Some, class... T>
struct some_of<Some, testing::Types<T...>> {
  template <std::size_t... I>
  static auto pick(std::index_sequence<I...>)
      -> testing::Types<std::tuple_element_t<I, std::tuple<T...>>...>;
  using type = decltype(pick(std::make_index_sequence<Some>()));
};
template <std::size_t Some, class All>
using first_or_all = some_or_all<typename some_of<Some, All>::type, All>;
using kernel_formats =
    some_or_all<testing::Types<lowp::bfloat16, lowp::float8_e4m3fn, lowp::float16,
                               lowp::float8_e8m0fnu, lowp::float8_e5m2fnuz, lowp::float6_e2m3fn>,
                all_formats>;

// The last argument of TYPED_TEST_SUITE: tests are called by their format.
struct by_format {
  template <class T>
  static std::string GetName(int) {
    return facts<T>.name;
  }
};

template <class List>
struct types_of;
template <class... T>
struct types_of<testing::Types<T...>> {
  template <class Fn>
  static void for_each(Fn&& fn) {
    (fn(std::type_identity<T>{}), ...);
  }
};

}  // namespace lowp_test
