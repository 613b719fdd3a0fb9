// SPDX-License-Identifier: Apache-2.0
// Matrices and arrays of narrow types in Eigen 3.4:
//
//     using matrix = Eigen::Matrix<lowp::bfloat16, Eigen::Dynamic, Eigen::Dynamic>;
//     matrix c = (a.cast<float>() * b.cast<float>()).cast<lowp::bfloat16>();   // rounded once
//     matrix d = a * b;                                    // rounded at every step: avoid it
//
// Works with products, reductions, decompositions, cast, Random and output. A narrow scalar is
// rounded after every addition, as Eigen::half is: sums of many terms stop growing. So compute in
// float, and keep matrices narrow (tests/peers/eigen). Eigen's JacobiSVD squares quotients, which
// overflow float16 and Eigen::half: give it a.cast<float>(). isApprox() and its kin compare within
// 8 epsilons, at most 1/2. Eigen refuses factors of another type: write `T(0.5f) * a`.
//
// Operations take vectors, columns and maps whose elements follow each other. An Eigen::Map<matrix>
// maps a span's data. view() of lowp/view.hpp takes Eigen::half* and Eigen::bfloat16* as ours.
#pragma once

#include <lowp/format/math.hpp>
#include <lowp/interop/view.hpp>
#include <lowp/io/io.hpp>

#include <Eigen/Core>

#include <cstdlib>
#include <iterator>
#include <ranges>

template <lowp::format F, bool IsImplicit>
struct Eigen::NumTraits<lowp::basic_float<F, IsImplicit>>
    : GenericNumTraits<lowp::basic_float<F, IsImplicit>> {
  using T = lowp::basic_float<F, IsImplicit>;
  enum { RequireInitialization = 0 };

  static constexpr T dummy_precision() {
    constexpr float bound = 8 * float{std::numeric_limits<T>::epsilon()};
    return T(bound < 0.5f ? bound : 0.5f);
  }
  static constexpr T lowest() { return std::numeric_limits<T>::lowest(); }
};

/// Tells C++20 that vectors, columns and maps whose elements follow each other are contiguous.
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

template <lowp::format F, bool IsImplicit>
struct is_arithmetic<lowp::basic_float<F, IsImplicit>> : std::true_type {};

// Eigen's own divides by RAND_MAX, which is infinity in a narrow type.
template <lowp::format F, bool IsImplicit>
struct random_default_impl<lowp::basic_float<F, IsImplicit>, false, false> {
  using T = lowp::basic_float<F, IsImplicit>;
  static T run(T const& from, T const& to) {
    double const low = float{from}, high = float{to};
    return T(low + (high - low) * (double(std::rand()) / RAND_MAX));
  }
  static T run() { return run(T(-1), T(1)); }
};

}  // namespace Eigen::internal

template <>
struct lowp::value_type_of<Eigen::half> : std::type_identity<lowp::float16> {};
template <>
struct lowp::value_type_of<Eigen::bfloat16> : std::type_identity<lowp::bfloat16> {};
