// SPDX-License-Identifier: Apache-2.0
// A narrow type is an ordinary regular type: the standard library and fmt take it as they take
// float.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <lowp/cast.hpp>
#include <lowp/fmt.hpp>
#include <lowp/io.hpp>
#include <lowp/value.hpp>

#include <algorithm>
#include <any>
#include <atomic>
#include <complex>
#include <concepts>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <ranges>
#include <set>
#include <sstream>
#include <string>
#include <unordered_set>
#include <valarray>
#include <variant>
#include <vector>

namespace {

template <class T>
class ordinary : public testing::Test {};
using formats = testing::Types<lowp::bfloat16, lowp::implicit<lowp::float16>, lowp::float8_e4m3fn>;
TYPED_TEST_SUITE(ordinary, formats);

template <class T>
std::vector<T> values(std::initializer_list<float> list) {
  return std::vector<T>(list.begin(), list.end());
}

TYPED_TEST(ordinary, concepts) {
  using T = TypeParam;
  static_assert(std::regular<T> && std::totally_ordered<T> && std::three_way_comparable<T>);
  static_assert(std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T>);
  static_assert(std::totally_ordered_with<T, float> && std::convertible_to<T, float>);
  static_assert(std::common_with<T, float> && std::same_as<std::common_type_t<T, float>, float>);
  static_assert(std::uniform_random_bit_generator<std::mt19937> && std::swappable<T>);
  static_assert(std::sortable<T*> && std::mergeable<T*, T*, T*>);
  static_assert(std::indirect_strict_weak_order<std::ranges::less, T*, float*>);
  static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_swappable_v<T>);
}

TYPED_TEST(ordinary, ranges) {
  using T = TypeParam;
  auto v = values<T>({3, -1, 2, 0.5f, 2});
  std::ranges::sort(v);
  EXPECT_EQ(v, values<T>({-1, 0.5f, 2, 2, 3}));
  EXPECT_TRUE(std::ranges::binary_search(v, T(0.5f)));
  EXPECT_EQ(std::ranges::count(v, 2), 2);
  EXPECT_EQ(std::ranges::max(v), 3);
  EXPECT_EQ(*std::ranges::lower_bound(v, 1.5f), 2);
  EXPECT_EQ(std::ranges::unique(v).size(), 1U);
  std::ranges::sort(v, std::greater{}, [](T x) { return abs(x); });
  EXPECT_EQ(v.front(), 3);
  auto halves = v | std::views::filter([](T x) { return x > 0; }) |
                std::views::transform([](T x) { return x / 2; }) | std::views::take(2);
  static_assert(std::same_as<std::ranges::range_value_t<decltype(halves)>, T>);
  EXPECT_EQ(*halves.begin(), 1.5f);
  EXPECT_EQ(std::accumulate(v.begin(), v.end(), 0.0f), std::reduce(v.begin(), v.end(), 0.0f));
  EXPECT_EQ(std::transform_reduce(v.begin(), v.end(), v.begin(), 0.0f),
            std::inner_product(v.begin(), v.end(), v.begin(), 0.0f));
  std::partial_sum(v.begin(), v.end(), v.begin());
  std::ranges::iota_view<int, int> const numbers(0, 3);
  EXPECT_TRUE(std::ranges::equal(numbers, values<T>({0, 1, 2})));
}

TYPED_TEST(ordinary, complex) {
  using T = TypeParam;
  using complex = std::complex<T>;
  complex const a(T(1), T(2)), b(T(3), T(-1));
  EXPECT_EQ(a + b, complex(T(4), T(1)));
  EXPECT_EQ(a * b, complex(T(5), T(5)));
  EXPECT_EQ(a * T(2), complex(T(2), T(4)));
  EXPECT_EQ(conj(a), complex(T(1), T(-2)));
  EXPECT_EQ(norm(a), 5);
  EXPECT_EQ((complex(T(4)) / complex(T(0), T(2))), complex(T(0), T(-2)));
  EXPECT_EQ(a.real() + b.imag(), 0);
  EXPECT_EQ(abs(complex(T(3), T(4))), 5);
  EXPECT_NEAR(float{exp(complex(T(0), T(0))).real()}, 1, 0);
}

TYPED_TEST(ordinary, atomic) {
  using T = TypeParam;
  T x(1);
  std::atomic_ref<T> ref(x);
  T expected(1);
  EXPECT_TRUE(ref.compare_exchange_strong(expected, T(2)));
  EXPECT_EQ(ref.exchange(T(3)), 2);
  EXPECT_EQ(x, 3);
  EXPECT_TRUE(std::atomic_ref<T>::is_always_lock_free);
  std::atomic<T> whole(T(0.5f));
  T seen = whole;
  while (!whole.compare_exchange_weak(seen, seen + 1)) {
  }
  EXPECT_EQ(whole.load(), 1.5f);
}

TYPED_TEST(ordinary, containers) {
  using T = TypeParam;
  std::map<T, std::string> const names{{T(1), "one"}, {T(0.5f), "half"}};
  EXPECT_EQ(names.begin()->second, "half");
  std::unordered_set<T> const set{T(0), T(-0.0f), T(2)};
  EXPECT_EQ(set.size(), 2U);
  std::valarray<T> const row{T(1), T(2)};
  EXPECT_EQ((row * row).sum(), 5);
  std::variant<int, T> const one_of(std::in_place_type<T>, 2);
  EXPECT_EQ(std::get<T>(one_of), 2);
  EXPECT_EQ(std::any_cast<T>(std::any(T(2))), 2);
  EXPECT_EQ(std::optional<T>(T(2)), T(2));
  std::mt19937 engine(1);
  std::vector<T> shuffled = values<T>({1, 2, 3, 4});
  std::ranges::shuffle(shuffled, engine);
  EXPECT_TRUE(std::ranges::is_permutation(shuffled, values<T>({1, 2, 3, 4})));
  std::uniform_real_distribution<float> uniform;
  T const drawn(uniform(engine));
  EXPECT_TRUE(drawn >= 0 && drawn <= 1);
}

TYPED_TEST(ordinary, text) {
  using T = TypeParam;
  EXPECT_EQ(fmt::format("{} {:.2f} {:>6}", T(0.5f), T(1.5f), T(-2)), "0.5 1.50     -2");
  EXPECT_EQ(fmt::format("{}", values<T>({1, 0.5f})), "[1, 0.5]");
  EXPECT_EQ(fmt::format("{}", fmt::join(values<T>({1, 0.5f}), " ")), "1 0.5");
  std::stringstream stream("0.25");
  T x;
  stream >> x;
  EXPECT_EQ(x, 0.25f);
}

// The compiler's own narrow types: every operator, in both orders, is that of float.
#if defined(__FLT16_MANT_DIG__)
using compiler_half = lowp::compiler_float16;
TYPED_TEST(ordinary, mixes_with_float16_of_the_compiler) {
  using T = TypeParam;
  T const x(1.5f);
  compiler_half h = 2;
  static_assert(std::same_as<decltype(x * h), float> && std::same_as<decltype(h - x), float>);
  EXPECT_EQ(x * h, 3);
  EXPECT_EQ(h - x, 0.5f);
  EXPECT_EQ(h / x + x / h, 2.0f / 1.5f + 0.75f);
  EXPECT_TRUE(x < h && h > x && x != h && x <= h && h >= x && !(x == h));
  h += x;
  EXPECT_EQ(static_cast<float>(h), 3.5f);
  T y(h);
  y -= h;
  EXPECT_EQ(y, 0);
  y = h;
  EXPECT_EQ(y, 3.5f);
}
#endif

}  // namespace
