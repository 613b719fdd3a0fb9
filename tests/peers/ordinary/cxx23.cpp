// SPDX-License-Identifier: Apache-2.0
// A narrow type in what C++23 has more: std::format, std::mdspan, and the compiler's __bf16.
#include <lowp/io.hpp>
#include <lowp/value.hpp>

#include <concepts>
#include <cstdio>
#include <format>
#include <mdspan>
#include <string>
#include <type_traits>
#include <vector>

namespace {

#if defined(__clang__)
__extension__ typedef _BitInt(100) int100;
__extension__ typedef _BitInt(200) int200;
static_assert(std::integral<int200>);
static_assert(lowp::bfloat16(int100{3} << 90) == 0x1.8p91f);
static_assert(!std::is_constructible_v<lowp::bfloat16, int200>);
#endif

template <class T>
int faults() {
  int wrong = 0;
  auto const expect = [&](std::string const& actual, std::string const& expected) {
    if (actual == expected) return;
    std::printf("%s, not %s\n", actual.c_str(), expected.c_str());
    ++wrong;
  };
  expect(std::format("{} {:.2f} {:>6} {:e}", T(0.5f), T(1.5f), T(-2), T(4)),
         "0.5 1.50     -2 4.000000e+00");
  expect(std::format("{:{}}|{:<5}|", T(1), 3, T(0.25f)), "  1|0.25 |");

  std::vector<T> numbers(6);
  std::mdspan const matrix(numbers.data(), 2, 3);
  static_assert(std::same_as<typename decltype(matrix)::element_type, T>);
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 3; ++j) matrix[i, j] = static_cast<int>(i * 3 + j);
  std::mdspan<T const, std::extents<int, 3, 2>, std::layout_left> const transposed(numbers.data());
  expect(std::format("{} {}", matrix[1, 2], transposed[1, 1]), "5 4");

#if defined(__clang__) && defined(__SSE2__)
  const T x(1.5f);
  __bf16 b = 2;
  static_assert(std::same_as<decltype(x * b), float> && std::same_as<decltype(b - x), float>);
  expect(std::format("{} {} {}", x * b, b - x, x < b && b > x && x != b), "3 0.5 true");
  b += x;
  expect(std::format("{} {}", T(b), static_cast<float>(b)), "3.5 3.5");
#endif
  return wrong;
}

}  // namespace

int main() {
  return faults<lowp::bfloat16>() + faults<lowp::float16>() + faults<lowp::float8_e4m3fn>() +
         faults<lowp::implicit<lowp::bfloat16>>();
}
