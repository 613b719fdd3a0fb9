// SPDX-License-Identifier: Apache-2.0
// Narrow types as scalars of Eigen, and Eigen's own narrow types for view().
#pragma once

#include <lowp/format/arithmetic.hpp>
#include <lowp/format/cmath.hpp>
#include <lowp/format/math.hpp>
#include <lowp/interop/view.hpp>
#include <lowp/io/io.hpp>

#include <Eigen/Core>

#include <cstdlib>
#include <iterator>
#include <limits>
#include <ranges>

template <lowp::format F>
struct Eigen::NumTraits<lowp::basic_float<F>> : GenericNumTraits<lowp::basic_float<F>> {
  using T = lowp::basic_float<F>;
  enum { RequireInitialization = 0 };

  /// Returns 8 epsilons, at most 1/2. Eigen has 10 for its half and 6 for its bfloat16.
  static constexpr T dummy_precision() {
    constexpr float bound = 8 * float{std::numeric_limits<T>::epsilon()};
    return T(bound < 0.5F ? bound : 0.5F);
  }
  static constexpr T lowest() { return std::numeric_limits<T>::lowest(); }
};

/// Iterators of vectors, columns and maps whose elements follow each other. C++20 knows then that
/// these are contiguous ranges, which operations take.
template <class X>
  requires(X::InnerStrideAtCompileTime == 1)
struct std::iterator_traits<Eigen::internal::pointer_based_stl_iterator<X>> {
  using value_type = typename X::Scalar;
  using difference_type = Eigen::Index;
  using reference = typename Eigen::internal::pointer_based_stl_iterator<X>::reference;
  using pointer = typename Eigen::internal::pointer_based_stl_iterator<X>::pointer;
  using iterator_category = std::random_access_iterator_tag;
  using iterator_concept = std::contiguous_iterator_tag;
};
// Maps, columns and segments do not own their elements.
template <class X, int Options, class Stride>
inline constexpr bool std::ranges::enable_borrowed_range<Eigen::Map<X, Options, Stride>> = true;
template <class X, int Rows, int Columns, bool IsPanel>
inline constexpr bool std::ranges::enable_borrowed_range<Eigen::Block<X, Rows, Columns, IsPanel>> =
    true;
template <class X, int Size>
inline constexpr bool std::ranges::enable_borrowed_range<Eigen::VectorBlock<X, Size>> = true;

namespace Eigen::internal {

template <lowp::format F>
struct is_arithmetic<lowp::basic_float<F>> {
  enum { value = true };
};

// Eigen's own divides by RAND_MAX, which is infinity in a narrow type.
template <lowp::format F>
struct random_default_impl<lowp::basic_float<F>, false, false> {
  using T = lowp::basic_float<F>;
  static T run(T const& from, T const& to) {
    double const low = float{from}, high = float{to};
    return T(low + (high - low) * (double(std::rand()) / RAND_MAX));
  }
  static T run() { return run(T(-1), T(1)); }
};

}  // namespace Eigen::internal

template <>
struct lowp::value_type_of<Eigen::half> {
  using type = lowp::float16;
};
template <>
struct lowp::value_type_of<Eigen::bfloat16> {
  using type = lowp::bfloat16;
};
