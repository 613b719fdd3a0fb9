// SPDX-License-Identifier: Apache-2.0
// Writes through a foreign type and reads through its view, in turns. Two types that must not alias
// would give other answers at -O2 and above. Prints the number of wrong answers.
#include <lowp/cast.hpp>
#include <lowp/value.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#if __has_include(<Eigen/Core>)
#include <lowp/eigen.hpp>
#endif

namespace {

// Another library's type.
struct half {
  std::uint16_t code;
};

template <class To, class X>
concept has_view = requires(X* data) { lowp::view<To>(data, std::size_t{1}); };
static_assert(has_view<lowp::bfloat16, std::uint16_t> && !has_view<lowp::bfloat16, std::uint8_t>);
static_assert(!has_view<lowp::bfloat16, std::uint16_t volatile>);

template <class X, class T>
X number(T x) {
  return __builtin_bit_cast(X, x);
}

// -O2 would see through calls that it inlines.
template <class X, class T>
[[gnu::noinline]] X ours_after_theirs(X* theirs, T* ours) {
  *theirs = number<X>(T(1));
  *ours = T(2);
  return *theirs;
}
template <class X, class T>
[[gnu::noinline]] T theirs_after_ours(X* theirs, T* ours) {
  *ours = T(1);
  *theirs = number<X>(T(2));
  return *ours;
}
template <class X, class T>
[[gnu::noinline]] X copy_after_theirs(X* theirs, T* ours, T const* source) {
  *theirs = number<X>(T(1));
  *ours = *source;
  return *theirs;
}
template <class X, class T>
[[gnu::noinline]] T count_in_turns(X* theirs, T* ours, std::size_t n) {
  for (std::size_t i = 1; i < n; ++i) {
    theirs[i] = theirs[i - 1];
    ours[i] += 1;
  }
  return ours[n - 1];
}

template <class X, class T = typename lowp::value_type_of<X>::type>
int faults() {
  X memory[8];
  X* const theirs = memory;
  T* const ours = lowp::view<T>(memory, 8).data();
  T const two(2);
  int wrong = 0;
  wrong += number<T>(ours_after_theirs(theirs, ours)) != two;
  wrong += theirs_after_ours(theirs, ours) != two;
  wrong += number<T>(copy_after_theirs(theirs, ours, &two)) != two;
  *ours = T(0);
  wrong += count_in_turns(theirs, ours, 8) != 7;
  return wrong;
}

}  // namespace

template <>
struct lowp::value_type_of<half> {
  using type = lowp::float16;
};

int main() {
  int wrong = faults<half>() + faults<std::uint16_t, lowp::bfloat16>() +
              faults<std::int16_t, lowp::float16>() + faults<std::uint8_t, lowp::float8_e4m3fn>() +
              faults<std::int8_t, lowp::float8_e5m2>() + faults<lowp::bfloat16>();
#if defined(__FLT16_MANT_DIG__)
  wrong += faults<lowp::compiler_float16>();
#endif
#if defined(EIGEN_CORE_H)
  wrong += faults<Eigen::half>() + faults<Eigen::bfloat16>();
#endif
  std::printf("%d wrong answers\n", wrong);
  return wrong;
}
